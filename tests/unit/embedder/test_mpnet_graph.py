"""The graph against MPNet written down in plain numpy, on small random weights; and what fewer bits cost."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from openbrain.adapters.embedding.mpnet.graph import Shape, Weights, buckets, encoder
from openbrain.adapters.embedding.mpnet.quantised import BLOCK, Quantised, eight_bits
from openbrain.adapters.embedding.mpnet.tensors import read
from tests.support.embedder.mpnet_samples import HIDDEN, SHAPE, TINY, VOCABULARY, Exact, as_safetensors

Floats = NDArray[np.float32]


def bucket(ahead: int) -> int:
    """As it is published: 16 buckets each way, exact up to 8, then by logarithm up to 128."""
    distance = abs(ahead)
    found = distance if distance < 8 else min(15, 8 + int(np.log(np.float32(distance / 8)) / math.log(16) * 8))
    return found + (16 if ahead > 0 else 0)


def norm(value: Floats, tensors: Mapping[str, Any], name: str) -> Floats:
    middle = value - value.mean(axis=-1, keepdims=True)
    scaled = middle / np.sqrt((middle**2).mean(axis=-1, keepdims=True) + 1e-5)
    return np.asarray(scaled * tensors[f"{name}.weight"] + tensors[f"{name}.bias"])


def gelu(value: Floats) -> Floats:
    return np.asarray(value * 0.5 * (1 + np.vectorize(math.erf)(value / math.sqrt(2))))


def forward(tensors: Mapping[str, Any], shape: Shape, row: list[int]) -> Floats:
    """One row without padding: (tokens, hidden)."""

    def linear(value: Floats, name: str) -> Floats:
        return np.asarray(value @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"])

    count, size = len(row), HIDDEN // shape.heads
    places = tensors["embeddings.position_embeddings.weight"][2 : 2 + count]
    states = norm(tensors["embeddings.word_embeddings.weight"][row] + places, tensors, "embeddings.LayerNorm")
    table = tensors["encoder.relative_attention_bias.weight"]
    near = np.array([[table[bucket(to - at)] for to in range(count)] for at in range(count)])
    for number in range(shape.layers):
        layer = f"encoder.layer.{number}"
        heads = []
        for head in range(shape.heads):
            part = slice(head * size, (head + 1) * size)
            question, key, value = (linear(states, f"{layer}.attention.attn.{each}")[:, part] for each in "qkv")
            scores = np.exp(question @ key.T / math.sqrt(size) + near[:, :, head])
            heads.append(scores / scores.sum(axis=1, keepdims=True) @ value)
        taken = linear(np.concatenate(heads, axis=1), f"{layer}.attention.attn.o")
        states = norm(taken + states, tensors, f"{layer}.attention.LayerNorm")
        wide = linear(gelu(linear(states, f"{layer}.intermediate.dense")), f"{layer}.output.dense")
        states = norm(wide + states, tensors, f"{layer}.output.LayerNorm")
    return states


def run(folder: Path, weights: Weights, rows: list[list[int]]) -> list[Floats]:
    """The states of each row, of one padded batch."""
    path = folder / "model.onnx"
    with path.open("wb") as out:
        encoder(TINY, SHAPE, weights).save(out)
    width = max(map(len, rows))
    tokens = np.array([row + [1] * (width - len(row)) for row in rows])
    mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    session = onnxruntime.InferenceSession(path)
    (states,) = session.run(None, {"input_ids": tokens, "attention_mask": mask})
    return [state[: len(row)] for state, row in zip(states, rows, strict=True)]


def rows() -> list[list[int]]:
    """From one token to the longest input."""
    chance = np.random.default_rng(5)
    return [[0, *chance.integers(4, VOCABULARY, length - 2).tolist(), 2] for length in (2, 3, 9, 40, SHAPE.tokens)]


def test_the_graph_is_mpnet(tmp_path: Path) -> None:
    for found, row in zip(run(tmp_path, Exact(), rows()), rows(), strict=True):
        assert found == pytest.approx(forward(TINY, SHAPE, row), abs=2e-5)


def test_fewer_bits_keep_the_direction_and_a_row_does_not_depend_on_its_batch(tmp_path: Path) -> None:
    together = run(tmp_path, Quantised(), rows())
    for row, found in zip(rows(), together, strict=True):
        wanted, (alone,) = forward(TINY, SHAPE, row), run(tmp_path, Quantised(), [row])
        cosines = (found * wanted).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(wanted, axis=1)
        assert cosines.min() > 0.995
        assert found == pytest.approx(alone, abs=1e-4)


def test_distances_fall_into_the_published_buckets() -> None:
    table = buckets(384)

    assert table.shape == (384, 384)
    for at, to in ((0, 0), (383, 0), (0, 383), (100, 37), (37, 100)):
        assert table[at, to] == bucket(to - at)
    assert [int(table[distance, 0]) for distance in range(384)] == [bucket(-distance) for distance in range(384)]
    assert [int(table[0, distance]) for distance in range(384)] == [bucket(distance) for distance in range(384)]


@given(arrays.arrays(np.float32, (3, BLOCK), elements=st.floats(-1e4, 1e4, width=32)))
def test_eight_bits_are_never_off_by_more_than_half_a_step(values: Floats) -> None:
    codes, scales = eight_bits(values)

    off = np.abs(codes * scales.astype(np.float64) - values)
    assert (off <= scales * 0.501 + 1e-30).all()
    assert codes.min() >= -127


def test_the_same_tensors_make_the_same_bytes(tmp_path: Path) -> None:
    run(tmp_path, Quantised(), rows()[:1])
    first = (tmp_path / "model.onnx").read_bytes()
    run(tmp_path, Quantised(), rows()[:1])

    assert (tmp_path / "model.onnx").read_bytes() == first


def test_tensors_are_read_as_they_were_written(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(as_safetensors(TINY))

    found = read(tmp_path / "model.safetensors")

    assert found.keys() == TINY.keys()
    assert all((found[name] == TINY[name]).all() for name in TINY)
