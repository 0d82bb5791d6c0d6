"""The rules of the house that a reader could not check by eye."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = sorted(
    path
    for folder in ("shared", "services", "cli", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
    if "__pycache__" not in path.parts
)
MAX_LINES = 400
MAX_MEDIAN = 120


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_file_is_longer_than_one_can_read() -> None:
    long = {str(path.relative_to(ROOT)): lines(path) for path in CODE if lines(path) > MAX_LINES}

    assert long == {}, "which two things live in it?"


def test_most_files_are_short() -> None:
    sizes = sorted(lines(path) for path in CODE if path.name != "__init__.py")

    assert sizes[len(sizes) // 2] <= MAX_MEDIAN


def test_import_directions_hold() -> None:
    """Layers, independence of services, handlers that know no broker: the contracts stand in pyproject.toml."""
    result = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stdout


def test_only_settings_read_the_environment() -> None:
    readers = {
        str(path.relative_to(ROOT))
        for path in CODE
        if path.parts[len(ROOT.parts)] in {"shared", "services", "cli"}
        and any(word in path.read_text(encoding="utf-8") for word in ("os.environ", "os.getenv", "getenv("))
    }

    assert readers <= {"cli/openbrain_cli/profile.py"}


def test_nothing_connects_at_import() -> None:
    """Every module of ours imports in a process that has no network and no settings."""
    modules = [
        ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
        for base in [ROOT / "shared", *sorted((ROOT / "services").iterdir()), ROOT / "cli"]
        if base.is_dir()
        for path in sorted(base.rglob("*.py"))
        if "migrations" not in path.parts
    ]
    program = (
        "import socket, importlib, sys\n"
        "def refuse(*a, **k): raise AssertionError('a module connects at import')\n"
        "socket.socket.connect = refuse\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, *modules], capture_output=True, text=True, check=False, env={"HOME": "/nowhere"}
    )

    assert result.returncode == 0, result.stderr
