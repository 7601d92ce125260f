"""`python -m benchmarks [AREA ...]`: the table of ratios, and the same as JSON.

Areas: append, step, opening, processes, compaction, querying, experiment, contradictions.
Seeded stores are kept in the folder for the next run; after a change of what is stored, run
with --fresh.
"""

import argparse
import importlib
from collections.abc import Sequence

from benchmarks import rows
from benchmarks.seeding import Plan, default_folder, forget

AREAS = (
    "append",
    "step",
    "opening",
    "processes",
    "compaction",
    "querying",
    "experiment",
    "contradictions",
)


def main(given: Sequence[str] | None = None) -> list[rows.Row]:
    options = _parser().parse_args(given)
    plan = Plan(tuple(options.records), options.rounds, options.folder)
    if options.fresh:
        forget(plan)
    found: list[rows.Row] = []
    print(rows.head())
    for area in options.areas or AREAS:
        for row in importlib.import_module(f"benchmarks.{area}").rows(plan):
            found.append(row)
            print(rows.line(row), flush=True)
            if options.json:
                with open(options.json, "w", encoding="utf-8") as file:
                    file.write(rows.document(found) + "\n")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(AREAS))
    plan = Plan()
    parser.add_argument("--records", type=int, nargs="+", default=plan.sizes, help="of history")
    parser.add_argument("--rounds", type=int, default=plan.rounds, help="medians of so many")
    parser.add_argument("--folder", default=default_folder(), help="of the seeded stores")
    parser.add_argument("--fresh", action="store_true", help="seed the stores anew")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    return parser


if __name__ == "__main__":
    main()
