"""docs/reference/logs.md names every event that the code logs, with its place, level and fields."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from openbrain.observability import logs

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "logs.md").read_text(encoding="utf-8")
NAME = re.compile(r"[a-z]+\.[a-z]+(_[a-z]+)*")
CODE = sorted(path for service in ("shared", "services", "cli") for path in (ROOT / service).rglob("*.py"))


class Said(NamedTuple):
    """An event: level, modules, fields."""

    level: str
    modules: tuple[str, ...]
    fields: tuple[str, ...]


class Call(NamedTuple):
    """One call of a logger."""

    place: str
    level: str
    event: ast.expr | None
    fields: tuple[str | None, ...]


def module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[2 if parts[0] == "services" else 1 :]).removesuffix(".__init__")


@cache
def nodes() -> dict[Path, list[ast.AST]]:
    """Every AST node of every module that has a logger."""
    sources = {path: path.read_text(encoding="utf-8") for path in CODE}
    return {path: list(ast.walk(ast.parse(source))) for path, source in sources.items() if "get_logger" in source}


def calls() -> Iterator[Call]:
    """Every call of a logger, whatever name the logger has there."""
    for path, found in nodes().items():
        loggers = {
            target.id
            for node in found
            if isinstance(node, ast.Assign) and "get_logger" in ast.unparse(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in found:
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id in loggers
            ):
                fields = tuple(keyword.arg for keyword in node.keywords)
                yield Call(module(path), node.func.attr, node.args[0] if len(node.args) == 1 else None, fields)


def said() -> dict[str, Said]:
    found: dict[str, list[Call]] = defaultdict(list)
    for call in calls():
        assert isinstance(call.event, ast.Constant), f"{call.place}: an event is one constant string"
        found[str(call.event.value)].append(call)
    for event, each in found.items():
        assert len({(call.level, call.fields) for call in each}) == 1, f"{event} is not said alike everywhere"
    return {
        event: Said(
            each[0].level, tuple(sorted({call.place for call in each})), tuple(str(field) for field in each[0].fields)
        )
        for event, each in found.items()
    }


def told() -> dict[str, Said]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if "|" in line]
    return {
        row[0].strip("`"): Said(row[1], tuple(re.findall(r"`([\w.]+)`", row[2])), tuple(re.findall(r"`(\w+)`", row[3])))
        for row in rows
        if NAME.fullmatch(row[0].strip("`")) and len(row) == 5
    }


def test_every_event_is_named_in_one_style() -> None:
    assert [event for event in said() if not NAME.fullmatch(event)] == []


def test_every_event_is_told_and_nothing_else() -> None:
    documented = told()
    general = documented.pop(logs.LIBRARY)

    assert documented == said()
    assert general.modules == ("openbrain.observability.logs",)


def test_loggers_are_made_alike() -> None:
    """Loggers are named by their module, so that a log line shows where it comes from."""
    makers = {
        ast.unparse(node)
        for found in nodes().values()
        for node in found
        if isinstance(node, ast.Assign) and "get_logger" in ast.unparse(node.value)
    }

    assert makers == {"_log = structlog.get_logger(__name__)", "_log = event_log.get_logger(__name__)"}


def test_nobody_speaks_past_structlog() -> None:
    speakers = {
        module(path)
        for path in CODE
        if re.search(r"logging\.(getLogger|debug|info|warning|error|basicConfig)\(|warnings\.warn\(", path.read_text())
    }

    assert speakers == {"openbrain.observability.logs", "openbrain.client.event_log"}
