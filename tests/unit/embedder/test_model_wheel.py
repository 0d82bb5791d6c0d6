"""The wheel of the higher-quality model: built from one verified file, and found where it is installed."""

import base64
import hashlib
import runpy
import zipfile
from pathlib import Path
from typing import Any

import pytest

from openbrain.adapters.embedding import bge
from openbrain.adapters.embedding.onnx_sentences import check_weights
from openbrain.domain.errors import SetupError

MAKER: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[3] / "deploy" / "make_model_wheel.py"))
MODEL = b"no model, but bytes"
SHA256 = hashlib.sha256(MODEL).hexdigest()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "model.jar"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr(MAKER["INSIDE"], MODEL)
        out.writestr("Other.class", b"code")
    return path


def test_script_and_adapter_speak_of_one_file() -> None:
    assert MAKER["SHA256"] == bge.WEIGHTS_SHA256
    assert f"{MAKER['NAME']}/model.onnx" == bge.WEIGHTS
    assert MAKER["NAME"].replace("_", "-") == bge.PACKAGE


def test_the_wheel_holds_the_weights_their_licence_and_no_code(archive: Path, tmp_path: Path) -> None:
    wheel = MAKER["build"](MAKER["weights"](archive, SHA256), tmp_path / "dist")
    with zipfile.ZipFile(wheel) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}

    about = f"{MAKER['NAME']}-{MAKER['VERSION']}.dist-info"
    assert set(files) == {
        bge.WEIGHTS,
        *(f"{about}/{name}" for name in ("METADATA", "WHEEL", "licenses/LICENSE", "RECORD")),
    }
    assert files[bge.WEIGHTS] == MODEL
    assert b"Permission is hereby granted" in files[f"{about}/licenses/LICENSE"]
    for line in files[f"{about}/RECORD"].decode().splitlines()[:-1]:
        name, digest, size = line.split(",")
        sha256 = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).decode().rstrip("=")
        assert (digest, int(size)) == (f"sha256={sha256}", len(files[name]))


def test_another_file_or_archive_is_refused(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="does not have the expected sha256"):
        MAKER["weights"](archive)
    (tmp_path / "text.jar").write_text("no zip")
    with pytest.raises(SystemExit, match="is not an archive with"):
        MAKER["weights"](tmp_path / "text.jar")


def test_installed_it_is_found_and_another_file_in_its_place_is_not_run(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SetupError, match=r"is not installed: .*quality-profile\.md"):
        bge.installed_weights()
    with zipfile.ZipFile(MAKER["build"](MAKER["weights"](archive, SHA256), tmp_path)) as opened:
        opened.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    assert bge.installed_weights() == tmp_path / "site" / bge.WEIGHTS
    with pytest.raises(SetupError, match="is not the model that was checked"):
        check_weights(bge.installed_weights(), bge.KIND.identity.digest, bge.KIND.remedy)
