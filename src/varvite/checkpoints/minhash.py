"""Keys that texts of nearly the same words share, and others hardly ever do: MinHash in bands.

Two texts whose words have the share `s` of their trigrams in common agree on one of the bands
with probability `1 - (1 - s ** ROWS) ** BANDS`: 0.99 at 0.8, 0.0001 at 0.2. The order of the
words does not matter.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BANDS, ROWS = 24, 8
_SPACE = ord(" ")
_Words = NDArray[np.uint64]


def bands(texts: Sequence[Sequence[str]], salts: Sequence[int]) -> NDArray[np.int64]:
    """A row a text, a key a band. salts: texts of different ones share no key but by chance.

    Each text is its words, one at least. Cost grows with the letters.
    """
    shingles, starts = _trigrams(texts)
    mixed = _mix(shingles)
    keys = np.empty((len(texts), BANDS), np.uint64)
    factors = _mix(np.arange(1, BANDS * ROWS + 1, dtype=np.uint64)) | np.uint64(1)
    for band in range(BANDS):
        key = np.array(salts, np.int64).view(np.uint64) + np.uint64(band)
        for factor in factors[band * ROWS : (band + 1) * ROWS]:
            key = _mix(key ^ np.minimum.reduceat(mixed * factor, starts))
        keys[:, band] = key
    return keys.view(np.int64)


def _trigrams(texts: Sequence[Sequence[str]]) -> tuple[_Words, NDArray[np.intp]]:
    """The trigrams of all words, a space around each word, and where each text's begin."""
    padded = [f" {' '.join(words)} " for words in texts]
    letters = np.frombuffer("".join(padded).encode("utf-32-le"), np.uint32).astype(np.uint64)
    packed = letters[:-2] << np.uint64(42) | letters[1:-1] << np.uint64(21) | letters[2:]
    within = letters[1:-1] != _SPACE
    ends = np.cumsum([len(text) for text in padded])
    before = np.concatenate(([0], np.cumsum(within)))
    return packed[within], before[np.concatenate(([0], ends[:-1]))]


def _mix(values: _Words) -> _Words:
    """Each of the 64 bits spread over all."""
    values = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ values >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return values ^ values >> np.uint64(31)
