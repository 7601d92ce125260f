"""Why something was not done, and what became of each thing asked for."""

from typing import Any, NoReturn

METADATA_KEY = "varvite"
"""Under which our ids stand in what Gaia passes through."""
SESSION = "session"
"""The name of our session among them."""

Answer = dict[str, Any]


class Fault(Exception):  # noqa: N818  (never leaves the adapter: it becomes a Failure)
    """retryable: the same call may succeed later, with nothing of the input mended."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code, self.message, self.retryable = code, message, retryable

    def as_dict(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "retryable": self.retryable}


def refuse(code: str, message: str, *, retryable: bool = False) -> NoReturn:
    raise Fault(code, message, retryable=retryable)


def applied(our_id: str, *, already: bool = False, **result: Any) -> Answer:
    return {"id": our_id, "failure": None, "already": already, "result": result}


def failed(our_id: str, fault: Fault) -> Answer:
    return {"id": our_id, "failure": fault.as_dict(), "already": False, "result": {}}


def is_ours(found: Any, given: dict[str, Any]) -> bool:
    """Whether metadata found in Gaia names the same things of ours as the given metadata."""
    there = found.get(METADATA_KEY) if isinstance(found, dict) else None
    ours = given[METADATA_KEY]
    if not isinstance(there, dict):
        return False
    names = [name for name in ours if name == SESSION or name.endswith("_id")]
    return all(there.get(name) == ours[name] for name in names)
