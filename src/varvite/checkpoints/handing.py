"""Hand in what a finished run proposes: into inboxes, and to the writer where nobody is one."""

from collections import Counter
from collections.abc import Callable

from varvite.checkpoints.job import Job
from varvite.checkpoints.tables import Answers
from varvite.disk.files import Folder
from varvite.errors import SessionLockedError
from varvite.session import identity as identities
from varvite.session import inbox
from varvite.session.inbox import Act
from varvite.session.kind import Kind
from varvite.session.writer import Writer


def hand_in(
    store: Folder, job: Job, answers: Answers, kind_of: Callable[[str], Kind]
) -> dict[str, int]:
    """Leave every proposal as an act; how many are committed, refused, and waiting.

    Where the session's lock is free the acts are committed here; otherwise its writer commits
    them with its next batch. Again, and nothing is done twice.

    Raises:
        SessionNotFoundError, CorruptError, StorageError
    """
    run = answers.folder.rsplit("/", 1)[-1]
    outcome: Counter[str] = Counter()
    left: dict[str, list[Act]] = {}
    for number, one in enumerate(job.proposals(answers)):
        key = f"checkpoint:{run}:{number}"
        act = Act(key, one.act, f"checkpoint:{job.name}", one.payload)
        left.setdefault(one.session, []).append(act)
    for session, acts in left.items():
        outcome += _leave(store, session, acts, kind_of)
    return dict(outcome)


def _leave(
    store: Folder, session: str, acts: list[Act], kind_of: Callable[[str], Kind]
) -> Counter[str]:
    with identities.open_folder(store, session) as folder:
        kind = kind_of(identities.read(folder).kind)
        for act in acts:
            inbox.leave(folder, act)
        try:
            with Writer(store, session, kind) as writer:
                writer.take_in()
        except SessionLockedError:
            return Counter(waiting=len(acts))
        waiting = {one.key for one in inbox.waiting(folder)}
        refused = {one["file"] for one in inbox.refused(folder)}
    return Counter("waiting" if act.key in waiting else _end(act, refused) for act in acts)


def _end(act: Act, refused: set[str]) -> str:
    return "refused" if act.file in refused else "committed"
