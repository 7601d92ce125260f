"""The demo's search session: grown in rounds, paused, gone on with by another process."""

import os
from collections.abc import Sequence
from itertools import groupby, islice

from varvite.cli.answer import Answer
from varvite.cli.demo.folder import RESPONSES, SEARCH
from varvite.cli.demo.stage import Stage
from varvite.cli.graph import Total
from varvite.cli.progress import Bar
from varvite.samples.search import Response, responses
from varvite.store import Store

PER_BATCH = 8
TITLE = "Sample search: spin liquids"
_ROUND_CHARS = len("round_0000")
_COLUMNS = ("round", "responses", "new", "seen", "failed", "cursor")


def write_responses(path: str, seed: int, records: int) -> list[Response]:
    """Make the responses, and lay them down as one file, as a search tool might."""
    made = list(responses(seed, records))
    with open(os.path.join(path, RESPONSES), "wb") as file:
        file.writelines(response.line() for response in made)
    return made


def grow(stage: Stage, store: Store, given: Sequence[Response]) -> None:
    """Submit the responses a few at a time, and say what each round brought."""
    rows, done = [], 0
    with store.graph(SEARCH, create=True, title=TITLE) as session, Bar(stage.settings) as bar:
        for name, found in groupby(given, key=lambda one: one.file[:_ROUND_CHARS]):
            total, in_round = Total(), iter(found)
            submitted = 0
            while batch := list(islice(in_round, PER_BATCH)):
                total.add([session.submit(one.payload() for one in batch)])
                submitted += len(batch)
                bar("submitting responses", done + submitted, len(given))
            done += submitted
            rows.append({"round": name, "responses": submitted} | total.row(session))
    stage.show(Answer.many(rows, _COLUMNS))


def go_on(stage: Stage) -> None:
    """Give the whole file to a new process: what is known adds nothing."""
    file = os.path.join(stage.path, RESPONSES)
    found = stage.varvite("graph", "submit", "--session", SEARCH, file)
    stage.say(
        f"{found['repeated']} responses were known and added nothing; {found['new']} new nodes "
        f"from the others; cursor {found['cursor']}"
    )
