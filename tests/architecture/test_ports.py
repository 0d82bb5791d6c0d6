"""Ports stay small, and no file imports itself through others."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (ROOT / "shared", *sorted((ROOT / "services").iterdir()), ROOT / "cli")
MOST_METHODS = 12
WHOLE_ENGINES = {"TextIndex", "VectorIndex"}
"""Protocols that combine several ports of one engine, for wiring; functions ask for the single ports."""


def modules() -> dict[str, Path]:
    return {
        ".".join(file.relative_to(base).with_suffix("").parts).removesuffix(".__init__"): file
        for base in PACKAGES
        for file in base.rglob("*.py")
    }


def imported(source: str, known: Mapping[str, object]) -> Iterator[str]:
    """Modules that this source imports, wherever the import is."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = (f"{node.module}.{each.name}" for each in node.names)
            yield from (name if name in known else node.module for name in names)


def circle(sources: Mapping[str, str]) -> list[str]:
    """The modules of one import cycle, or none."""
    graph = {name: {*imported(source, sources)} & sources.keys() - {name} for name, source in sources.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def protocols(*sources: str) -> dict[str, int]:
    """The number of methods of each Protocol in these sources, with inherited ones."""
    classes = {
        node.name: node for source in sources for node in ast.parse(source).body if isinstance(node, ast.ClassDef)
    }

    def methods(name: str) -> set[str]:
        node = classes.get(name)
        if node is None:
            return set()
        own = {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
        return own.union(*(methods(ast.unparse(base)) for base in node.bases))

    ports = (node for node in classes.values() if any("Protocol" in ast.unparse(base) for base in node.bases))
    return {node.name: len(methods(node.name)) for node in ports}


def too_wide(*sources: str) -> dict[str, int]:
    return {name: count for name, count in protocols(*sources).items() if count > MOST_METHODS}


def test_no_port_is_wider_than_one_can_remember() -> None:
    wide = too_wide(*(file.read_text() for name, file in modules().items() if name.startswith("openbrain.ports.")))

    assert wide.keys() <= WHOLE_ENGINES, "which two aggregates does it mix?"


def test_a_wide_port_is_found() -> None:
    half = "".join(f"    async def {{0}}{number}(self) -> None: ...\n" for number in range(MOST_METHODS // 2))
    narrow = f"class Narrow(Protocol):\n{half.format('a')}{half.format('b')}"
    inherits = "class Wide(Narrow, Protocol):\n    async def one_more(self) -> None: ...\n"

    assert too_wide(narrow) == {}
    assert too_wide(narrow, inherits) == {"Wide": MOST_METHODS + 1}


def test_no_file_needs_itself() -> None:
    assert circle({name: file.read_text() for name, file in modules().items()}) == []


@pytest.mark.parametrize("indent", ["", "    "], ids=["at the top", "within a function"])
def test_a_circle_is_found(indent: str) -> None:
    first = f"def f():\n    pass\n{'if True:' if indent else ''}\n{indent}from b import x\n"

    assert sorted({*circle({"a": first, "b": "import c", "c": "from a import f", "d": "import a"})}) == ["a", "b", "c"]
