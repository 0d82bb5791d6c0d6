"""Tests of the choice of mutants by seed, and of running them."""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from coverage import CoverageData

from tests.mutation.choose import applied, choose
from tests.mutation.copies import Copy
from tests.mutation.covering import Covered, node
from tests.mutation.kinds import KINDS, changes
from tests.mutation.run import tried

SOURCE = '''"""Words about a - b."""
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import a

class Port(Protocol):
    async def take(self, most: int = -1) -> None: ...

async def work(rows, limit, db, now):
    total = limit - 1  # - not here
    if rows and limit < 10:
        await db.open("é", rows[:3])
        await db.close()
    query = db.where(now > 5, limit).where(
        now,
    ).order_by(db.c.at.desc())
    _log.info("so many", count=total - 1)
    return sorted([-each for each in rows if each], key=min(rows, key=len)), "a" + limit, query
'''
MADE = [
    ("limit + 1  # - not here", "arithmetic"),
    ("[each for each", "arithmetic"),
    ("if rows or limit", "condition"),
    ("if (not (rows and limit < 10)):", "condition"),
    ("for each in rows if (not (each))]", "condition"),
    ("limit <= 10", "bound"),
    ("limit < 11", "bound"),
    ("now >= 5", "bound"),
    ("now > 6", "bound"),
    ("rows[:4]", "bound"),
    (".where(limit)", "condition"),
    (".where(now > 5)", "condition"),
    ("limit).order_by", "condition"),
    ("db.c.at.asc()", "order"),
    ("key=max(rows", "order"),
    ("key=len), reverse=True)", "order"),
    ('await db.close()\n        await db.open("é", rows[:3])\n', "order"),
    ("pass\n        await db.close()", "await"),
    ("rows[:3])\n        pass", "await"),
]


@pytest.mark.parametrize(("text", "kind"), MADE)
def test_each_way_to_break_a_program_is_found(text: str, kind: str) -> None:
    assert any(text in applied(SOURCE, each) for each in changes(SOURCE) if each.kind == kind)


def test_nothing_else_is_touched() -> None:
    assert len(list(changes(SOURCE))) == len(MADE)


def test_each_mutant_is_python() -> None:
    for each in changes(SOURCE):
        ast.parse(applied(SOURCE, each))


def test_a_statement_is_known_by_its_first_line_up_to_the_change() -> None:
    dropped = next(each for each in changes(SOURCE) if "limit).order_by" in applied(SOURCE, each))

    assert SOURCE.splitlines()[dropped.first - 1].strip().startswith("query =")
    assert dropped.first == dropped.line


def test_what_would_not_be_another_program_is_not_chosen() -> None:
    generator = "def of(rows):\n    return sorted(each for each in rows)\n"

    assert [each.kind for each in changes(generator)] == ["order"]
    assert choose({"shared/a.py": generator}, 1, 5) == []


def test_a_seed_stands_for_mutants_of_every_kind_and_of_one_a_file() -> None:
    files = {f"shared/file_{number}.py": SOURCE for number in range(12)}
    chosen = choose(files, 7, 10)

    assert chosen == choose(dict(reversed(files.items())), 7, 10)
    assert [each.id for each in chosen] != [each.id for each in choose(files, 8, 10)]
    assert len({each.path for each in chosen}) == 10
    kinds = [each.change.kind for each in chosen]
    assert all(kinds.count(kind) == 2 for kind in KINDS)
    assert all(each.id == f"{each.path}:{each.change.line}:{each.change.kind}" for each in chosen)
    assert all(f"+++ b/{each.path}" in each.diff for each in chosen)


@pytest.mark.parametrize(
    "context",
    ["tests/unit/test_a.py::test_it[a|b]|run", "tests/unit/test_a.py::test_it[a|b]", "tests.unit.test_a.test_it"],
)
def test_contexts_name_their_tests(tmp_path: Path, context: str) -> None:
    (tmp_path / "tests/unit").mkdir(parents=True)
    (tmp_path / "tests/unit/test_a.py").touch()

    assert node(tmp_path, context).removesuffix("[a|b]") == "tests/unit/test_a.py::test_it"
    assert node(tmp_path, "gone.test_a.test_it") == ""


def test_tests_are_chosen_by_the_line_then_the_file_then_the_name(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").touch()
    by_line: dict[int, list[str]] = {1: ["tests/t.py::test_a"], 2: ["", "tests/t.py::test_b"], 3: [""]}
    data = SimpleNamespace(measured_files=lambda: ["/x/shared/a.py"], contexts_by_lineno=lambda file: by_line)
    covered = Covered(tmp_path, cast("CoverageData", data))

    def covering(source: str) -> tuple[str, int]:
        found = covered.of(choose({"shared/a.py": source}, 1, 1)[0])
        return found.how, len(found.tests)

    assert covering("def f():\n    return a < b") == ("line", 1)
    assert covering("\nx = a < b") == ("file", 2)
    assert covering("def f():\n\n    return a < b") == ("file", 2)
    assert covering("\n\n\nx = a < b") == ("", 0)
    by_line.update({1: [], 2: []})
    assert covering("def f():\n\n    return a < b") == ("name", 1)


def test_the_tests_that_are_run_are_spread_over_files_or_are_the_quickest(tmp_path: Path) -> None:
    tests = [f"tests/{name}.py::test_{number}" for name in "ab" for number in range(20)]
    data = cast("CoverageData", None)
    spread = Covered(tmp_path, data).chosen(tests, 6, 7)

    assert sorted(each[6] for each in spread) == list("aaabbb")
    assert spread == Covered(tmp_path, data).chosen(reversed(tests), 6, 7)
    assert Covered(tmp_path, data, {tests[5]: 0.1, tests[30]: 0.01}).chosen(tests, 2, 7) == [tests[30], tests[5]]


@pytest.mark.parametrize(
    ("broken", "clean", "outcome"),
    [
        ((0, "2 passed"), None, "survived"),
        ((0, "2 skipped"), None, "unclear"),
        ((1, "FAILED tests/a.py::test_b[x - y] - assert 1"), 0, "caught"),
        ((1, "FAILED tests/a.py::test_b[x - y] - assert 1"), 1, "unclear"),
        ((None, ""), 0, "caught"),
    ],
)
def test_caught_is_what_fails_with_the_mutant_only(
    broken: tuple[int | None, str], clean: int | None, outcome: str
) -> None:
    mutant = choose({"shared/a.py": SOURCE}, 7, 1)[0]
    told = [broken, (clean, "")]
    written: list[str] = []
    copy = SimpleNamespace(write=lambda path, text: written.append(text), pytest=lambda words, limit: told.pop(0))

    assert tried(cast("Copy", copy), mutant, ["tests/a.py::test_b[x - y]"], 9)["outcome"] == outcome
    assert written == [mutant.after, mutant.before]
    assert len(told) == (clean is None)
