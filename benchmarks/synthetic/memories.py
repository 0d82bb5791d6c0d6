"""Memories whose texts and vectors follow from their numbers, so that none is kept and all are the same on every run.

They are in 2 orgs, 20 projects and of 6 types, so that a sixtieth of them may be compared with each other. Of a
hundred two say what an earlier one of their place says, and three say it with some words more.
"""

import json
import random
import re
import zlib
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.support.texts import TYPES, WORDS, spread
from benchmarks.support.zero_cost import ZeroCost
from openbrain.domain.events.submission import Submission
from openbrain.domain.memory import MemoryType

PLACES = 60
_BACK = 11 * PLACES
"""From a copy back to what it repeats, which is none."""
_COPIES, _LONGER = (0, 1), (2, 3, 4)
"""Numbers modulo 100."""
_TOPICS, _OWN, _DIMENSIONS = 2048, 4096, 384
_OWN_SHARE, _WORDING_SHARE = 0.9, 0.12
"""Of a memory's direction beside its topic's, and of its wording's: cosines of .55 within a topic, .98 of a copy."""
_NUMBER = re.compile(r"note (\d+):", re.IGNORECASE)


def synthetic_text(number: int) -> str:
    """About 200 characters."""
    repeats = number >= _BACK
    if repeats and number % 100 in _COPIES:
        return f"{_text(number - _BACK).lower()}!"
    if repeats and number % 100 in _LONGER:
        return f"{_text(number - _BACK)}, and then {WORDS[number % len(WORDS)]}"
    return _text(number)


def synthetic_submission(number: int) -> Submission:
    """As a producer would offer it."""
    return Submission(
        content=synthetic_text(number),
        type=MemoryType(spread(TYPES, number)),
        org=("acme", "globex")[number % 2],
        project=f"p{number % 20}",
        tags=(f"t{number % 7}",),
    )


class SyntheticVectors(ZeroCost):
    """Port `Embedder`: documents get the vector of their number and wording, questions MiniLM's own."""

    def __init__(self) -> None:
        super().__init__()
        chance = np.random.default_rng(5)
        self._topics, self._own = (_unit(chance.standard_normal((size, _DIMENSIONS))) for size in (_TOPICS, _OWN))

    async def embed(self, inputs: Sequence[str]) -> Sequence["array[float]"]:
        """At the cost of some array operations."""
        found = (_NUMBER.search(text) for text in inputs)
        of = np.array([zlib.crc32(each[1].encode()) if each else 0 for each in found], dtype=np.int64)
        wordings = np.array([zlib.crc32(text.encode()) for text in inputs], dtype=np.int64)
        own = self._own[of // _TOPICS % _OWN]
        whole = _unit(self._topics[of % _TOPICS] + _OWN_SHARE * own)
        vectors = _unit(whole + _WORDING_SHARE * self._own[wordings % _OWN]).astype(np.float32)
        return [array("f", row.tobytes()) for row in vectors]


def _text(number: int) -> str:
    return f"Note {number}: {' '.join(random.Random(number).choices(WORDS, k=28))}"


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    normed: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return normed


def remember_body(number: int) -> str:
    """The same as the body of a request that remembers it."""
    taken = {"content", "type", "org", "project", "tags"}
    return json.dumps(synthetic_submission(number).model_dump(mode="json", include=taken))
