"""The project's rules that a reader could not check by eye."""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = sorted(
    path
    for folder in ("shared", "services", "cli", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
    if "__pycache__" not in path.parts
)
PRODUCT = [path for path in CODE if path.relative_to(ROOT).parts[0] in {"shared", "services", "cli"}]
MAX_LINES = 400
MAX_MEDIAN = 120
MAX_SIBLINGS = 12
MIN_LINES = 25
FACES = {"__init__.py", "README.md", "py.typed", "__pycache__", "migrations"}
CROWDED = {
    "shared/openbrain/streams/redis/lua": "one script a change of a consumer group, each loaded by its name",
    "tests": "one folder a kind of proof, as CONTRIBUTING.md names them",
}
SMALL = {
    "shared/openbrain/domain/version.py": "read by the build",
    "shared/openbrain/adapters/local": "one file an adapter",
    "shared/openbrain/adapters/indexes": "what engines have in common, each part used by some of them",
    "shared/openbrain/adapters/embedding/unit_vectors.py": "used by every embedder",
    "shared/openbrain/domain/access/permissions.py": "the words of keys, asked for by every route",
    "shared/openbrain/streams/redis": "names and ids, which every part of the streams needs and none owns",
    "shared/openbrain/vault/limits.py": "the numbers of a whole package",
    "shared/openbrain/vault/markers/kinds.py": "between the tick and what is posted",
    "services/api/openbrain_api/recall/boost.py": "one rule of the order",
    "cli/openbrain_cli": "a command, or a kind of file to import, each by itself",
}
"""A file, or a folder with files, that may be this small, and why."""


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def crowded(folders: Iterable[Path]) -> dict[Path, int]:
    """Folders with more entries than a reader can take in at once. `FACES` (a package's public file, its migrations)
    do not count."""
    counts = {folder: sum(entry.name not in FACES for entry in folder.iterdir()) for folder in folders}
    return {folder: count for folder, count in counts.items() if count > MAX_SIBLINGS}


def small(paths: Iterable[Path]) -> set[Path]:
    return {path for path in paths if path.name != "__init__.py" and lines(path) < MIN_LINES}


def test_no_file_is_longer_than_one_can_read() -> None:
    long = {str(path.relative_to(ROOT)): lines(path) for path in CODE if lines(path) > MAX_LINES}

    assert long == {}, "which two subjects does it mix?"


def test_most_files_are_short() -> None:
    sizes = sorted(lines(path) for path in CODE if path.name != "__init__.py")

    assert sizes[len(sizes) // 2] <= MAX_MEDIAN


def test_no_folder_is_crowded() -> None:
    code = [path for path in CODE if "versions" not in path.parts]
    folders = {parent for path in code for parent in path.parents if parent.is_relative_to(ROOT) and parent != ROOT}
    lua = {path.parent for path in (ROOT / "shared").rglob("*.lua")}
    found = {str(folder.relative_to(ROOT)) for folder in crowded(folders | lua)}

    assert found == CROWDED.keys(), "which of its files belong together? An exception needs a reason and a cause"


def test_no_file_is_a_crumb() -> None:
    found = {
        path.relative_to(ROOT)
        for path in small(PRODUCT)
        if not path.is_relative_to(ROOT / "shared/openbrain/ports") and "migrations" not in path.parts
    }
    excused = {name: [path for path in found if path.is_relative_to(name)] for name in SMALL}

    assert found == {path for paths in excused.values() for path in paths}, "which file does it belong to?"
    assert [name for name, paths in excused.items() if not paths] == [], "an exception that nothing needs"


def test_a_crowd_and_a_crumb_are_found(tmp_path: Path) -> None:
    for number in range(MAX_SIBLINGS):
        (tmp_path / f"file{number}.py").write_text("x = 1\n" * MIN_LINES)
    (tmp_path / "__init__.py").touch()
    assert (crowded([tmp_path]), small(tmp_path.iterdir())) == ({}, set())

    (tmp_path / "crumb.py").write_text("x = 1\n")
    assert (crowded([tmp_path]), small(tmp_path.iterdir())) == (
        {tmp_path: MAX_SIBLINGS + 1},
        {tmp_path / "crumb.py"},
    )


PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "services").glob("*/README.md")),
]


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_path_of_the_map_is_there(name: str) -> None:
    """Paths on these pages are either complete, or the end of a path in the tree."""
    named = set(re.findall(r"`([\w./]*/[\w./]*)`", (ROOT / name).read_text(encoding="utf-8")))
    tree = {
        f"/{path.relative_to(ROOT)}{'/' if path.is_dir() else ''}"
        for base in ("shared", "services", "cli", "tests", "benchmarks", "docs", "deploy", "clients")
        for path in [ROOT / base, *(ROOT / base).rglob("*")]
    }
    lost = {path for path in named if path[0] not in "/." and not any(known.endswith(f"/{path}") for known in tree)}

    assert len(named) > 10
    assert lost == set()


def test_every_link_of_a_page_leads_to_a_file() -> None:
    links = {
        (str(page.relative_to(ROOT)), target)
        for page in PAGES
        for target in re.findall(r"\]\(([^)\s#]+)", page.read_text(encoding="utf-8"))
        if ":" not in target
    }
    lost = {(page, target) for page, target in links if not ((ROOT / page).parent / target).exists()}

    assert len(links) > 100
    assert lost == set()


def test_every_benchmark_is_on_its_page_and_no_other() -> None:
    modules = (ROOT / "benchmarks/run.py").read_text(encoding="utf-8").partition("MODULES = (")[2].partition(")")[0]
    names = {name.rpartition(".")[2] for name in re.findall(r'"([\w.]+)"', modules)}
    page = (ROOT / "benchmarks/README.md").read_text(encoding="utf-8")

    assert names == set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))


def test_only_settings_read_the_environment() -> None:
    readers = {
        str(path.relative_to(ROOT))
        for path in CODE
        if path.parts[len(ROOT.parts)] in {"shared", "services", "cli"}
        and any(word in path.read_text(encoding="utf-8") for word in ("os.environ", "os.getenv", "getenv("))
    }

    # The command sets numpy's number of threads before anything is imported.
    assert readers <= {"cli/openbrain_cli/profile.py", "cli/openbrain_cli/__init__.py"}


@pytest.mark.slow("some hundred modules, and every library that they import")
def test_nothing_connects_at_import() -> None:
    """Every module of ours can be imported in a process without network and settings."""
    modules = [
        ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
        for base in [ROOT / "shared", *sorted((ROOT / "services").iterdir()), ROOT / "cli"]
        if base.is_dir()
        for path in sorted(base.rglob("*.py"))
        if "migrations" not in path.parts
    ]
    program = (
        "import gc, socket, importlib, sys\n"
        "gc.disable()\n"
        "def refuse(*a, **k): raise AssertionError('a module connects at import')\n"
        "socket.socket.connect = refuse\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, *modules], capture_output=True, text=True, check=False, env={"HOME": "/nowhere"}
    )

    assert result.returncode == 0, result.stderr
