"""The sizes of a session's steps: fixed when it is made, bounded, and documented."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

import varvite
from varvite.errors import InputError, StateConflictError
from varvite.graph.parameters import BOUNDS, CHOICES, Parameters

ROOT = Path(__file__).parents[2]
DEFAULTS = {one.name: one.default for one in fields(Parameters)}


def test_every_parameter_has_a_default_within_its_bounds():
    assert BOUNDS.keys() | CHOICES.keys() == DEFAULTS.keys()
    for name, (low, high) in BOUNDS.items():
        assert low <= DEFAULTS[name] <= high


@pytest.mark.parametrize("name", BOUNDS)
def test_a_parameter_takes_its_bounds_and_nothing_beyond(name):
    low, high = BOUNDS[name]
    for value in (low, high):
        typed = type(DEFAULTS[name])(value)
        assert getattr(Parameters.of({name: typed}), name) == typed
    for value in (low - 1, high + 1, float("nan"), "7", None, True):
        with pytest.raises(InputError) as caught:
            Parameters.of({name: value})
        assert caught.value.path == name


def test_words_that_are_no_choice_and_names_that_are_none_are_refused():
    with pytest.raises(InputError):
        Parameters.of({"accept": "some"})
    with pytest.raises(InputError, match="no parameter 'buckets'"):
        Parameters.of({"buckets": 2})


def test_a_session_keeps_the_parameters_that_it_was_made_with(tmp_path):
    store = varvite.open(tmp_path)
    store.graph("s", create=True, parameters={"evidence": 7, "assign_at": 0.5}).close()

    with store.graph("s") as session:
        found = session.parameters
    with store.graph("s", parameters={"evidence": 7}) as session:
        cursor = session.cursor
    with pytest.raises(StateConflictError, match="made with evidence 7, not 8"):
        store.graph("s", parameters={"evidence": 8})

    kept = json.loads((tmp_path / "s/session.json").read_text())["parameters"]
    assert found == Parameters(evidence=7, assign_at=0.5)
    assert kept == found.as_dict()
    assert cursor == 0
    store.graph("s").close()


def test_the_document_has_every_parameter_with_its_default_and_bounds():
    text = (ROOT / "docs/graph.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| ([^|]+) \|", text, re.MULTILINE)

    bounds = {name: f"{low:,} to {high:,}" for name, (low, high) in BOUNDS.items()}
    bounds |= {name: ", ".join(words) for name, words in CHOICES.items()}
    assert {name: (default, bound) for name, default, bound in rows} == {
        name: (f"{default}", bounds[name]) for name, default in DEFAULTS.items()
    }
