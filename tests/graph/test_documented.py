"""The tables of the documents are those of the code."""

import re
from pathlib import Path

import pytest

from varvite.graph import assess, focus, outbox, promotion
from varvite.testing import mixed

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def text():
    """The page on graph sessions, or the section that is to be part of it."""
    found = [DOCS / name for name in ("graph-work.md", "graph.md") if (DOCS / name).exists()]
    return next(page for page in (path.read_text() for path in found) if "| type_unknown |" in page)


def rows(text, head):
    table = re.search(rf"^\| {head} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table[1].splitlines()]


def test_every_code_of_a_draft_is_documented_in_its_order(text):
    assert [row[0] for row in rows(text, r"code \| the draft")] == list(assess.CODES)


def test_every_code_of_the_gate_is_documented(text):
    source = Path(promotion.__file__).read_text()
    codes = set(re.findall(r'Refusal\(\s*"(\w+)"', source)) | {promotion.GATE_UNAVAILABLE}

    assert {row[0] for row in rows(text, r"code \| the candidate")} == codes


def test_every_trigger_is_documented(text):
    named = [focus.COVERAGE, focus.CONTROVERSY, focus.OVERDUE, focus.STRONG, focus.MERGED]

    assert [row[0] for row in rows(text, "trigger")] == named


def test_the_states_of_a_projection_are_documented(text):
    documented = {row[0]: row[1] for row in rows(text, r"state \| may become")}

    assert documented == {
        state: ", ".join(sorted(following)) for state, following in outbox.STATES.items()
    }


def test_every_statement_of_the_sections_runs(graphs):
    from varvite.store import Store

    store = Store(graphs.store.path)
    mixed.fill(store, records=50)
    pages = [DOCS / name for name in ("graph-work.md", "graph-growth.md", "graph.md")]
    blocks = [
        block
        for page in pages
        if page.exists()
        for block in re.findall(r"```sql\n(.*?)```", page.read_text(), re.DOTALL)
    ]

    assert len(blocks) >= 2
    for block in blocks:
        store.sql(block)
