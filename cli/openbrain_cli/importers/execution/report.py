"""Reports of an import: tables for people, data for scripts. Never contain a memory's content."""

from collections.abc import Sequence
from typing import Any

from openbrain_cli.importers.execution.plan import Action, Plan, Step
from openbrain_cli.importers.execution.upload import Sent
from openbrain_cli.importers.found_memory import FoundMemory, Note
from openbrain_cli.importers.locations.scanning import Seen
from openbrain_cli.output import one_line, say, show, table

_REPORTED = (Action.CREATE, Action.SUPERSEDE, Action.REFILE, Action.DUPLICATE)
_PLANNED = {"to_create": Action.CREATE, "to_supersede": Action.SUPERSEDE, "to_refile": Action.REFILE}
_HEADING_CHARS = 60
_NOTES = 50
_ROWS = 20
"""Maximum number of rows in a table; --json has all."""


def places(seen: Sequence[Seen]) -> None:
    rows = [(item.client, item.files, item.sections, one_line(str(item.path))) for item in seen]
    if rows:
        show(table("what", "files", "sections", "where", rows=rows))


def detected(seen: Sequence[Seen]) -> None:
    for item in seen:
        say(
            f"{one_line(str(item.path))}: {item.client}, {_some(item.files, 'file')}, {_some(item.sections, 'section')}"
        )


def notes(all_notes: Sequence[Note]) -> None:
    for note in all_notes[:_NOTES]:
        say(f"{one_line(note.path)}: {note.reason}")
    if len(all_notes) > _NOTES:
        say(f"and {len(all_notes) - _NOTES} more: --json has them all")


def steps(plan: Plan) -> None:
    """Show the first planned steps, without unchanged memories. A conversation is one row."""
    rows: dict[tuple[str, str], int] = {}
    for step in plan.of(*_REPORTED):
        row = step.action.value, _shown(step.found)
        rows[row] = rows.get(row, 0) + 1
    if rows:
        cells = [
            (would, location if many == 1 else f"{location} ({many} messages)")
            for (would, location), many in rows.items()
        ]
        show(table("would", "section", rows=cells[:_ROWS]))
        _rest(cells)


def vanished(plan: Plan) -> None:
    rows = [(old.id, _place(old.key[1], old.key[2])) for old in plan.vanished]
    if rows:
        say("these sections are not in their files any more; their memories are left as they are:")
        show(table("memory", "section", rows=rows[:_ROWS]))
        _rest(rows)


def refused(sent: Sent) -> None:
    for step, reason in sent.refused:
        say(f"refused: {_place(step.found.path, step.found.heading)}: {reason}")


def summary(plan: Plan, sent: Sent | None) -> Sequence[str]:
    """The counts in one line, and a hint on what to do next."""
    counts = _counts(plan, sent)
    if not plan.steps and not plan.vanished:
        return ["nothing to import was found"]
    summary = ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts.items() if number)
    hint = ["nothing was changed: leave out --dry-run to do it"] if sent is None else []
    return [summary or "nothing to do", *hint]


def as_data(plan: Plan, seen: Sequence[Seen], sent: Sent | None) -> dict[str, Any]:
    return {
        "dry_run": sent is None,
        "found": seen_as_data(seen),
        "counts": _counts(plan, sent),
        "steps": [_step(step) for step in plan.of(*_REPORTED)],
        "vanished": [
            {"id": old.id, **dict(zip(("client", "path", "heading"), old.key, strict=True))} for old in plan.vanished
        ],
        "skipped": notes_as_data(plan.notes),
        "refused": [{**_step(step), "reason": reason} for step, reason in (sent.refused if sent else ())],
    }


def seen_as_data(seen: Sequence[Seen]) -> list[dict[str, Any]]:
    return [
        {"path": str(item.path), "kind": item.client, "files": item.files, "sections": item.sections} for item in seen
    ]


def notes_as_data(all_notes: Sequence[Note]) -> list[dict[str, str]]:
    return [{"path": note.path, "reason": note.reason} for note in all_notes]


def _rest(rows: Sequence[object]) -> None:
    if len(rows) > _ROWS:
        say(f"and {len(rows) - _ROWS} more: --json has them all")


def _shown(memory: FoundMemory) -> str:
    """The place of a section; for a message the title of its conversation."""
    title = memory.details.get("conversation")
    return _place(memory.path.partition("/")[0], str(title)) if title else _place(memory.path, memory.heading)


def _some(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _counts(plan: Plan, sent: Sent | None) -> dict[str, int]:
    always = {
        "unchanged": len(plan.of(Action.UNCHANGED)),
        "duplicates": len(plan.of(Action.DUPLICATE)),
        "vanished": len(plan.vanished),
        "skipped": len(plan.notes),
    }
    if sent is None:
        planned = {name: len(plan.of(action)) for name, action in _PLANNED.items()}
        return {**planned, **always}
    done = {"created": sent.created, "superseded": sent.superseded, "refiled": sent.refiled}
    return {**done, "already_known": sent.known, "refused": len(sent.refused), **always}


def _step(step: Step) -> dict[str, Any]:
    client, path, heading = step.found.key
    old = step.existing.id if step.existing else None
    return {"action": step.action.value, "client": client, "path": path, "heading": heading, "existing": old}


def _place(path: str, heading: str) -> str:
    title = one_line(heading)
    shown = title if len(title) <= _HEADING_CHARS else f"{title[: _HEADING_CHARS - 1]}…"
    return f"{one_line(path)} # {shown}" if shown else one_line(path)
