"""Decides whether one of two memories of the same place is redundant.

Vectors, shingles and words must all agree. The thresholds were chosen on one half of a labelled set and evaluated on
the other half: see docs/decisions/near-duplicates.md.
"""

import unicodedata
from dataclasses import dataclass
from typing import Final, Self

from openbrain.domain.memory import Memory
from openbrain.domain.text.duplicates.sameness import Claim, says_same

COSINE: Final = 0.8
SHINGLES: Final = 0.2
"""Minimum Jaccard similarity of two texts' shingles."""
_SHINGLE: Final = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """A memory prepared for comparison."""

    claim: Claim
    text: str
    """Normalised: equal for texts that differ only in case, white space and final punctuation."""
    shingles: frozenset[str]

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """Worth reusing if a memory is compared with several others."""
        text = normalised(memory.content)
        return cls(Claim.of(memory), text, shingles(text))


def normalised(content: str) -> str:
    """Normalise Unicode, case, white space and final punctuation."""
    return " ".join(unicodedata.normalize("NFKC", content).casefold().split()).rstrip(".!\u2026 ")


def shingles(text: str) -> frozenset[str]:
    """All substrings of four characters."""
    return frozenset(text[at : at + _SHINGLE] for at in range(max(1, len(text) - _SHINGLE + 1)))


def exact_duplicates(one: Reading, other: Reading) -> bool:
    """True if texts and subjects are equal; needs no vector."""
    return one.claim.about == other.claim.about and one.text == other.text


def near_duplicates(one: Reading, other: Reading, cosine: float) -> bool:
    """True if either memory can replace the other. Exact duplicates can, whatever their vectors."""
    if exact_duplicates(one, other):
        return True
    shared = len(one.shingles & other.shingles) / len(one.shingles | other.shingles)
    return cosine >= COSINE and shared >= SHINGLES and says_same(one.claim, other.claim)
