"""MPNet's encoder as an ONNX graph: tensors in the names of its authors' file to token states (rows, tokens, hidden).

Layers with the norm behind; attention with a bias by the distance of two tokens, which all layers share.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from openbrain.adapters.embedding.mpnet.onnx_file import FLOAT, INT64, OnnxFile

Tensors = Mapping[str, "NDArray[Any]"]

FIRST_POSITION = 2
"""Rows 0 and 1 of the positions stand for padding."""
NORM_EPSILON = 1e-5
MASKED = -1e9

_DISTANCES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91)
"""Where a bucket of distances begins: each one to 8, then by the square root of 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the tensors do not say."""

    layers: int
    heads: int
    tokens: int
    """The longest input."""


class Weights(Protocol):
    """How the large matrices stand in the file: as they are, or in fewer bits."""

    def lookup(self, graph: OnnxFile, name: str, table: "NDArray[Any]", rows: str) -> str:
        """The rows of `table` (entries, hidden) that `rows` numbers."""

    def linear(self, graph: OnnxFile, name: str, matrix: "NDArray[Any]", value: str) -> str:
        """`value` times the transposed `matrix` (out, in)."""


def encoder(tensors: Tensors, shape: Shape, weights: Weights) -> OnnxFile:
    """The whole graph. Inputs `input_ids` and `attention_mask` (rows, tokens), one output."""
    graph = OnnxFile("mpnet")
    tokens = graph.input("input_ids", INT64, "rows", "tokens")
    mask = graph.input("attention_mask", INT64, "rows", "tokens")
    length = graph.node("Shape", tokens, start=1)
    states = _embedded(graph, tensors, shape, weights, tokens, length)
    bias = graph.node("Add", _distance_bias(graph, tensors, shape, length), _mask_bias(graph, mask))
    for number in range(shape.layers):
        layer = _Layer(graph, tensors, weights, f"encoder.layer.{number}.")
        states = layer.transformed(layer.attended(states, bias, shape.heads))
    graph.output(states, FLOAT, "rows", "tokens", tensors["embeddings.LayerNorm.weight"].shape[0])
    return graph


def buckets(tokens: int) -> "NDArray[np.int32]":
    """The bucket of each pair of places (from, to): 0 to 15 for what stands before, 16 to 31 for what comes after."""
    by_distance = np.array([bisect_right(_DISTANCES, distance) for distance in range(tokens)], np.int32)
    places = np.arange(tokens)
    ahead = places[None, :] - places[:, None]
    return np.asarray(by_distance[np.abs(ahead)] + np.where(ahead > 0, len(_DISTANCES) + 1, 0), np.int32)


def _embedded(graph: OnnxFile, tensors: Tensors, shape: Shape, weights: Weights, tokens: str, length: str) -> str:
    words = weights.lookup(graph, "words", tensors["embeddings.word_embeddings.weight"], tokens)
    table = tensors["embeddings.position_embeddings.weight"][FIRST_POSITION : FIRST_POSITION + shape.tokens]
    places = _upto(graph, graph.weight("places", table), length, 1)
    return _normed(graph, tensors, "embeddings.LayerNorm", graph.node("Add", words, places))


def _distance_bias(graph: OnnxFile, tensors: Tensors, shape: Shape, length: str) -> str:
    """(1, heads, tokens, tokens)."""
    near = _upto(graph, graph.weight("buckets", buckets(shape.tokens)), length, 2)
    table = graph.weight("bias", tensors["encoder.relative_attention_bias.weight"])
    by_head = graph.node("Transpose", graph.node("Gather", table, near), perm=(2, 0, 1))
    return graph.node("Unsqueeze", by_head, graph.weight("first axis", np.array([0])))


def _mask_bias(graph: OnnxFile, mask: str) -> str:
    """(rows, 1, 1, tokens): 0 for a token, as good as minus infinity for padding."""
    absent = graph.node("Sub", graph.weight("one", np.array([1], np.float32)), graph.node("Cast", mask, to=FLOAT))
    wide = graph.node("Unsqueeze", absent, graph.weight("middle axes", np.array([1, 2])))
    return graph.node("Mul", wide, graph.weight("masked", np.array([MASKED], np.float32)))


def _upto(graph: OnnxFile, table: str, length: str, axes: int) -> str:
    """The first `length` entries of each of the first axes."""
    ends = graph.node("Concat", *[length] * axes, axis=0)
    start, which = np.zeros(axes, np.int64), np.arange(axes, dtype=np.int64)
    return graph.node("Slice", table, graph.weight(f"{table} from", start), ends, graph.weight(f"{table} of", which))


def _normed(graph: OnnxFile, tensors: Tensors, name: str, value: str) -> str:
    scale, shift = (graph.weight(f"{name}.{part}", tensors[f"{name}.{part}"]) for part in ("weight", "bias"))
    return graph.node("LayerNormalization", value, scale, shift, axis=-1, epsilon=NORM_EPSILON)


@dataclass(frozen=True, slots=True)
class _Layer:
    """One of the layers: its tensors begin with `name`."""

    graph: OnnxFile
    tensors: Tensors
    weights: Weights
    name: str

    def attended(self, states: str, bias: str, heads: int) -> str:
        """Each token with what it takes from the others."""
        graph = self.graph
        parts = {part: self._tensor(f"attention.attn.{part}") for part in "qkv"}
        hidden = len(parts["q"][1])
        # Scaling the questions beforehand spares it for every pair of tokens.
        scale = np.float32(1 / np.sqrt(hidden // heads))
        parts["q"] = parts["q"][0] * scale, parts["q"][1] * scale
        matrix, shift = (np.concatenate([part[which] for part in parts.values()]) for which in (0, 1))
        joined = self._linear("attention.qkv", matrix, shift, states)
        apart = graph.weight(f"{self.name}heads", np.array([0, 0, 3, heads, hidden // heads]))
        split = graph.node("Transpose", graph.node("Reshape", joined, apart), perm=(2, 0, 3, 1, 4))
        question, key, value = (
            graph.node("Gather", split, graph.weight(f"{self.name}{part}", np.array(number)), axis=0)
            for number, part in enumerate("qkv")
        )
        scores = graph.node("MatMul", question, graph.node("Transpose", key, perm=(0, 1, 3, 2)))
        shares = graph.node("Softmax", graph.node("Add", scores, bias), axis=-1)
        taken = graph.node("Transpose", graph.node("MatMul", shares, value), perm=(0, 2, 1, 3))
        flat = graph.node("Reshape", taken, graph.weight(f"{self.name}flat", np.array([0, 0, hidden])))
        out = self._linear("attention.attn.o", *self._tensor("attention.attn.o"), flat)
        return _normed(graph, self.tensors, f"{self.name}attention.LayerNorm", graph.node("Add", out, states))

    def transformed(self, states: str) -> str:
        """Each token for itself."""
        graph = self.graph
        wide = self._linear("intermediate.dense", *self._tensor("intermediate.dense"), states)
        out = self._linear("output.dense", *self._tensor("output.dense"), graph.node("Gelu", wide))
        return _normed(graph, self.tensors, f"{self.name}output.LayerNorm", graph.node("Add", out, states))

    def _tensor(self, part: str) -> "tuple[NDArray[Any], NDArray[Any]]":
        return self.tensors[f"{self.name}{part}.weight"], self.tensors[f"{self.name}{part}.bias"]

    def _linear(self, part: str, matrix: "NDArray[Any]", shift: "NDArray[Any]", value: str) -> str:
        name = f"{self.name}{part}"
        product = self.weights.linear(self.graph, f"{name}.weight", matrix, value)
        return self.graph.node("Add", product, self.graph.weight(f"{name}.bias", shift))
