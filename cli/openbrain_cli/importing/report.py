"""What an import tells: to people in tables, to scripts as data. Never what a memory says."""

from collections.abc import Sequence
from typing import Any

from openbrain_cli.importing.planning import Action, Existing, Plan, Step
from openbrain_cli.importing.sending import Sent
from openbrain_cli.output import one_line, say, show, table

_WOULD = {
    Action.CREATE: "create",
    Action.SUPERSEDE: "supersede",
    Action.REFILE: "refile",
    Action.DUPLICATE: "duplicate",
}
_HEADING_CHARS = 60


def notes(plan: Plan) -> None:
    """Files that were not taken as they stand."""
    for note in plan.notes:
        say(f"{one_line(note.path)}: {note.reason}")


def steps(plan: Plan) -> None:
    """What would be done; what stays as it is only counts."""
    rows = [(_WOULD[step.action], _place(step.found.path, step.found.heading)) for step in plan.of(*_WOULD)]
    if rows:
        show(table("would", "section", rows=rows))


def vanished(plan: Plan) -> None:
    """Memories whose section is not there any more."""
    rows = [(old.id, _place(old.key[1], old.key[2])) for old in plan.vanished]
    if rows:
        say("these sections are not in their files any more; their memories are left as they are:")
        show(table("memory", "section", rows=rows))


def refused(sent: Sent) -> None:
    """Sections that the server did not take."""
    for step, reason in sent.refused:
        say(f"refused: {_place(step.found.path, step.found.heading)}: {reason}")


def summary(plan: Plan, sent: Sent | None) -> Sequence[str]:
    """In one line, and what to do next."""
    counts = _counts(plan, sent)
    if not plan.steps and not plan.vanished:
        return ["nothing to import here: name a project, a memory folder or a file"]
    told = ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts.items() if number)
    return [told or "nothing to do", *(["nothing was changed: leave out --dry-run to do it"] if sent is None else [])]


def as_data(plan: Plan, sent: Sent | None) -> dict[str, Any]:
    """For scripts."""
    return {
        "dry_run": sent is None,
        "counts": _counts(plan, sent),
        "steps": [_step(step) for step in plan.of(*_WOULD)],
        "vanished": [{"id": old.id, **_named(old)} for old in plan.vanished],
        "skipped": [{"path": note.path, "reason": note.reason} for note in plan.notes],
        "refused": [{**_step(step), "reason": reason} for step, reason in (sent.refused if sent else ())],
    }


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


_PLANNED = {"to_create": Action.CREATE, "to_supersede": Action.SUPERSEDE, "to_refile": Action.REFILE}


def _step(step: Step) -> dict[str, Any]:
    client, path, heading = step.found.key
    old = step.existing.id if step.existing else None
    return {"action": step.action.value, "client": client, "path": path, "heading": heading, "existing": old}


def _named(old: Existing) -> dict[str, str]:
    return dict(zip(("client", "path", "heading"), old.key, strict=True))


def _place(path: str, heading: str) -> str:
    title = one_line(heading)
    shown = title if len(title) <= _HEADING_CHARS else f"{title[: _HEADING_CHARS - 1]}…"
    return f"{one_line(path)} # {shown}" if shown else one_line(path)
