import re
from pathlib import Path

import pytest
from tests.bench.conftest import SIZES

from varvite.bench import page, results
from varvite.bench.growth import Growth
from varvite.errors import MalformedInputError
from varvite.store import Store


@pytest.fixture
def written(measured, tmp_path):
    results.write(measured, str(tmp_path))
    return tmp_path


def test_a_run_is_a_record_that_sql_asks(measured, written):
    results.record(measured, str(written))
    store = Store(written / results.STORE)

    runs = store.sql("select status, metric, metric_name, direction from runs").rows()
    asked = store.sql(
        "select value from secondary_metrics where name = $name limit 1",
        {"name": f"submit/{SIZES[1]}/files_opened"},
    ).rows()

    worst = max(one.share for one in measured.growths)
    assert runs == [("keep", worst, "growth", "minimize")] * 2
    assert 0 < worst <= 1
    (submit,) = [
        one for one in measured.figures if (one.operation, one.records) == ("submit", SIZES[1])
    ]
    assert asked == [(submit.counts["files_opened"],)]


def test_the_document_has_every_figure_and_where_it_was_measured(measured, written):
    found = results.read(str(written / results.FILE))

    assert [(one["operation"], one["records"]) for one in found["figures"]] == [
        (one.operation, one.records) for one in measured.figures
    ]
    assert found["machine"]["versions"].keys() == {
        *("varvite", "duckdb", "pyarrow", "rocksdict", "orjson", "pydantic")
    }
    assert (found["flat"], found["sizes"]) == (True, list(SIZES))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99}', '{"format": 1'])
def test_what_is_no_document_is_refused(tmp_path, text):
    file = tmp_path / "old.json"
    file.write_text(text)

    with pytest.raises(MalformedInputError):
        results.read(str(file))


def test_a_row_has_a_cost_on_every_history_and_its_verdict(measured):
    rows = list(results.rows(measured))

    (submit,) = [
        row for row in rows if (row["operation"], row["what"]) == ("submit", "files opened")
    ]
    assert (submit["300"], submit["3,000"], submit["verdict"]) == (8, 8, "flat")
    assert {row["verdict"] for row in rows} == {"flat", None}
    assert set(results.columns(measured, None)) | {"than before"} == set().union(*rows)


def test_all_that_decides_is_shown(measured):
    assert {one.what for one in measured.growths if one.decides} <= results.SHOWN.keys()


def test_an_earlier_run_is_shown_as_how_many_times_it_was(measured):
    old = results.document(measured)
    for one in old["growth"]:
        if one["what"] == "seconds":
            one["by_records"] = {"100": 1.0, "300": 9.0, "3000": one["by_records"]["3000"] / 2}

    rows = list(results.rows(measured, old))

    assert {row["than before"] for row in rows if row["what"] == "ms"} == {2}
    assert {row["than before"] for row in rows if row["what"] == "bytes read"} == {1, None}


def test_the_page_is_whole_without_a_network_or_a_script(measured, tmp_path):
    with open(page.write(measured, str(tmp_path)), encoding="utf-8") as file:
        html = file.read()

    assert not re.search(r"https?://|<script|<link|@import|url\(", html)
    assert html.count("<svg") == 2 * len({one.operation for one in measured.figures})
    assert html.count('class="verdict may read history"') == 3
    assert all(f"<h2>{one.operation} " in html for one in measured.figures)


def test_a_plot_is_logarithmic_and_draws_proportion_at_45_degrees():
    growth = Growth(
        "s", "bytes_read_outside", {100: 10.0, 10_000: 1000.0}, 990, None, decides=False
    )

    plot = page.plot(growth, {})

    proportional, cost = plot.lines
    decades = 2 * page.DECADE
    assert (plot.width, plot.height) == (decades, decades)
    assert cost.points == proportional.points == [(0, decades), (decades, 0)]
    assert [tick.label for tick in plot.across] == ["10²", "10³", "10⁴"]
    assert [(tick.label, tick.at) for tick in plot.upward] == [
        ("10¹", decades),
        ("10²", page.DECADE),
        ("10³", 0),
    ]


def test_how_far_a_continuation_may_rise_is_drawn_and_of_history_nothing():
    given = ("s", "bytes_read_outside", {100: 100.0, 1_000: 200.0}, 100, 900)

    judged = page.plot(Growth(*given, decides=True), {})
    shown = page.plot(Growth(*given, decides=False), {})

    assert [line.kind for line in judged.lines] == ["proportional", "allowed", "cost"]
    assert [y for _, y in judged.lines[1].points] == [page.DECADE] * 2
    assert [line.kind for line in shown.lines] == ["proportional", "cost"]


def test_values_are_shown_in_three_digits_and_a_unit():
    costs = {10**n: cost for n, cost in enumerate((0.0836, 12.49, 999.4, 999.6, 4.51e5, 2.8e9))}

    plot = page.plot(Growth("s", "bytes_read_outside", costs, 0, None, decides=False), {})

    assert plot.lines[-1].labels == ["0.0836", "12.5", "999", "1k", "451k", "2.8G"]


def test_a_floor_is_drawn_below_its_cost_and_a_cost_of_nothing_not_at_all():
    growth = Growth("s", "seconds", {100: 0.01, 1_000: 0.01}, 0, None, decides=False)

    plot = page.plot(growth, {100: 0.001, 1_000: 0.001})
    empty = page.plot(Growth("s", "bytes_read_outside", {100: 0.0}, 0, None, decides=False), {})

    (floor, cost) = plot.lines[1:]
    assert [y for _, y in cost.points] == [page.DECADE] * 2
    assert [y for _, y in floor.points] == [2 * page.DECADE] * 2
    assert cost.labels == ["10", "10"]
    assert [line.points for line in empty.lines] == [[]]


def test_the_manual_tells_of_every_row_and_every_cost(measured):
    manual = (Path(__file__).parents[2] / "docs" / "bench.md").read_text()

    names = {one.operation for one in measured.figures} | {
        name for name, _ in results.SHOWN.values()
    }
    assert {name for name in names if f"`{name}`" not in manual} == set()
