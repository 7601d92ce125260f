"""What compaction would do: a pure function of the manifest and the journals' ends."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from varvite.segments.manifest import Manifest, Segment

FAN_IN_MIN = 8
FAN_IN_MAX = 16
MERGED_BYTES_MAX = 512 << 20


class End(NamedTuple):
    """A session's last committed seq."""

    id: str
    kind: str
    cursor: int


class Range(NamedTuple):
    """Seqs of one session: beyond `after`, up to `upto`."""

    id: str
    uid: str
    kind: str
    after: int
    upto: int

    @property
    def rows(self) -> int:
        return self.upto - self.after


@dataclass(frozen=True, slots=True)
class Compact:
    """Bring these journal ranges, in the order of session id, into new segments."""

    ranges: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Merge:
    """Make one segment of the next tier out of several of one stream."""

    stream: str
    tier: int
    segments: tuple[Segment, ...]


Step = Compact | Merge


def plan(manifest: Manifest, ends: Mapping[str, End]) -> list[Step]:
    """The steps that bring segments to the journals' ends and keep their number low.

    `ends` is by session uid. A row is rewritten once a tier, and a stream has fewer
    than FAN_IN_MIN segments a tier, so both stay logarithmic in the rows; a segment
    of MERGED_BYTES_MAX is left alone.
    """
    return [*_compact(manifest, ends), *_merges(manifest.segments)]


def _compact(manifest: Manifest, ends: Mapping[str, End]) -> list[Step]:
    ranges = [
        Range(end.id, uid, end.kind, manifest.compacted(uid), end.cursor)
        for uid, end in ends.items()
        if uid not in manifest.deleted and end.cursor > manifest.compacted(uid)
    ]
    return [Compact(tuple(sorted(ranges)))] if ranges else []


def _merges(segments: Iterable[Segment]) -> list[Step]:
    groups: dict[tuple[str, int], list[Segment]] = {}
    for segment in segments:
        group = groups.setdefault((segment.stream, segment.tier), [])
        if segment.bytes < MERGED_BYTES_MAX:
            group.append(segment)
        else:
            group.clear()  # what is merged has no other segment's rows in between
    return [
        Merge(stream, tier + 1, tuple(found[:FAN_IN_MAX]))
        for (stream, tier), found in sorted(groups.items())
        if len(found) >= FAN_IN_MIN
    ]
