"""Workflow templates: how a hot arc's session went, step by step, so that it can be done again. Read, never run."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from openbrain.vault.changes import Change, sha256
from openbrain.vault.front_matter import Page, read
from openbrain.vault.redaction import quotable_line
from openbrain.vault.transcripts import Record

HEADING: Final = "## Workflow Template"
LEAST_HEAT: Final = 4
LEAST_STEPS: Final = 3
MOST_STEPS: Final = 30
PARAMS_CHARS: Final = 120
_READING = frozenset({"Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "NotebookRead", "TodoRead", "ToolSearch"})
_TELLING = ("command", "file_path", "path", "pattern", "query", "url", "description", "prompt")
"""Of what a tool was given, what says most about the step."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a tool, as it stands in the table."""

    tool: str
    params: str


def wants_template(page: Page, heat: int) -> bool:
    """A hot, active arc that has none and does not say `workflow_template: false`. `heat` is the computed one."""
    front = page.front
    return (
        not front.broken
        and heat >= LEAST_HEAT
        and front.text("status") == "active"
        and "workflow_template" not in front
        and HEADING not in page.body.splitlines()
    )


def steps(records: Iterable[Record]) -> tuple[Step, ...]:
    """The calls of a session in order, the first 30; reading the same with the same tool again is no step."""
    found: list[Step] = []
    seen: set[Step] = set()
    for record in records:
        for tool in record.tools:
            step = Step(_cell(tool.name, 60), _params(tool.given))
            if tool.name in _READING and step in seen:
                continue
            seen.add(step)
            found.append(step)
            if len(found) == MOST_STEPS:
                return tuple(found)
    return tuple(found)


def templated(text: str, path: str, found: tuple[Step, ...]) -> Change | None:
    """The page with the table at its end; None where there are too few steps."""
    if len(found) < LEAST_STEPS:
        return None
    page = read(text, path)
    end = "\r\n" if "\r\n" in page.body else "\n"
    rows = [f"| {number} | {step.tool} | {step.params} |" for number, step in enumerate(found, 1)]
    table = ["", HEADING, "", "| Step | Tool | Params |", "|---|---|---|", *rows, ""]
    body = page.body.rstrip() + end + end.join(table)
    after = replace(page, front=page.front.with_values({"workflow_template": True}), body=body).text()
    return Change(path, sha256(text.encode()), after.encode())


def _params(given: Mapping[str, Any]) -> str:
    telling = {name: given[name] for name in _TELLING if name in given} or dict(list(given.items())[:3])
    return _cell("; ".join(f"{name}: {_spelt(value)}" for name, value in telling.items()), PARAMS_CHARS)


def _spelt(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _cell(text: str, longest: int) -> str:
    return quotable_line(text, longest).replace("\\", "\\\\").replace("|", "\\|").replace("`", "'")
