"""The image, run as a cluster would run it, without a container engine."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.servers.processes.probes import http_ok
from tests.servers.processes.process import Recipe
from tests.servers.steps import setting_of_pip
from tests.servers.tools.image_tools import buildah, description

NOBODY = 10001

# A separate mount namespace in which the image's tree is read-only, except /data and a /tmp in memory: what `read_only:
# true` and `readOnlyRootFilesystem: true` ask for. Each step replaces the process by the next one, so signals arrive.
_CONFINE = """
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
mount -t tmpfs tmpfs "$1/tmp"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --bind "$2" "$1/data"
root=$1
shift 2
exec chroot --userspec=10001:10001 --groups= "$root" setpriv --no-new-privs env -i "$@"
"""


@dataclass(frozen=True)
class Image:
    """A container of an image, not started; its file tree is at `root`."""

    name: str
    root: Path
    environment: tuple[str, ...]

    def confined(self, data: Path, *command: str, settings: Sequence[str] = ()) -> list[str]:
        """Return a command line that runs `command` as the image's user on a read-only root, with `data` at /data."""
        os.chown(data, NOBODY, NOBODY)
        jail = ["unshare", "--mount", "sh", "-ec", _CONFINE, "sh", str(self.root), str(data)]
        return [*jail, *self.environment, *settings, *command]

    def everything(self) -> Recipe:
        """Return the recipe of `openbrain up` in the image."""
        return Recipe(
            name="image",
            url="http://127.0.0.1:{port}",
            command=lambda port, data: self.confined(data, "openbrain", "up", "--port", str(port)),
            answers=lambda port: http_ok(port, "/ready"),
        )


def started(image: str) -> Image:
    """Make a container; remove it with `buildah rm`."""
    name = buildah("from", "--pull-never", image)
    return Image(name, Path(buildah("mount", name)), tuple(description(image)["config"].get("Env", ())))


def reaching_the_index() -> list[str]:
    """Return the build options needed to reach a package index from this machine: certificates and address, if pip has
    them."""
    options: list[str] = []
    bundle = setting_of_pip("cert")
    if bundle is not None and Path(bundle).exists():
        options += ["--build-arg", f"PIP_CERT={bundle}", "--volume", f"{bundle}:{bundle}:ro"]
    index = setting_of_pip("index-url")
    return options if index is None else [*options, "--build-arg", f"PIP_INDEX_URL={index}"]


def megabytes(folder: Path) -> int:
    """Return the total size of the files below a folder, in MB."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()) // 1_000_000
