"""A copy of the tree with its own Python environment, in which a mutant can be run without touching the checkout."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.choose import ROOMS

LEFT_OUT = (".venv", ".git", ".servers", ".openbrain", "__pycache__", ".*_cache", ".hypothesis", ".coverage*")
PACKAGES = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
GRACE_S = 20
"""Seconds for pytest to end its servers after an interrupt."""


@dataclass(frozen=True, slots=True)
class Copy:
    """`base` holds the tree, and next to it the temporary files of its tests."""

    base: Path

    @property
    def tree(self) -> Path:
        return self.base / "tree"

    @property
    def python(self) -> Path:
        return self.tree / ".venv/bin/python"

    def write(self, path: str, text: str) -> None:
        """Replace a file and remove its compiled code: a mutant may have the same size and time stamp as the
        original."""
        file = self.tree / path
        file.write_text(text, encoding="utf-8")
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            compiled.unlink()

    def pytest(self, words: Sequence[str], limit_s: float | None = None, shown: bool = False) -> tuple[int | None, str]:
        """Run pytest; return exit code and output. The code is None if the time limit ended it. All processes that it
        started end."""
        own = {"TMPDIR": str(self.base / "tmp"), "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": ""}
        command = [str(self.python), "-m", "pytest", "-p", "no:cacheprovider", "--no-header", *words]
        with (self.base / "out").open("w+b") as out:
            said = None if shown else out
            running = subprocess.Popen(
                command, cwd=self.tree, env={**os.environ, **own}, stdout=said, stderr=said, start_new_session=True
            )
            try:
                code: int | None = running.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
                running.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    running.wait(GRACE_S)
            finally:
                self._end()
                running.wait()
            out.seek(0)
            return code, out.read().decode(errors="replace")

    def _end(self) -> None:
        """Kill every process that was started in the copy: by one of its programs, or with its temporary folder."""
        base = os.fsencode(self.base)
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                program, environment = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
                if program.startswith(base + b"/") or b"TMPDIR=" + base + b"/" in environment:
                    os.kill(int(process.name), signal.SIGKILL)


@contextmanager
def copied(source: Path) -> Iterator[Copy]:
    """Copy a tree; the copy is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="mutants.", ignore_cleanup_errors=True) as folder:
        copy = Copy(Path(folder).resolve())
        (copy.base / "tmp").mkdir()
        shutil.copytree(source, copy.tree, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        if (source / ".servers").exists():
            (copy.tree / ".servers").symlink_to((source / ".servers").resolve())
        own = source / ".venv"
        _environment(own if own.exists() else Path(sys.prefix), copy.tree)
        _verify(copy)
        yield copy


def _environment(own: Path, tree: Path) -> None:
    """Make a .venv of symbolic links, but with the editable install and the scripts of the copy.

    PYTHONPATH is not sufficient: many tests start `openbrain` with an empty environment.
    """
    made = tree / ".venv"
    packages = made / PACKAGES
    packages.mkdir(parents=True)
    (made / "bin").mkdir()
    shutil.copy(own / "pyvenv.cfg", made)
    for package in (own / PACKAGES).iterdir():
        if package.suffix == ".pth" and "openbrain" in package.name:
            roots = [tree / "shared", tree / "cli", *sorted((tree / "services").iterdir())]
            (packages / package.name).write_text("\n".join(map(str, roots)), encoding="utf-8")
        elif package.name != "__pycache__":
            (packages / package.name).symlink_to(package)
    for script in (own / "bin").iterdir():
        text = script.read_bytes()[:2] == b"#!" and script.read_text(encoding="utf-8")
        if text and f"#!{own}/bin/python" in text:
            (made / "bin" / script.name).write_text(text.replace(f"#!{own}/", f"#!{made}/", 1), encoding="utf-8")
            (made / "bin" / script.name).chmod(0o755)
        else:
            (made / "bin" / script.name).symlink_to(script)


def _verify(copy: Copy) -> None:
    """Check that every package of the product is imported from the copy, also in an empty environment; otherwise the
    results would be wrong."""
    packages = [path.parent for service in ROOMS for path in (copy.tree / service).glob("**/openbrain*/__init__.py")]
    names = [path.name for path in packages]
    program = "import importlib, sys\nfor name in sys.argv[1:]: print(importlib.import_module(name).__file__)"
    command = [str(copy.python), "-c", program, *names]
    done = subprocess.run(command, cwd="/", env={}, capture_output=True, text=True, check=True)
    wrong = [line for line in done.stdout.splitlines() if not line.startswith(f"{copy.tree}/")]
    shebang = (copy.tree / ".venv/bin/openbrain").read_text(encoding="utf-8").splitlines()[0]
    if wrong or "openbrain" not in names or shebang != f"#!{copy.python}":
        raise RuntimeError(f"the copy would test another checkout: {wrong or shebang}")
