"""When two titles are of one work, though another house, hand or year wrote them."""

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable
from itertools import permutations
from typing import NamedTuple

_WORD = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"\d+")
_ROMAN = re.compile(r"x{0,3}(?:ix|iv|v?i{0,3})")
_BREAK = re.compile(r":\s|\s[-–—]\s|\.\s")  # noqa: RUF001  (dashes as they are printed)
ARTICLES = frozenset({"a", "an", "the"})
APART = frozenset(
    {"part", "i", "v", "x", "volume", "chapter", "erratum", "corrigendum", "correction", "comment"}
    | {"reply", "response", "addendum", "supplement", "supplementary", "supporting"}
)
"""What a subtitle begins with that makes another work of it."""

OTHER_AUTHORS = "other authors"
LONG_WORDS = 4
"""Words from which a title says by itself which work it is."""
TYPOS = 2
EDITED_CHARS, TWICE_EDITED_CHARS = 5, 9
"""Length from which a word may be off by one edit, and by two."""


class Title(NamedTuple):
    """compact: lower-case letters and digits of its NFKD form. numbers: those in it, sorted.

    main: compact, as far as its subtitle; apart: the subtitle tells another work.
    """

    compact: str
    words: tuple[str, ...]
    numbers: tuple[str, ...]
    main: str
    apart: bool


def read(text: str) -> Title:
    words = _words(text)
    before, *after = _BREAK.split(text, maxsplit=1)
    main = _words(before) if after else words
    subtitle = _words(after[0]) if after else ()
    is_main = len(main) >= LONG_WORDS
    return Title(
        "".join(words),
        words,
        _numbers(words),
        "".join(main) if is_main else "".join(words),
        bool(subtitle) and subtitle[0] in APART,
    )


def _words(text: str) -> tuple[str, ...]:
    plain = (one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
    return tuple(_WORD.findall("".join(plain).lower()))


def _numbers(words: Iterable[str]) -> tuple[str, ...]:
    """Digits, and roman numerals of two letters or more."""
    digits = [digits for word in words for digits in _DIGITS.findall(word)]
    return tuple(
        sorted(digits + [word for word in words if len(word) > 1 and _ROMAN.fullmatch(word)])
    )


def surnames(authors: str | None) -> frozenset[str]:
    """Of names that are parted by bars or semicolons, `A. Name` or `Name, A.`."""
    names = (_words(one.split(",")[0]) for one in re.split(r"[|;]", authors or ""))
    return frozenset(name[-1] for name in names if name)


def similarity(one: Title, other: Title) -> float:
    """The share of their words' trigrams that both have: 1 where the words are the same."""
    left, right = _trigrams(one.words), _trigrams(other.words)
    return len(left & right) / max(len(left | right), 1)


def _trigrams(words: Iterable[str]) -> set[str]:
    padded = (f" {word} " for word in words)
    return {word[at : at + 3] for word in padded for at in range(len(word) - 2)}


def verdict(
    one: Title,
    other: Title,
    names: frozenset[str],
    other_names: frozenset[str],
    common: Container[str],
) -> tuple[bool, str]:
    """Whether both are of one work, and why, or why not.

    common: the words that many titles have, and so none that is misspelt.
    """
    known = bool(names and other_names)
    shared = 2 * len(names & other_names) >= min(len(names), len(other_names))
    if known and not shared:
        return False, OTHER_AUTHORS
    if one.compact == other.compact:
        if len(one.words) < LONG_WORDS and not known:
            return False, "short title, authors unknown"
        return True, "same title"
    if one.numbers != other.numbers:
        return False, "other numbers"
    if known and _is_shortened(one, other):
        return True, "same title but for a subtitle"
    return _by_words(one, other, common)


def _is_shortened(one: Title, other: Title) -> bool:
    short, long = sorted((one, other), key=lambda title: len(title.compact))
    return short.compact == long.main and not long.apart


def _by_words(one: Title, other: Title, common: Container[str]) -> tuple[bool, str]:
    mine, others = (Counter(w for w in title.words if w not in ARTICLES) for title in (one, other))
    left, right = [*(mine - others).elements()], [*(others - mine).elements()]
    if len(mine) < LONG_WORDS:
        return False, "short title"
    if not left and not right:
        return True, "same words"
    if len(left) != len(right) or len(left) > TYPOS:
        return False, "other words"
    for order in permutations(right):
        if all(_misspelt(*pair, common) for pair in zip(left, order, strict=True)):
            return True, "same words but for spelling"
    return False, "other words"


def _misspelt(word: str, other: str, common: Container[str]) -> bool:
    length = min(len(word), len(other))
    if word[0] != other[0] or length < EDITED_CHARS or (word in common and other in common):
        return False
    return _edits(word, other) <= (2 if length >= TWICE_EDITED_CHARS else 1)


def _edits(word: str, other: str) -> int:
    """Letters to add, drop or change, or neighbours to swap, to come from one to the other."""
    before: list[int] = []
    row: list[int] = [*range(len(other) + 1)]
    for at, letter in enumerate(word, 1):
        last, before, row = before, row, [at]
        for to, wanted in enumerate(other, 1):
            cost = min(before[to] + 1, row[-1] + 1, before[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and word[at - 2] == wanted:
                cost = min(cost, last[to - 2] + 1)
            row.append(cost)
    return row[-1]
