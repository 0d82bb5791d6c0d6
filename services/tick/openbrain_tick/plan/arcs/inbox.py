"""The inbox: moves pages from raw/inbox to the folder of their first known tag."""

from collections.abc import Sequence
from typing import Final

from openbrain.domain.errors import Invalid
from openbrain.vault.front_matter import document
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain_tick.plan.plan import Plan

_LEFT = "architecture infrastructure deployment code bug fix ci database api security".split()
FOLDERS: Final = {
    **dict.fromkeys(_LEFT, "left"),
    "research": "left/research",
    "incident": "left/incidents",
    "decision": "left/decisions",
    "reference": "left/reference",
    "idea": "right/ideas",
    "strategy": "right/strategy",
    "creative": "right/creative",
    "risk": "right/risk",
    "life": "right/life",
    "vision": "right",
    "brain-system": "bridge",
    "cross-cutting": "bridge",
}
_REGIONS: Final = {"left": "left-hemisphere", "right": "right-hemisphere", "bridge": "bridge"}


def file_inbox(plan: Plan) -> None:
    """Move every page of the inbox. A page that can't be read stays there and is reported."""
    for path in plan.scan.inbox:
        text = plan.text(path)
        if text is None:
            continue
        page = document.read(text, path)
        if page.front.broken:
            plan.problems += page.problems
            plan.counts["inbox_errors"] += 1
            continue
        folder = next((FOLDERS[tag] for tag in _tags(page.front.get("tags")) if tag in FOLDERS), "left")
        try:
            to = plan.free(f"{folder}/{_name(path)}")
        except Invalid as error:
            plan.problem(path, f"can't be filed: {error}")
            plan.counts["inbox_errors"] += 1
            continue
        arc = parse_arc(path, text, plan.now_us * 1000)
        values: dict[str, str] = {"region": _REGIONS[folder.partition("/")[0]]}
        if not arc.status:
            values["status"] = "active"
        plan.pages[path] = arc
        moved = plan.edit(arc, values, to=to)
        if moved.path == to:
            plan.problems += moved.problems
            plan.counts["inbox_drained"] += 1
        else:
            del plan.pages[path]
            plan.counts["inbox_errors"] += 1
    if plan.counts["inbox_drained"]:
        plan.settle()


def _name(path: str) -> str:
    """The page's name where it is filed: not one that a scan leaves out."""
    return f"{path.rpartition('/')[2].removesuffix('.md').lstrip('_.') or 'untitled'}.md"


def _tags(value: object) -> list[str]:
    words = value.replace(",", " ").split() if isinstance(value, str) else value
    return [str(word).strip().lstrip("#").lower() for word in words] if isinstance(words, Sequence) else []
