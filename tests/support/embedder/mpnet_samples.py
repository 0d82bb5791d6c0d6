"""A small MPNet of random weights: what its tests build and run where the real one is not there."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openbrain.adapters.embedding.mpnet.graph import Shape
from openbrain.adapters.embedding.mpnet.onnx_file import OnnxFile

HIDDEN, WIDE, VOCABULARY = 64, 128, 30_527
SHAPE = Shape(layers=2, heads=4, tokens=150)


def _tiny() -> dict[str, "NDArray[np.float32]"]:
    chance = np.random.default_rng(20_261_122)

    def drawn(*shape: int, spread: float = 0.2) -> "NDArray[np.float32]":
        return (chance.standard_normal(shape) * spread).astype(np.float32)

    def norm(name: str) -> dict[str, "NDArray[np.float32]"]:
        return {f"{name}.weight": 1 + drawn(HIDDEN), f"{name}.bias": drawn(HIDDEN)}

    def linear(name: str, out: int, taken: int) -> dict[str, "NDArray[np.float32]"]:
        return {f"{name}.weight": drawn(out, taken), f"{name}.bias": drawn(out)}

    tensors = {
        "embeddings.word_embeddings.weight": drawn(VOCABULARY, HIDDEN, spread=1),
        "embeddings.position_embeddings.weight": drawn(SHAPE.tokens + 2, HIDDEN, spread=1),
        "encoder.relative_attention_bias.weight": drawn(32, SHAPE.heads, spread=1),
        **norm("embeddings.LayerNorm"),
    }
    for number in range(SHAPE.layers):
        layer = f"encoder.layer.{number}"
        for part in "qkvo":
            tensors |= linear(f"{layer}.attention.attn.{part}", HIDDEN, HIDDEN)
        tensors |= norm(f"{layer}.attention.LayerNorm") | norm(f"{layer}.output.LayerNorm")
        tensors |= linear(f"{layer}.intermediate.dense", WIDE, HIDDEN) | linear(f"{layer}.output.dense", HIDDEN, WIDE)
    return tensors


TINY = _tiny()


def as_safetensors(tensors: Mapping[str, "NDArray[Any]"]) -> bytes:
    """The bytes of a file of them."""
    header: dict[str, Any] = {"__metadata__": {"format": "np"}}
    at = 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(values.tobytes() for values in tensors.values())


class Exact:
    """`Weights` as they are, for comparing with those in 8 bits."""

    def lookup(self, graph: OnnxFile, name: str, table: "NDArray[Any]", rows: str) -> str:
        """See `Weights`."""
        return graph.node("Gather", graph.weight(name, table), rows)

    def linear(self, graph: OnnxFile, name: str, matrix: "NDArray[Any]", value: str) -> str:
        """See `Weights`."""
        return graph.node("MatMul", value, graph.weight(name, matrix.T))
