"""buildah and a base image: they build the Dockerfile without a container engine or a registry."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.servers.availability import Available, Missing, State
from tests.servers.places import HOME

SUITE = "bookworm"
BASE = f"localhost/openbrain-base-{SUITE}"
FOLDER = HOME / "image"
STAMP = FOLDER / "stamp"

# Build steps are cached for the next build; above this number, steps that no image uses are removed. With vfs, each
# step is a copy of the whole tree.
_KEPT = {"overlay": 400, "vfs": 120}


def state() -> State:
    if os.geteuid() != 0:
        return Missing("building an image without a container engine needs root")
    if not (STAMP.exists() and shutil.which("buildah")):
        return Missing("no buildah with a base image here: run `make servers` as root (takes some minutes once)")
    return Available(SUITE)


def driver() -> str:
    """Return the storage driver: vfs, which copies whole trees, if the file system can't be overlaid."""
    if STAMP.exists():
        return STAMP.read_text()
    tried = subprocess.run(_buildah("overlay", "info"), env=environment(), capture_output=True, check=False)
    return "vfs" if tried.returncode else "overlay"


def environment() -> dict[str, str]:
    """Return the environment: steps run in a plain chroot, which works in containers and virtual machines alike."""
    return {**os.environ, "BUILDAH_ISOLATION": "chroot"}


def command(*arguments: str) -> list[str]:
    return _buildah(driver(), *arguments)


def buildah(*arguments: str, cwd: Path | None = None) -> str:
    """Run buildah on our own storage and return what it prints; if it fails, the error has its output."""
    done = subprocess.run(command(*arguments), env=environment(), cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"buildah {arguments[0]} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}"
        )
    return done.stdout.strip()


def build(source: Path, name: str, *options: str) -> None:
    """Build the Dockerfile in `source`; steps with unchanged inputs come from the cache."""
    if len(buildah("images", "--all", "--quiet").split()) > _KEPT[driver()]:
        buildah("rmi", "--prune", "--force")
    buildah(
        "build", "--layers", "--pull-never", "--build-arg", f"BASE={BASE}", *options, "--tag", name, ".", cwd=source
    )


def description(name: str) -> dict[str, Any]:
    """Return the image's metadata: `config`, `history` and so on."""
    found: dict[str, Any] = json.loads(buildah("inspect", "--type", "image", name))["OCIv1"]
    return found


def _buildah(driver: str, *arguments: str) -> list[str]:
    storage = ["--root", str(FOLDER / "storage"), "--runroot", str(FOLDER / "run"), "--storage-driver", driver]
    return [shutil.which("buildah") or "buildah", *storage, *arguments]
