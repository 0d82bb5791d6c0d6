"""Makes the base image from Debian's packages."""

import shutil
from pathlib import Path

from tests.servers.places import program
from tests.servers.steps import Step
from tests.servers.tools import image_tools

_PACKAGES = "python3,python3-venv,ca-certificates"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def make_base(step: Step) -> None:
    """Install a small Debian into a folder and make an image of it, once."""
    if image_tools.STAMP.exists():
        return
    step.say(f"making a base image of Debian {image_tools.SUITE} (some minutes)")
    shutil.rmtree(image_tools.FOLDER, ignore_errors=True)
    tree = image_tools.FOLDER / "tree"
    tree.mkdir(parents=True)
    options = ["--variant=minbase", f"--include={_PACKAGES}"]
    step.run([str(program("debootstrap")), *options, image_tools.SUITE, str(tree)])
    for leftover in (*tree.glob("var/cache/apt/archives/*.deb"), *tree.glob("var/lib/apt/lists/*_*")):
        leftover.unlink()
    _commit(tree, step)
    shutil.rmtree(tree)


def _commit(tree: Path, step: Step) -> None:
    driver = image_tools.driver()
    # An archive preserves owners, modes and links.
    archive = tree.with_suffix(".tar")
    step.run(["tar", "--directory", str(tree), "--exclude=./dev/*", "--create", "--file", str(archive), "."])
    container = image_tools.buildah("from", "scratch")
    for arguments in (
        ("add", "--quiet", container, str(archive), "/"),
        ("config", "--env", f"PATH={_PATH}", container),
        ("commit", "--quiet", "--rm", container, image_tools.BASE),
    ):
        step.run(image_tools.command(*arguments), image_tools.environment())
    archive.unlink()
    image_tools.STAMP.write_text(driver)
