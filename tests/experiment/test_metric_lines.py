import pytest

from varvite.experiment.metric_lines import js_number, parse

ENDS = ["\n", "\r", "\r\n", "\u2028", "\u2029"]


def in_fusions_words(reading):
    rows = [[name, value, reading.units.get(name)] for name, value in reading.metrics.items()]
    primary, secondary = (rows[0], rows[1:]) if rows else (None, [])
    return {
        "primary": primary,
        "secondary": secondary,
        "warning_count": len(reading.warnings),
    }


@pytest.mark.vectors("metric_lines")
def test_pi_and_fusion_each_read_a_text_as_they_do(vector):
    text = vector["input"]["text"]

    made = {
        "pi": [[name, value] for name, value in parse(text, "pi").metrics.items()],
        "fusion": in_fusions_words(parse(text, "fusion")),
    }

    assert made == vector["expected"]


@pytest.mark.parametrize("end", ENDS)
def test_pi_ends_a_line_where_javascript_does(end):
    assert parse(f"noise{end}METRIC a=1{end}METRIC b=2", "pi").metrics == {"a": 1, "b": 2}


def test_pi_does_not_end_a_line_where_python_would():
    assert parse("noise\x0bMETRIC a=1\x85METRIC b=2\x1cMETRIC c=3", "pi").metrics == {}


def test_fusion_ends_a_line_at_line_feeds_alone():
    assert parse("METRIC a=1\u2028METRIC b=2", "fusion").metrics == {}
    assert parse("METRIC a=1\r\nMETRIC b=2", "fusion").metrics == {"a": 1, "b": 2}


@pytest.mark.parametrize("space", ["\ufeff", "\u00a0", "\u3000", "\u2003", "\t"])
def test_white_space_is_javascripts(space):
    text = f"METRIC{space}a=1{space}"

    assert [parse(text, flavour).metrics for flavour in ("pi", "fusion", "union")] == [{"a": 1}] * 3


def test_digits_and_letters_are_ascii_alone():
    assert parse("METRIC é=1\nMETRIC a=\u0661", "pi").metrics == {}
    assert parse("METRIC é=1\nMETRIC a=\u0661", "fusion").metrics == {}
    assert parse("METRIC é=1\nMETRIC a=\u0661", "union").metrics == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x1F", 31),
        ("0XfF", 255),
        ("0b101", 5),
        ("0O17", 15),
        (".5", 0.5),
        ("5.", 5),
        ("+5", 5),
        ("-.5e1", -5),
        ("-0x1F", None),
        ("0x", None),
        ("0b2", None),
        (".", None),
        ("1_000", None),
        ("Infinity", None),
        ("-Infinity", None),
        ("inf", None),
        ("nan", None),
        ("1e999", None),
        ("0x" + "f" * 300, None),
        ("1" * 5000, None),
    ],
)
def test_numbers_are_javascripts(text, value):
    assert js_number(text) == value


def test_union_takes_what_either_takes_but_no_hexadecimal():
    lines = ["  METRIC total_\u00b5s = +1.5 ( us )", "METRIC bad-name=.5", "METRIC 9lives=5."]
    unread = ["METRIC hex=0x1F", "METRIC nothing=NaN"]
    others = ["METRICS x=1", "log: METRIC x=1"]

    reading = parse("\n".join(lines + unread + others))

    assert reading.metrics == {"total_\u00b5s": 1.5, "bad-name": 0.5, "9lives": 5}
    assert reading.units == {"total_\u00b5s": "us"}
    assert reading.warnings == ["Not read: METRIC hex=0x1F", "Not read: METRIC nothing=NaN"]


def test_union_takes_a_greek_mu_for_the_micro_sign():
    assert parse("METRIC total_\u03bcs=1").metrics == {"total_\u00b5s": 1}


def test_the_last_value_of_a_name_stands_in_the_place_of_its_first():
    reading = parse("METRIC a=1 (ms)\nMETRIC b=2\nMETRIC a=3")

    assert list(reading.metrics.items()) == [("a", 3), ("b", 2)]
    assert reading.units == {}


def test_a_million_bad_lines_warn_a_hundred_times():
    assert len(parse("METRIC x=NaN\n" * 1000).warnings) == 100
