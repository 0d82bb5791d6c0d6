"""The standing queries of one workspace: a matrix of vectors per model, their words, and what each query may see."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openbrain.domain.access.visibility import matcher, visible
from openbrain.domain.memory import Memory
from openbrain.domain.text.words import spoken_text
from openbrain.ports.subscriptions import StandingQuery
from openbrain_matcher.matching.phrases import Phrases

ALL_WORDS = 0.8
"""The similarity of a memory that contains every word of the query, as in a recall."""
_ROWS = 64
_NO_VECTOR = np.nan
"""A row of a matrix without a vector. Compared with any floor it is lower, even with 0."""

Vectors = Mapping[str, Mapping[str, "array[float]"]]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Found:
    """A standing query that a memory matches."""

    query: StandingQuery
    similarity: float | None


@dataclass(frozen=True, slots=True)
class _Line:
    query: StandingQuery
    sees: Callable[[Memory], bool]


class Book:
    """The standing queries of a workspace. `apply` applies changes; `find` returns those that a memory matches."""

    def __init__(self) -> None:
        self.seq = 0
        """The number of the last change applied."""
        self._lines: dict[int, _Line] = {}
        self._numbers: dict[str, int] = {}
        self._free: list[int] = []
        self._end = 0
        """One more than the highest row number ever assigned."""
        self._without_words: set[int] = set()
        self._floors: Floats = np.empty(0, np.float32)
        self._matrices: dict[str, Floats] = {}
        self._phrases = Phrases()

    def __len__(self) -> int:
        return len(self._numbers)

    def apply(self, changed: Sequence[StandingQuery], vectors: Vectors) -> None:
        """Apply changed queries, in order. `vectors`: those of the live ones, by query id and model."""
        for query in changed:
            self._remove(query.id)
            if query.deleted_at is None:
                self._add(query, vectors.get(query.id, {}))
            self.seq = max(self.seq, query.change_seq)

    def find(self, memory: Memory, passages: Sequence["array[float]"], model: str) -> Sequence[Found]:
        """Queries that match this memory and may see it. `passages`: its vectors by this model, possibly none. The
        caller checks that the memory is alive."""
        near = self._near(passages, model)
        for number in self._phrases.held_by(spoken_text(memory)):
            if self._floors[number] <= ALL_WORDS:
                near[number] = max(near.get(number, 0.0), ALL_WORDS)
        scores: dict[int, float | None] = {number: round(score, 4) for number, score in near.items()}
        scores |= dict.fromkeys(self._without_words)
        lines = ((self._lines[number], score) for number, score in scores.items())
        return [Found(line.query, score) for line, score in lines if line.sees(memory)]

    def _near(self, passages: Sequence["array[float]"], model: str) -> dict[int, float]:
        matrix = self._matrices.get(model)
        if matrix is None or not passages:
            return {}
        best: Floats = (matrix @ np.stack([np.asarray(passage, np.float32) for passage in passages]).T).max(axis=1)
        near = np.nonzero(best >= self._floors[: len(best)])[0]
        return {int(number): min(1.0, float(best[number])) for number in near}

    def _add(self, query: StandingQuery, vectors: Mapping[str, "array[float]"]) -> None:
        number = self._free.pop() if self._free else self._new_number()
        self._lines[number], self._numbers[query.id] = _Line(query, _sees(query)), number
        if not query.query:
            self._without_words.add(number)
            return
        self._floors[number] = query.min_similarity
        self._phrases.add(number, query.query)
        for model, vector in vectors.items():
            self._matrix(model, len(vector))[number] = vector

    def _remove(self, query_id: str) -> None:
        number = self._numbers.pop(query_id, None)
        if number is None:
            return
        self._phrases.remove(number, self._lines.pop(number).query.query)
        self._without_words.discard(number)
        self._floors[number] = np.inf
        for matrix in self._matrices.values():
            if number < len(matrix):
                matrix[number] = _NO_VECTOR
        self._free.append(number)

    def _new_number(self) -> int:
        number, self._end = self._end, self._end + 1
        if number >= len(self._floors):
            more = np.full(max(_ROWS, 2 * number), np.inf, np.float32)
            more[:number] = self._floors
            self._floors = more
        return number

    def _matrix(self, model: str, dimensions: int) -> Floats:
        """The model's matrix, with at least one row per assigned number."""
        matrix = self._matrices.get(model)
        if matrix is None or len(matrix) < self._end:
            wider = np.full((len(self._floors), dimensions), _NO_VECTOR, np.float32)
            if matrix is not None:
                wider[: len(matrix)] = matrix
            self._matrices[model] = matrix = wider
        return matrix


def _sees(query: StandingQuery) -> Callable[[Memory], bool]:
    # Time 0: the predicate is built once, so it can't check expiry; the caller of `find` does.
    sees = matcher(visible(query.viewer, query.criteria, 0))
    if query.include_own:
        return sees
    return lambda memory: memory.agent_id != query.agent_id and sees(memory)
