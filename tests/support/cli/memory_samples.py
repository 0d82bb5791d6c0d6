"""Lays the sample memory files out as on a user's machine."""

import shutil
import sys
from pathlib import Path

from openbrain_cli.importers.locations.scanning import Homes

SAMPLES = Path(__file__).parents[2] / "samples" / "memories" / "home"


def copy_samples(samples: Path, target: Path) -> None:
    """Copy a folder of samples, each under its name on a user's machine."""
    for source in sorted(samples.rglob("*")):
        if source.is_file():
            named = [f".{part[4:]}" if part.startswith("dot-") else part for part in source.relative_to(samples).parts]
            path = target.joinpath(*named)
            path = path.with_name(path.name.removesuffix(".sample"))
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)


def lay_out(target: Path) -> Path:
    """Copy the samples to `target`, a home folder; `src/shop` in it becomes a git checkout."""
    copy_samples(SAMPLES, target)
    git = target / "src" / "shop" / ".git"
    git.mkdir(exist_ok=True)
    (git / "config").write_text('[remote "origin"]\n\turl = git@git.example.org:acme/shop.git\n', encoding="utf-8")
    return target


def homes(home: Path) -> Homes:
    """Return homes whose current folder is the shop's checkout."""
    return Homes(home=home, claude=home / ".claude", here=home / "src" / "shop")


if __name__ == "__main__":
    print(lay_out(Path(sys.argv[1])))  # noqa: T201 - run by hand
