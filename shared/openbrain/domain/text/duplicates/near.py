"""The judgement over two memories of one place: whether one of them is enough.

Vectors, shingles and words must all say so. The thresholds were chosen on one half of a labelled set, the other half
says how good they are: see docs/decisions/near-duplicates.md.
"""

import unicodedata
from dataclasses import dataclass
from typing import Final, Self

from openbrain.domain.memory import Memory
from openbrain.domain.text.duplicates.sameness import Claim, says_same

COSINE: Final = 0.8
SHINGLES: Final = 0.2
"""Least Jaccard similarity of two texts' shingles."""
_SHINGLE: Final = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """A memory as it is compared with others."""

    claim: Claim
    text: str
    """Normalised: equal where two differ in case, white space and the mark at the end alone."""
    shingles: frozenset[str]

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """Worth keeping while a memory is compared with several."""
        text = normalised(memory.content)
        return cls(Claim.of(memory), text, shingles(text))


def normalised(content: str) -> str:
    """Without what makes no difference to anybody."""
    return " ".join(unicodedata.normalize("NFKC", content).casefold().split()).rstrip(".!\u2026 ")


def shingles(text: str) -> frozenset[str]:
    """All runs of four characters."""
    return frozenset(text[at : at + _SHINGLE] for at in range(max(1, len(text) - _SHINGLE + 1)))


def exact_duplicates(one: Reading, other: Reading) -> bool:
    """Whether two texts are the same and about the same: no vector is asked."""
    return one.claim.about == other.claim.about and one.text == other.text


def near_duplicates(one: Reading, other: Reading, cosine: float) -> bool:
    """Whether either can stand for both; exact ones can, whatever their vectors."""
    if exact_duplicates(one, other):
        return True
    shared = len(one.shingles & other.shingles) / len(one.shingles | other.shingles)
    return cosine >= COSINE and shared >= SHINGLES and says_same(one.claim, other.claim)
