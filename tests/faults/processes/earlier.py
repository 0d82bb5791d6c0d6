"""An earlier version from the git history of this checkout, run with the current interpreter and libraries."""

import io
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.servers.places import ROOT

COMMIT = "02a00a53"
"""Three schema migrations behind; one of the three adds a generated column."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A folder with the files of the earlier version."""

    root: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment in which its packages take precedence over the installed ones."""
        packages = ("cli", "shared", *(f"services/{each.name}" for each in sorted((self.root / "services").iterdir())))
        return {"PYTHONPATH": ":".join(str(self.root / each) for each in packages)}

    def does(self, code: str, *arguments: str) -> str:
        """Run Python code in it; return what it prints."""
        line = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(
            line, cwd=self.root, env=dict(self.environment), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def earlier(folder: Path) -> Earlier | None:
    """Unpack the earlier version; None if the commit is not available (a shallow clone, or no clone)."""
    packed = subprocess.run(["git", "archive", COMMIT], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode:
        return None
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4 and later
        archive.extractall(folder)
    return Earlier(folder)
