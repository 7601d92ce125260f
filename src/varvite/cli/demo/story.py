"""The demo's chapters, in their order."""

from varvite.cli.answer import show_text
from varvite.cli.demo import crash, questions, search, sorting
from varvite.cli.demo.folder import EXPERIMENT, SEARCH
from varvite.cli.demo.stage import Stage, brief
from varvite.cli.progress import Bar
from varvite.store import Store


def play(stage: Stage, store: Store, seed: int, records: int) -> None:
    given = search.write_responses(stage.path, seed, records)
    half = len(given) // 2

    stage.chapter("A search session grows, round by round")
    search.grow(stage, store, given[:half])

    stage.chapter("A writer is killed while half of a batch is written")
    promised = crash.kill_writer(stage, store, skip=half, where="write")
    crash.reopen(stage, store, promised)

    stage.chapter("Another is killed when its batch is written, and not yet synced")
    promised = crash.kill_writer(stage, store, skip=half + 12, where="sync")
    crash.reopen(stage, store, promised)

    stage.chapter("An experiment loop measures, keeps and discards")
    sorting.measure(stage, store, seed)

    stage.chapter("What is in journals is compacted into Parquet")
    _compact(stage, store)

    stage.chapter("The paused session goes on in a new process, given the whole file again")
    search.go_on(stage)

    stage.chapter("Questions, to the segments and the newest records alike")
    questions.ask(stage, store)
    _end(stage)


def _compact(stage: Stage, store: Store) -> None:
    with Bar(stage.settings) as bar:
        store.compact(progress=bar)
    found = store.sql("select count(*), sum(rows), sum(bytes) from segments").rows()[0]
    files, rows, size = (int(value or 0) for value in found)
    stage.say(f"{rows} records in {files} Parquet files of {size / 1e6:.1f} MB")


def _end(stage: Stage) -> None:
    path = brief(stage.path)
    show_text(
        f"\nDone in {stage.seconds:.0f} s. The store is {stage.path}\n\nTry next:\n"
        f"  varvite --store {path} sessions\n"
        f"  varvite --store {path} graph status {SEARCH}\n"
        f"  varvite --store {path} experiment status {EXPERIMENT}\n"
        f"  varvite --store {path} sql 'from nodes limit 5'\n"
        f"  varvite --store {path} verify\n"
    )
