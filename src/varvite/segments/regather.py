"""The lines that a segment was made from, gathered from the journals once more."""

from collections.abc import Iterable, Mapping
from itertools import takewhile

from varvite.disk.files import Folder
from varvite.segments.gathering import Gathering
from varvite.segments.manifest import Segment, Span
from varvite.segments.scan import Owner
from varvite.session import parts
from varvite.session.parts import Batch


def regather(
    store: Folder,
    segment: Segment,
    ids: Mapping[str, str],
    names: Mapping[str, str],
    *,
    every: int | None = None,
) -> Gathering:
    """The segment's lines, of the sessions that `names` gives a directory for.

    Its spans are whole batches, so it holds every line of its stream in between.
    `every` sets which rows are sampled. In memory: the segment's lines. The
    gathering is the caller's to close.

    Raises:
        CorruptError: a journal is damaged there.
    """
    gathering = Gathering(segment.stream, every=every)
    try:
        for uid in sorted(segment.sessions.keys() & names.keys(), key=lambda uid: (ids[uid], uid)):
            with store.folder(names[uid]) as session:
                for batch in _within(session, segment.sessions[uid]):
                    gathering.add(Owner(ids[uid], uid), batch)
    except BaseException:
        gathering.close()
        raise
    return gathering


def _within(session: Folder, span: Span) -> Iterable[Batch]:
    return takewhile(
        lambda batch: batch.commit.first <= span.last, parts.batches(session, span.first - 1)
    )
