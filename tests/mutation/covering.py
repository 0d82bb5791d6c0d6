"""Which tests run a mutated line, from coverage data that records the tests of each line."""

import hashlib
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path, PurePath

from coverage import CoverageData

from tests.mutation.choose import Mutant


@dataclass(frozen=True, slots=True)
class Covering:
    """`how`: the way the tests were found: by line, by file (the line runs at import), by name, by hand; '' if not
    covered."""

    how: str
    tests: tuple[str, ...] = ()


@dataclass(slots=True)
class Covered:
    """Coverage data of a tree."""

    tree: Path
    data: CoverageData
    durations: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_contexts(self) -> bool:
        return bool(self.data.measured_contexts() - {""})

    def of(self, mutant: Mutant) -> Covering:
        """Return the tests of a mutant. Measured files may have the path of any checkout: only the end of the path is
        compared."""
        lines: dict[int, set[str]] = {}
        for file in self.data.measured_files():
            if file == mutant.path or file.endswith(f"/{mutant.path}"):
                for line, contexts in self.data.contexts_by_lineno(file).items():
                    lines.setdefault(line, set()).update(contexts)
        here = [contexts for line, contexts in lines.items() if mutant.change.first <= line <= mutant.change.line]
        if not here:
            return Covering("")
        # A line that runs at import is recorded for the first test only.
        if mutant.change.inside and (tests := self._tests(chain(*here))):
            return Covering("line", tests)
        if tests := self._tests(chain(*lines.values())):
            return Covering("file", tests)
        return Covering("name", named(self.tree, mutant.path))

    def _tests(self, contexts: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted({test for each in contexts if each and (test := node(self.tree, each))}))

    def chosen(self, tests: Iterable[str], most: int, seed: int) -> list[str]:
        """Return the fastest tests if durations are known; otherwise a seeded choice that takes from each file in
        turn."""
        if self.durations:
            return sorted(tests, key=lambda test: (self.durations.get(test, 1.0), test))[:most]
        files: dict[str, list[str]] = {}
        for test in sorted(tests, key=lambda test: hashlib.sha256(f"{seed}|{test}".encode()).digest()):
            files.setdefault(test.partition("::")[0], []).append(test)
        return [test for test in chain(*zip_longest(*files.values())) if test][:most]


def node(tree: Path, context: str) -> str:
    """Return pytest's node id of a context: `a/test_b.py::test_c|run` (pytest-cov), or `a.test_b.test_c` (coverage)."""
    if "::" in context:
        head, _, phase = context.rpartition("|")
        return head if phase in {"setup", "run", "teardown"} else context
    parts = context.split(".")
    for end in range(len(parts), 0, -1):
        path = PurePath(*parts[:end]).with_suffix(".py")
        if (tree / path).is_file():
            return "::".join([str(path), *parts[end:]])
    return ""


def named(tree: Path, path: str) -> tuple[str, ...]:
    """Return test files that are named after the module."""
    file = PurePath(path)
    stem = file.parent.name if file.stem == "__init__" else file.stem
    found = sorted((tree / "tests").rglob(f"test_*{stem.strip('_')}*.py"))
    return tuple(each.relative_to(tree).as_posix() for each in found)


def durations(tree: Path, junit: Path) -> dict[str, float]:
    """Return the seconds of each test, from the file that `pytest --junitxml` wrote."""
    cases = ET.parse(junit).iter("testcase")
    return {
        f"{node(tree, each.get('classname', ''))}::{each.get('name')}": float(each.get("time", 0)) for each in cases
    }
