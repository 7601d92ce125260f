"""Run by an interpreter with Gaia: a call that dies before its nth write, then the call again.

Prints, for every n until the call comes through, what the second call answered and how
the package looks then. Every write counts: ours, Gaia's, and uv's as one.
"""

import hashlib
import json
import os
import re
import shutil
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

LIVE, WORK = Path(sys.argv[1]), Path(sys.argv[2])
VOLATILE = re.compile(rb'("(compiled_at|created_at|timestamp)": )"[^"]*"')
OTHERS = {"uv.lock", "tactics.jsonl"}
"""uv brings its lock up to date by itself; Gaia's log is written after what it tells of, and
its temporary files are left by whoever dies with one open.
"""
DIED = 9


def load():
    spec = spec_from_file_location(
        "varvite_gaia_live", LIVE / "__init__.py", submodule_search_locations=[str(LIVE)]
    )
    module = module_from_spec(spec)
    sys.modules["varvite_gaia_live"] = module
    spec.loader.exec_module(module)
    from varvite_gaia_live.calls import run

    return run


def writes(event, arguments, root):
    if event == "open":
        path, _, flags = arguments
        writing = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        return bool(writing) and str(path).startswith(root)
    if event in {"os.rename", "os.remove", "os.rmdir", "os.mkdir"}:
        return str(arguments[0]).startswith(root)
    return event in {"subprocess.Popen", "torn"}


def die_at(number, root):
    left = [number]

    def hook(event, arguments):
        if left[0] and writes(event, arguments, root):
            left[0] -= 1
            if left[0] == 0:
                os._exit(DIED)

    def write_text(self, data, encoding=None, **_):
        """As pathlib's, but it may die with half of the text written."""
        with open(self, "w", encoding=encoding) as file:
            file.write(data[: len(data) // 2])
            file.flush()
            sys.audit("torn")
            file.write(data[len(data) // 2 :])
        return len(data)

    Path.write_text = write_text
    sys.addaudithook(hook)


def look(root):
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.name not in OTHERS and path.suffix != ".tmp":
            data = VOLATILE.sub(rb"\1-", path.read_bytes())
            found[str(path.relative_to(root))] = hashlib.sha256(data).hexdigest()
    return found


def forked(do, answer):
    """Run in a child; its exit code."""
    child = os.fork()
    if child == 0:
        try:
            answer.write_text(json.dumps(do()))
            os._exit(0)
        except BaseException as error:
            answer.write_text(json.dumps({"raised": repr(error)}))
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def trial(run, template, name, arguments, number):
    root = WORK / "field-gaia"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(template, root)
    given = {"path": str(root)} | arguments
    answer = WORK / "answer.json"

    def crash():
        die_at(number, str(root))
        return run(name, given)["value"]

    code = forked(crash, answer)
    if code == DIED:
        forked(lambda: run(name, given)["value"], answer)
    return {
        "died": code == DIED,
        "answer": json.loads(answer.read_text()),
        "looks": look(root),
    }


def main():
    run = load()
    request = json.load(sys.stdin)
    warm = shutil.copytree(request["template"], WORK / "warm-gaia")
    run(request["call"], {"path": str(warm)} | request["arguments"])
    found, number = [], 1
    while not found or found[-1]["died"]:
        found.append(trial(run, request["template"], request["call"], request["arguments"], number))
        number += 1
    sys.stdout.write(json.dumps(found))


main()
