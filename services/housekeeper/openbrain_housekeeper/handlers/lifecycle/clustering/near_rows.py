"""Vectors of memories, and which of a partition are near each other: matrix products, some rows at a time."""

from array import array
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

MOST_NEAR: Final = 16
"""Of those that follow a row, so many are compared with it: the nearest."""
PRODUCTS: Final = 150_000_000
"""Multiplications of one slice: some milliseconds of a core."""
MOST_ROWS: Final = 256
_ROUNDED: Final = 1e-4
"""By which a product of 32-bit numbers may be too low."""
Floats = npt.NDArray[np.float32]


class NearRows(NamedTuple):
    """Two rows by their numbers, the earlier one first, and their cosine."""

    one: int
    other: int
    cosine: float


class Rows:
    """Unit vectors, each of a partition, in the order in which they were added."""

    def __init__(self) -> None:
        self._vectors = array("f")
        self._partitions = array("L")
        self._dimensions = 0

    def __len__(self) -> int:
        return len(self._partitions)

    def add(self, vector: "array[float]", partition: int) -> None:
        """Add one behind the others."""
        self._dimensions = len(vector)
        self._vectors.extend(vector)
        self._partitions.append(partition)

    def vector(self, number: int) -> "array[float]":
        """The vector of a row."""
        return self._vectors[number * self._dimensions : (number + 1) * self._dimensions]

    def slices(self, least: float) -> Iterator[Sequence[NearRows]]:
        """Pairs of a partition that are at least so near, the nearest of some rows first; every row is compared with
        all that follow it. Nothing may be added while this goes on."""
        if not len(self):
            return
        matrix = np.frombuffer(self._vectors, np.float32).reshape(len(self), self._dimensions)
        partitions = np.frombuffer(self._partitions, np.dtype("L"))
        for partition in np.unique(partitions):
            numbers = np.flatnonzero(partitions == partition)
            rows = matrix if len(numbers) == len(matrix) else matrix[numbers]
            start = 0
            while start < len(rows) - 1:
                stop = min(start + _at_a_time(rows[start:]), len(rows))
                yield _near(rows, start, stop, least - _ROUNDED, numbers)
                start = stop


def _at_a_time(rest: Floats) -> int:
    return max(1, min(MOST_ROWS, PRODUCTS // rest.size))


def _near(rows: Floats, start: int, stop: int, least: float, numbers: npt.NDArray[np.int64]) -> Sequence[NearRows]:
    products = rows[start:stop] @ rows[start:].T
    here, there = np.nonzero(products >= least)
    later = there > here
    here, there = here[later], there[later]
    found: list[NearRows] = []
    for row in np.unique(here):
        others = there[here == row]
        cosines = products[row, others]
        found.extend(
            NearRows(int(numbers[start + row]), int(numbers[start + others[at]]), float(cosines[at]))
            for at in np.argsort(-cosines, kind="stable")[:MOST_NEAR]
        )
    return sorted(found, key=lambda pair: (-pair.cosine, pair.one, pair.other))
