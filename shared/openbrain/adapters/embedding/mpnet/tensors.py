"""Reads a file of safetensors: a length, a header in JSON, then the numbers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KINDS = {"F32": "<f4", "I64": "<i8"}


def read(path: Path) -> Mapping[str, "NDArray[Any]"]:
    """The tensors by name, mapped from the file: what is not looked at takes no memory."""
    whole = np.memmap(path, np.uint8, "r")
    start = 8 + int.from_bytes(whole[:8].tobytes(), "little")
    header = json.loads(whole[8:start].tobytes())
    found: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            part = whole[start + begin : start + end]
            found[name] = part.view(_KINDS[entry["dtype"]]).reshape(entry["shape"])
    return found
