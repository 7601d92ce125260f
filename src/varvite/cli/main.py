"""The command line's door: verbs by name, and the one place where errors are caught."""

import sys
from typing import Any

import click

from varvite.cli.failing import report
from varvite.cli.lazy import LazyGroup
from varvite.cli.settings import Settings, common_options

VERBS = {
    "demo": "varvite.cli.demo.command:demo",
    "sessions": "varvite.cli.sessions:sessions",
    "graph": "varvite.cli.graph:graph",
    "experiment": "varvite.cli.experiment:experiment",
    "sql": "varvite.cli.sql:sql",
    "checkpoint": "varvite.cli.checkpoint:checkpoint",
    "compact": "varvite.cli.compact:compact",
    "rebuild": "varvite.cli.rebuild:rebuild",
    "verify": "varvite.cli.verify:verify",
    "repair": "varvite.cli.repair:repair",
    "delete": "varvite.cli.delete:delete",
    "gc": "varvite.cli.gc:gc",
    "bench": "varvite.cli.bench:bench",
}


class Root(LazyGroup):
    def main(self, *args: Any, **options: Any) -> Any:
        """Run a verb and exit with its code."""
        settings = Settings()
        options |= {"standalone_mode": False, "obj": settings}
        try:
            code = super().main(*args, **options)
        except Exception as error:  # noqa: BLE001  (the door: every error ends here)
            code = report(error, settings)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(
    cls=Root, verbs=VERBS, params=common_options(), context_settings={"max_content_width": 100}
)
@click.version_option(package_name="varvite")
def cli() -> None:
    """Keep the sessions of long-running research agents, and ask them in SQL.

    \b
    Exit codes: 0 ok, 1 internal, 2 usage or bad input, 3 not found, 4 locked,
    5 query failed, 6 damage found, 7 newer format, 8 state conflict,
    9 stopped and resumable, 130 interrupted.
    """  # noqa: D301  (\b is click's mark for lines that are not to be joined)


def main() -> None:
    cli(prog_name="varvite")
