"""Writes an ONNX model: the few messages of its protobuf that a graph of ours needs, so that no library is.

The same calls make the same bytes on every machine; the file's sha256 can be known beforehand.
"""

import struct
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

IR_VERSION = 9
OPSET = 20
"""As onnxruntime reads them since 1.17."""
MICROSOFT = "com.microsoft"
FLOAT, INT64 = 1, 7

_TENSOR_TYPES = {"float32": FLOAT, "uint8": 2, "int8": 3, "int32": 6, "int64": INT64}
_VARINT, _BYTES, _FIXED32 = 0, 2, 5
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT, _ATTRIBUTE_INTS = 1, 2, 7

Attribute = float | int | Sequence[int]


class OnnxFile:
    """A graph under construction. What is added is named by strings, as ONNX does it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[bytes] = []
        self._weights: list[bytes] = []
        self._ends: list[bytes] = []

    def input(self, name: str, kind: int, *axes: str | int) -> str:
        """Something that a run is given; an axis is a length, or a name where it may have any."""
        self._ends.append(_message(11, _value(name, kind, axes)))
        return name

    def output(self, name: str, kind: int, *axes: str | int) -> None:
        """What a run gives: the result of that name."""
        self._ends.append(_message(12, _value(name, kind, axes)))

    def weight(self, name: str, values: "NDArray[Any]") -> str:
        """A constant. Its bytes are copied now, so the array may go."""
        little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
        dims = b"".join(_number(1, length) for length in values.shape)
        tensor = dims + _number(2, _TENSOR_TYPES[values.dtype.name]) + _text(8, name) + _message(9, little.tobytes())
        self._weights.append(_message(5, tensor))
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """One operation; gives the name of its result."""
        name = f"{kind}_{len(self._nodes)}"
        body = b"".join(
            (
                *(_text(1, item) for item in inputs),
                _text(2, name),
                _text(3, name),
                _text(4, kind),
                *(_message(5, _attribute(key, value)) for key, value in attributes.items()),
                _text(7, domain),
            )
        )
        self._nodes.append(_message(1, body))
        return name

    def save(self, file: BinaryIO) -> None:
        """Write all of it."""
        file.writelines(self._parts())

    def _parts(self) -> Iterator[bytes]:
        graph = (*self._nodes, _text(2, self._name), *self._weights, *self._ends)
        opsets = (_text(1, domain) + _number(2, version) for domain, version in (("", OPSET), (MICROSOFT, 1)))
        yield _number(1, IR_VERSION) + _text(2, "openbrain")
        yield _key(7, _BYTES) + _varint(sum(map(len, graph)))
        yield from chain(graph, (_message(8, opset) for opset in opsets))


def _value(name: str, kind: int, axes: Sequence[str | int]) -> bytes:
    dims = (_text(2, axis) if isinstance(axis, str) else _number(1, axis) for axis in axes)
    tensor = _number(1, kind) + _message(2, b"".join(_message(1, dim) for dim in dims))
    return _text(1, name) + _message(2, _message(1, tensor))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + _key(2, _FIXED32) + struct.pack("<f", value) + _number(20, _ATTRIBUTE_FLOAT)
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, _ATTRIBUTE_INT)
    return _text(1, name) + b"".join(_number(8, item) for item in value) + _number(20, _ATTRIBUTE_INTS)


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _message(field: int, body: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(body)) + body


def _number(field: int, value: int) -> bytes:
    return _key(field, _VARINT) + _varint(value % (1 << 64))


def _key(field: int, wire: int) -> bytes:
    return _varint(field << 3 | wire)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes((value,))
