"""Weights in 8 bits: matrices with a scale for every 32 of them, tables with a scale a row.

Rounded with plain numpy, so that the same tensors make the same bytes on every machine.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openbrain.adapters.embedding.mpnet.onnx_file import FLOAT, MICROSOFT, OnnxFile

BLOCK = 32
_LARGEST = 127
_ZERO = 128
_EIGHT_BIT_ACTIVATIONS = 4
"""What onnxruntime calls this accuracy level: blocks of activations are rounded too, so that products are of integers.
A scale for a whole batch of them, as `DynamicQuantizeLinear` has it, makes a vector depend on its neighbours."""


class Quantised:
    """Weights of `graph.encoder`."""

    def lookup(self, graph: OnnxFile, name: str, table: "NDArray[Any]", rows: str) -> str:
        """See `Weights`."""
        codes, scales = eight_bits(table)
        found = graph.node("Cast", graph.node("Gather", graph.weight(name, codes), rows), to=FLOAT)
        return graph.node("Mul", found, graph.node("Gather", graph.weight(f"{name} scales", scales), rows))

    def linear(self, graph: OnnxFile, name: str, matrix: "NDArray[Any]", value: str) -> str:
        """See `Weights`. A row of the matrix must be whole blocks."""
        out, taken = matrix.shape
        codes, scales = eight_bits(matrix.reshape(out, taken // BLOCK, BLOCK))
        unsigned = (codes.astype(np.int16) + _ZERO).astype(np.uint8)
        return graph.node(
            "MatMulNBits",
            value,
            graph.weight(name, unsigned),
            graph.weight(f"{name} scales", scales.reshape(-1)),
            domain=MICROSOFT,
            K=taken,
            N=out,
            bits=8,
            block_size=BLOCK,
            accuracy_level=_EIGHT_BIT_ACTIVATIONS,
        )


def eight_bits(values: "NDArray[Any]") -> "tuple[NDArray[np.int8], NDArray[np.float32]]":
    """Codes of -127 to 127, and a scale for each of the last axis (..., 1): their product is near the values."""
    scales = (np.abs(values).max(axis=-1, keepdims=True) / np.float32(_LARGEST)).astype(np.float32)
    return np.rint(values / np.where(scales == 0, np.float32(1), scales)).astype(np.int8), scales
