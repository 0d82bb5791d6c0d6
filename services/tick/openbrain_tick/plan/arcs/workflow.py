"""Workflow templates: the steps of a hot arc's sessions as a table, so that they can be repeated. Only text, never
run."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from openbrain.vault.front_matter.document import Page, read
from openbrain.vault.markers.fences import line_break_of
from openbrain.vault.markers.redaction import quotable_line
from openbrain.vault.markers.transcripts import Record
from openbrain_tick.plan.plan import Plan

HEADING: Final = "## Workflow Template"
LEAST_HEAT: Final = 4
LEAST_STEPS: Final = 3
MOST_STEPS: Final = 30
PARAMS_CHARS: Final = 120
_READING = frozenset({"Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "NotebookRead", "TodoRead", "ToolSearch"})
_MAIN_INPUTS = ("command", "file_path", "path", "pattern", "query", "url", "description", "prompt")
"""The tool inputs that say most about a step."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a tool, as shown in the table."""

    tool: str
    params: str


def templates(plan: Plan, records_of: Callable[[str], Iterable[Record] | None]) -> None:
    """Add a table at the end of every hot, active arc that has none and has no key `workflow_template`.

    `records_of` returns a session's transcript; None if it is gone. Counts templates_written.
    """
    for arc in plan.arcs():
        if (arc.heat or 0) < LEAST_HEAT or arc.status != "active" or not arc.writable:
            continue
        transcripts = [there for session in arc.sessions if (there := records_of(session)) is not None]
        text = plan.text(arc.path) if transcripts else None
        if text is None or not _wants_one(read(text, arc.path)):
            continue
        seen = steps(record for transcript in transcripts for record in transcript)
        if len(seen) >= LEAST_STEPS:
            plan.edit(arc, {"workflow_template": True}, body=partial(_with_table, _table(seen)))
            plan.counts["templates_written"] += 1


def _wants_one(page: Page) -> bool:
    return "workflow_template" not in page.front and HEADING not in page.body.splitlines()


def steps(records: Iterable[Record]) -> tuple[Step, ...]:
    """The first 30 tool calls in order; repeated identical reads are left out."""
    taken: list[Step] = []
    seen: set[Step] = set()
    for record in records:
        for tool in record.tools:
            step = Step(_cell(tool.name, 60), _params(tool.given))
            if tool.name in _READING and step in seen:
                continue
            seen.add(step)
            taken.append(step)
            if len(taken) == MOST_STEPS:
                return tuple(taken)
    return tuple(taken)


def _table(steps_taken: Sequence[Step]) -> list[str]:
    rows = [f"| {number} | {step.tool} | {step.params} |" for number, step in enumerate(steps_taken, 1)]
    return ["", "", HEADING, "", "| Step | Tool | Params |", "|---|---|---|", *rows, ""]


def _with_table(table: Sequence[str], body: str) -> str:
    return body.rstrip() + line_break_of(body).join(table)


def _params(given: Mapping[str, Any]) -> str:
    main = {name: given[name] for name in _MAIN_INPUTS if name in given} or dict(list(given.items())[:3])
    return _cell("; ".join(f"{name}: {_spelt(value)}" for name, value in main.items()), PARAMS_CHARS)


def _spelt(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _cell(text: str, longest: int) -> str:
    return quotable_line(text, longest).replace("\\", "\\\\").replace("|", "\\|").replace("`", "'")
