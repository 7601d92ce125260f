"""Run by an interpreter with Gaia: another tool writes the inquiry state while we hold it.

Prints what became of opening one obligation. argv: the live package, the target, and how
often the other one writes.
"""

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

LIVE, ROOT, TIMES = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])


def main():
    spec = spec_from_file_location(
        "varvite_gaia_live", LIVE / "__init__.py", submodule_search_locations=[str(LIVE)]
    )
    sys.modules["varvite_gaia_live"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    from gaia.engine.inquiry import SyntheticObligation, load_state, save_state
    from varvite_gaia_live import calls, inquiry
    from varvite_gaia_live.faults import Fault

    left = [TIMES]
    scope = inquiry._refuse_unknown

    def meanwhile(*given):
        if left[0]:
            left[0] -= 1
            state = load_state(ROOT)
            theirs = SyntheticObligation(f"oblig_{left[0]}", "x", f"Theirs {left[0]}.")
            state.synthetic_obligations.append(theirs)
            save_state(ROOT, state)
        return scope(*given)

    inquiry._refuse_unknown = meanwhile
    opened = [
        {
            "obligation_id": "o1",
            "target": "focus_a",
            "content": "Ours.",
            "diagnostic_kind": "other",
        }
    ]
    try:
        done = calls.run("sync_obligations", {"path": ROOT, "opened": opened, "closed": []})
        found = done["value"][0]["failure"]
    except Fault as fault:
        found = fault.as_dict()
    contents = [one.content for one in load_state(ROOT).synthetic_obligations]
    sys.stdout.write(json.dumps([found, contents]))


main()
