"""Converts a model's output to the vectors of the ports."""

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray


def unit_vectors(rows: "NDArray[Any]") -> "list[array[float]]":
    """Return each row as a vector of length 1. `ValueError` if a row is zero or contains NaN or infinity."""
    numbers = rows.astype(np.float64)
    lengths = np.linalg.norm(numbers, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ValueError("no direction")
    return [array("f", row.tobytes()) for row in (numbers / lengths).astype(np.float32)]


def mean_direction(vectors: "list[array[float]]") -> "array[float]":
    """Return the unit vector of the mean of several vectors."""
    return unit_vectors(np.asarray(vectors, dtype=np.float64).mean(axis=0, keepdims=True))[0]
