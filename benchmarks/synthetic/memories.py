"""Memories whose texts and vectors are computed from their numbers, so that none is stored and all are the same on
every run.

They have 2 orgs, 20 projects and 6 types, so that a memory may be compared with a sixtieth of the others. In every
hundred, two repeat an earlier memory with the same org, project and type, and three repeat one with more words.
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
"""Distance from a copy back to its original, which is not a copy itself."""
_COPIES, _LONGER = (0, 1), (2, 3, 4)
"""Numbers modulo 100 that are copies, and longer copies."""
_TOPICS, _OWN, _DIMENSIONS = 2048, 4096, 384
_OWN_SHARE, _WORDING_SHARE = 0.9, 0.12
"""Weights of a memory's own direction, and of its wording, relative to its topic. They give a cosine of .55 within a
topic, and .98 to a copy."""
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
    """The memory as a producer would submit it."""
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
        """Compute the vectors with a few array operations."""
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
    """The memory as the body of a remember request."""
    taken = {"content", "type", "org", "project", "tags"}
    return json.dumps(synthetic_submission(number).model_dump(mode="json", include=taken))
