"""Text as hashed word n-grams: the same bytes give the same features on every machine."""

import re
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

FEATURE_BITS = 24
WORD_CHARS_MIN = 3
TEXT_CHARS_MAX = 8_000
"""Of a text, what its features are taken from."""

_MASK = (1 << FEATURE_BITS) - 1
_PAIR = 0x9E3779B1
_ASCII_WORD = re.compile(r"[a-z]{3,}")
_WORD = re.compile(r"[^\W\d_\u3040-\u30ff\u4e00-\u9fff]{3,}|[\u3040-\u30ff\u4e00-\u9fff]")
_STOP = frozenset(
    """
    also and all any are based been being between both but can cannot corresponding could define
    defined denote denotes did does each either for from given had has have here into its let may
    more most must nor not obtained one only our over per respect respectively same set show shown
    shows such than that the their them then there these they this those through thus too two under
    upon use used using via was were what when where whether which while who will with within
    without would

    approx begin cdot end frac hat hbar infty langle left mathbf mathcal mathrm partial quad rangle
    right sqrt text times vec
    """.split()  # noqa: SIM905  (as prose it can be read)
)
"""Words that say nothing of a topic: English, then LaTeX."""


def of(text: str) -> set[int]:
    """The features of single words and of pairs of neighbours, each once.

    Letters of any script; of kana and kanji each one is a word. Words of one or two
    letters, digits and stop words are passed over, a plural s is cut.
    """
    text = text[:TEXT_CHARS_MAX].lower()
    found = (_ASCII_WORD if text.isascii() else _WORD).findall(text)
    words = [feature for word in found if (feature := _id(word))]
    pairs = {((first * _PAIR) ^ second) & _MASK for first, second in pairwise(words)}
    return pairs.union(words)


def words(text: str) -> list[str]:
    """The words of a text that `of` counts, as they are counted, in their order."""
    text = text[:TEXT_CHARS_MAX].lower()
    found = (_ASCII_WORD if text.isascii() else _WORD).findall(text)
    return [_singular(word) for word in found if word not in _STOP]


@lru_cache(1 << 16)
def _id(word: str) -> int:
    """The feature of a word; 0 for one that is passed over."""
    if word in _STOP:
        return 0
    return crc32(_singular(word).encode()) & _MASK


def _singular(word: str) -> str:
    plural = len(word) > WORD_CHARS_MIN and word[-1] == "s" and word[-2] != "s"
    return word[:-1] if plural else word
