"""Publish a change of the manifest, deriving it anew when another published first."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from varvite.disk.files import Folder, storing
from varvite.disk.lock import Lock
from varvite.errors import ManifestConflictError
from varvite.segments import manifest as manifests
from varvite.segments.manifest import LAKE, TEMPORARY, Manifest, ensured

ATTEMPTS_MAX = 100

Change = Callable[[Manifest], Manifest]
"""The manifest wanted instead of the one given; pure, may be called again."""


def publish(store: Folder, change: Change) -> Manifest:
    """Apply `change` to the newest generation and make the result the next one.

    Raises:
        ManifestConflictError: what `change` raised, or too many others were quicker.
    """
    for _ in range(ATTEMPTS_MAX):
        base = manifests.load(store)
        wanted = change(base)
        try:
            return manifests.publish(store, wanted)
        except ManifestConflictError:
            continue
    raise ManifestConflictError(f"{store.where(LAKE)} changes too quickly", hint="try again")


@contextmanager
def locked(store: Folder, *, wait_s: float = 0) -> Iterator[Folder]:
    """`_lake`, with its lock held and without what a run that was cut short left half made.

    Raises:
        SessionLockedError: another compaction or sweep is at work.
    """
    with ExitStack() as stack:
        with storing(f"opening {store.where(LAKE)}"):
            lake = stack.enter_context(ensured(store, LAKE))
            lock = Lock.acquire(lake, what=store.where(LAKE), wait_s=wait_s)
            stack.callback(lock.release)
            with ensured(lake, TEMPORARY) as temporary:
                for name in temporary.names():
                    if name.endswith(".tmp"):
                        temporary.remove(name)
        yield lake
