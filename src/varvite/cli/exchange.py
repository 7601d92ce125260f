"""`varvite experiment import` and `export`: sessions from other tools, and for them."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from varvite.cli.answer import Answer, show, show_bytes
from varvite.cli.recovery import note_recovered
from varvite.cli.settings import Settings, Verb, pass_settings, wait_option
from varvite.errors import InputError

if TYPE_CHECKING:
    from varvite.exchange.watching import FileLog
    from varvite.experiment.importing import ImportReport

FORMS = ("pi", "fusion", "csv", "parquet")
LOGS = ("pi", "table", "fusion")
_SQLITE = b"SQLite format 3\0"
_FUSION_ROWS = b'{"table":'
_LOOKED_AT = 4096


def log_options(command: Any) -> Any:
    """The options that say what a log is."""
    for option in reversed(_LOG_OPTIONS):
        command = option(command)
    return command


_LOG_OPTIONS = (
    click.option("--source", help="The log's name in the session.  [default: the file's name]"),
    click.option(
        "--columns",
        multiple=True,
        metavar="FIELD=COLUMN,...",
        help="Of a table: the column, by name or number, of metric, status, commit, description, "
        "run, timestamp, metrics.NAME.  [default: those of karpathy's results.tsv]",
    ),
    click.option(
        "--statuses", multiple=True, metavar="WORD=STATUS,...", help="Of a table: what words mean."
    ),
    click.option("--metric", "metric_name", help="Of a table: what the metric is called."),
    click.option("--unit", "metric_unit", help="Of a table: the metric's unit."),
    click.option("--direction", type=click.Choice(("minimize", "maximize")), help="Of a table."),
)


@click.command(name="import", cls=Verb)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--session", "session_id", metavar="SESSION", help="Of Fusion's, that of --only.")
@click.option("--as", "form", type=click.Choice(LOGS), help="What FILE is.  [default: as it looks]")
@click.option("--create", is_flag=True, help="Make the session where there is none.")
@click.option("--title", default="", help="Title of a session that is made.")
@click.option(
    "--closed", is_flag=True, help="Nobody writes to it any more: its last line needs no newline."
)
@click.option("--only", metavar="ID", help="Of Fusion's sessions, this one.")
@log_options
@wait_option
@pass_settings
def import_log(
    settings: Settings,
    /,
    *,
    file: str,
    session_id: str | None,
    form: str | None,
    create: bool,
    title: str,
    wait_s: float,
    only: str | None,
    **about: Any,
) -> None:
    """Take over what is new in a log of pi-autoresearch, a table of results, or Fusion's tables.

    FILE is Fusion's where it is a SQLite file, a table where it ends in .tsv or --columns
    are given, of JSON lines too, else pi's. Of Fusion's sessions each becomes one of ours,
    under its own id.
    """
    form = form or _looks_like(file, about)
    options: dict[str, Any] = {"create": create, "title": title, "wait_s": wait_s}
    if form == "fusion":
        _import_fusion(settings, file, session_id, only, options)
        return
    if session_id is None:
        raise click.UsageError("--session: which one takes the log?")
    from varvite.session.taking_back import unless_refused

    log, store = log_of(file, form, about), settings.open()
    fresh = unless_refused(store, session_id, create=create)
    with fresh, store.experiment(session_id, **options) as session:
        note_recovered(settings, session.recovered)
        report = session.import_log(log)
        _note_quarantined(settings, report)
        show(settings, Answer.one({"session_id": session_id} | described(report)))


def log_of(file: str, form: str, about: dict[str, Any]) -> "FileLog":
    """A log as the options describe it."""
    given = {name: value for name, value in about.items() if value}
    if form == "table":
        from varvite.adapters.table_log import TableLog

        columns, statuses = (_pairs(given.pop(name, ())) for name in ("columns", "statuses"))
        return TableLog(file, columns, statuses=statuses, **given)
    from varvite.adapters.pi_log import PiLog

    if others := given.keys() - {"source", "closed"}:
        raise click.UsageError(f"{', '.join(sorted(others))}: of a table alone")
    return PiLog(file, **given)


def described(report: "ImportReport") -> dict[str, Any]:
    """The report, its lists in full."""
    values, reasons = asdict(report), report.reasons
    del values["reasons"]
    values["defaulted"] = [one._asdict() for one in report.defaulted]
    aside = zip(report.quarantined, reasons, strict=True)
    values["quarantined"] = [one._asdict() | {"reason": reason} for one, reason in aside]
    return values


def _looks_like(file: str, about: dict[str, Any]) -> str:
    """What the file is by its beginning, its name and the options; a log that is empty is pi's.

    Raises:
        InputError: .file of what looks like none of them.
    """
    with open(file, "rb") as opened:
        begin = opened.read(_LOOKED_AT)
    if begin.startswith(_SQLITE):
        return "fusion"
    if about["columns"] or file.endswith(".tsv"):
        return "table"
    if begin.startswith(_FUSION_ROWS):
        hint = "`export --as fusion --output FILE.db` writes what can be imported"
        raise InputError(f"{file}: Fusion's rows as JSON lines", hint=hint, file=file)
    if begin.strip() and not begin.lstrip().startswith(b"{"):
        hint = "pi's are JSON lines: say --as pi; a table, of cells with tabs between: --columns"
        raise InputError(f"{file}: does not look like a log", hint=hint, file=file)
    return "pi"


def _pairs(given: Sequence[str]) -> dict[str, str]:
    """What `a=b,c=d`, once or more, says."""
    made = {}
    for one in (pair for text in given for pair in text.split(",")):
        name, equals, value = one.partition("=")
        if not name or not equals or not value:
            raise click.UsageError(f"{one!r}: NAME=VALUE is expected")
        made[name.strip()] = value.strip()
    return made


def _import_fusion(
    settings: Settings,
    file: str,
    session_id: str | None,
    only: str | None,
    options: dict[str, Any],
) -> None:
    from varvite.adapters.fusion_log import orphans

    made = settings.open().import_fusion(file, session_id, only=only, **options)
    for one in made:
        _note_quarantined(settings, one.report)
    if lost := orphans(file):
        settings.note(f"{lost} records belong to no session and are left out")
    rows = [
        {"session_id": one.session_id, "fusion_id": one.fusion_id}
        | described(one.report)
        | {"dangling": one.dangling, "unread": one.unread}
        for one in made
    ]
    show(settings, Answer.many(rows, list(rows[0])))


def _note_quarantined(settings: Settings, report: "ImportReport") -> None:
    if report.quarantined:
        count = len(report.quarantined)
        lines = "1 line" if count == 1 else f"{count} lines"
        settings.note(f"{lines} could not be read: kept, byte for byte")


@click.command(cls=Verb)
@click.argument("session_id", metavar="SESSION")
@click.option("--as", "form", type=click.Choice(FORMS), required=True, help="For which tool.")
@click.option("--output", type=click.Path(dir_okay=False), help="A file.  [default: stdout]")
@pass_settings
def export(settings: Settings, *, session_id: str, form: Any, output: str | None) -> None:
    """Write a session as pi-autoresearch's log, as Fusion's rows, or its runs as a table.

    Takes no lock. Fusion's rows are JSON lines, or a SQLite file where FILE ends in .db,
    .sqlite or .sqlite3. A file is whole or not there.
    """
    from varvite.exchange import exporting

    store = settings.open()
    if output is not None:
        show(settings, Answer.one(asdict(store.export(session_id, form, output))))
        return
    if form == "parquet" and sys.stdout.isatty():
        raise click.UsageError("parquet is not for terminals; give --output")
    show_bytes(exporting.chunks(store, session_id, form))
