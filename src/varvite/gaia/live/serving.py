"""The worker: one request a line, one answer a line, until its input ends."""

import json
import os
import sys
import traceback
from typing import Any

from .calls import run
from .faults import Fault


def serve() -> None:
    """Answers go to the output we were started with; whatever else prints goes to errors.

    Loading a package runs its code, which may print, and must not be taken for an answer.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps({"number": request["number"]} | _answer(request)) + "\n")
        answers.flush()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"done": run(request["call"], request["arguments"])}
    except Fault as fault:
        return {"fault": fault.as_dict()}
    except Exception as error:  # noqa: BLE001  (the asker must hear of it, and the worker goes on)
        traceback.print_exc()
        message = f"{type(error).__name__}: {error}"
        return {"fault": {"code": "gaia_failed", "message": message, "retryable": False}}
