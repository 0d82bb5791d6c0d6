"""Vectors of memories, and the pairs of a partition that are near each other, by matrix products, tile by tile."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

MOST_NEAR: Final = 16
"""Maximum number of later rows paired with a row: its nearest ones."""
PRODUCTS: Final = 150_000_000
"""Multiplications per tile: several milliseconds on one core."""
BAND: Final = 256
"""Rows compared at once with all later rows, tile by tile. With fewer, memory transfer would dominate the product."""
_ROUNDED: Final = 1e-4
"""Margin for the rounding errors of a product of 32-bit floats."""
Floats = npt.NDArray[np.float32]


class NearRows(NamedTuple):
    """Two rows by their numbers, the earlier one first, and their cosine."""

    one: int
    other: int
    cosine: float


class Rows:
    """Unit vectors, each with its partition, in the order in which they were added."""

    def __init__(self) -> None:
        self._vectors = array("f")
        self._partitions = array("L")
        self._dimensions = 0

    def __len__(self) -> int:
        return len(self._partitions)

    def add(self, vector: "array[float]", partition: int) -> None:
        self._dimensions = len(vector)
        self._vectors.extend(vector)
        self._partitions.append(partition)

    def vector(self, number: int) -> "array[float]":
        return self._vectors[number * self._dimensions : (number + 1) * self._dimensions]

    def tiles(self, least: float) -> Iterator[Sequence[NearRows]]:
        """Pairs within a partition with at least this cosine; every row is compared with all later ones. A band's pairs
        are yielded after its last tile, nearest first; its other tiles yield nothing. Add no rows meanwhile."""
        if not len(self):
            return
        matrix = np.frombuffer(self._vectors, np.float32).reshape(len(self), self._dimensions)
        partitions = np.frombuffer(self._partitions, np.dtype("L"))
        for partition in np.unique(partitions):
            numbers = np.flatnonzero(partitions == partition)
            rows = matrix if len(numbers) == len(matrix) else matrix[numbers]
            for start in range(0, len(rows) - 1, BAND):
                band = slice(start, start + BAND)
                width = max(1, PRODUCTS // rows[band].size)
                near: list[NearRows] = []
                for left in range(start, len(rows), width):
                    near += _near(rows, band, slice(left, left + width), least - _ROUNDED)
                    yield _nearest(near, numbers) if left + width >= len(rows) else ()


def _near(rows: Floats, band: slice, others: slice, least: float) -> Iterator[NearRows]:
    """Pairs of one tile: each row with its nearest later rows."""
    products = rows[band] @ rows[others].T
    here, there = np.divmod(np.flatnonzero(products >= least), products.shape[1])
    later = there + others.start > here + band.start
    here, there = here[later], there[later]
    for row in np.unique(here):
        columns = there[here == row]
        cosines = products[row, columns]
        for at in np.argsort(-cosines, kind="stable")[:MOST_NEAR]:
            yield NearRows(int(band.start + row), int(others.start + columns[at]), float(cosines[at]))


def _nearest(near: Iterable[NearRows], numbers: npt.NDArray[np.int64]) -> Sequence[NearRows]:
    """The nearest pairs of each row, at most `MOST_NEAR`. `numbers`: row numbers in the whole matrix."""
    taken: Counter[int] = Counter()
    nearest: list[NearRows] = []
    for pair in sorted(near, key=lambda pair: (-pair.cosine, pair.one, pair.other)):
        taken[pair.one] += 1
        if taken[pair.one] <= MOST_NEAR:
            nearest.append(NearRows(int(numbers[pair.one]), int(numbers[pair.other]), pair.cosine))
    return nearest
