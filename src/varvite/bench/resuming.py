"""A process that opens a session, submits what it is given on stdin, and says what that took."""

import sys
import time
from dataclasses import replace
from typing import Any

import orjson

from varvite.bench.counting import counted
from varvite.bench.seeding import SESSION
from varvite.disk.files import Files
from varvite.graph.payloads import Payload
from varvite.store import Store


def main() -> None:
    given = orjson.loads(sys.stdin.buffer.read())
    store = Store(given["path"], files=Files())
    found = counted(store.files, lambda: _resume(store, given))
    sys.stdout.buffer.write(orjson.dumps(replace(found, cpu_s=time.process_time()).as_dict()))


def _resume(store: Store, given: dict[str, Any]) -> None:
    with store.graph(SESSION) as session:
        session.submit([Payload(given["raw"], given["file"])])


if __name__ == "__main__":
    main()
