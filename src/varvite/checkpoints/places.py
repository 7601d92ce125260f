"""Where a run lies, and which run there is to go on with."""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import orjson

from varvite.checkpoints.job import Job
from varvite.disk.files import Folder, is_folder, remove_all
from varvite.query import receipts, statements
from varvite.query.receipts import Receipt
from varvite.segments.manifest import LAKE, ensured

_DIGITS = 12
_HASH_CHARS = 8
SCRATCH = "scratch"


class Found(NamedTuple):
    name: str
    receipt: Receipt


@contextmanager
def runs(store: Folder, session: str | None, *, make: bool = True) -> Iterator[Folder | None]:
    """The folder of all runs of a session, or of the store; None where there is none to look at."""
    owner = session or LAKE
    if not make and store.stat(owner) is None:
        yield None
        return
    with ensured(store, owner) as home:
        if not make and home.stat(receipts.FOLDER) is None:
            yield None
            return
        with ensured(home, receipts.FOLDER) as folder:
            yield folder


def run_name(
    job: Job, cursors: Mapping[str, int], generation: int, values: dict[str, Any], began: str
) -> str:
    """The folder of a run: it follows from the job, what it reads and its parameters.

    `<cursor>-<job>` of one session with the default parameters, `<generation>-<job>-<hash>`
    of many; a hash too where parameters differ. Of a job that is done each time the moment
    `began`, so that no run takes another's place.
    """
    if job.wide:
        return f"{generation:0{_DIGITS}}-{job.name}-{_hash([dict(cursors), values])}"
    (cursor,) = cursors.values()
    moment = "-" + re.sub(r"\D", "", began) if job.outside else ""
    return f"{cursor:0{_DIGITS}}{_suffix(job, values)}{moment}"


def _suffix(job: Job, values: dict[str, Any]) -> str:
    defaults = {name: one.default for name, one in job.parameters.items()}
    return f"-{job.name}" if values == defaults else f"-{job.name}-{_hash(values)}"


def _hash(value: Any) -> str:
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()[:_HASH_CHARS]


def found(folder: Folder | None, job: Job, values: dict[str, Any]) -> Iterator[Found]:
    """The job's runs with these parameters whose statements are those of today, newest first."""
    if folder is None:
        return
    hashed = rf"-{job.name}-[0-9a-f]{{{_HASH_CHARS}}}"
    last = hashed if job.wide else re.escape(_suffix(job, values))
    moment = r"-\d+" if job.outside else ""
    run_of_job = re.compile(rf"\d{{{_DIGITS}}}{last}{moment}")
    for name in reversed(folder.names()):
        if not run_of_job.fullmatch(name) or not is_folder(folder.stat(name)):
            continue
        with folder.folder(name) as run:
            receipt = receipts.read(run)
        if receipt and _is_of(receipt, job, values) and up_to_date(receipt):
            yield Found(name, receipt)


def _is_of(receipt: Receipt, job: Job, values: dict[str, Any]) -> bool:
    return receipt.name == job.name and receipt.parameters == values


def up_to_date(receipt: Receipt) -> bool:
    """Whether the statements that it ran are still the same."""
    return all(sha == sha_of(name) for name, sha in receipt.sql.items())


def sha_of(statement: str) -> str | None:
    text = statements.checkpoints().get(statement)
    return hashlib.sha256(text.text.encode()).hexdigest() if text else None


def cleared(folder: Folder, *, keep: set[str]) -> None:
    """Remove what a run that was cut short left beside the files that its receipt names."""
    for name in folder.names():
        if name in keep:
            continue
        if is_folder(folder.stat(name)):
            remove_all(folder.where(name))
        else:
            folder.remove(name)


def scratch(folder: Folder) -> str:
    """A new empty folder of the run's own; its path."""
    path = folder.where(SCRATCH)
    remove_all(path)
    os.mkdir(path, 0o700)
    return path
