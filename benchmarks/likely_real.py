"""`python -m benchmarks.likely_real [SESSIONS]`: how often each rule says "likely real".

Prints the table of docs/experiments.md: of a hundred simulated sessions, by pi's ratio of
2, without a width of the noise, with one from an A/A series of 10 runs, and with one from
5 replicates of each run.
"""

import sys
from collections.abc import Sequence

from varvite.testing.simulated import CASES, RULES, fired

SESSIONS = 2000
_HEAD = ("what the runs after the baseline are", "runs", "pi", "no width", "A/A", "replicates")


def table(sessions: int) -> str:
    lines = [_HEAD, ("---", *["--:"] * 5)]
    before = ""
    for case in CASES:
        found = fired(case, sessions)
        shares = [f"{100 * found[rule] / sessions:.1f}" for rule in RULES]
        lines.append(("" if case.what == before else case.what, str(case.runs), *shares))
        before = case.what
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(given: Sequence[str]) -> None:
    print(table(int(given[0]) if given else SESSIONS))


if __name__ == "__main__":
    main(sys.argv[1:])
