"""Arcs, and the effect of a model's answer on them."""

from collections.abc import Mapping
from typing import Any

from openbrain.domain.errors import NotFound
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.pages.arcs import Arc
from openbrain.vault.pages.index import Scan
from openbrain.vault.thresholds import SPEC
from openbrain_tick.plan.plan import begin
from openbrain_tick.plan.reasoning.accepted_items import Outcome, apply_items
from openbrain_tick.plan.reasoning.answer.items import LISTS, SINGLE, Answer, from_items
from openbrain_tick.plan.reasoning.answer.judge import judge
from openbrain_tick.plan.reasoning.answer.known import known_of

NOW = 1_777_000_000_000_000
DAY = "clusters/2026-04-24"


def page(name: str, *, front: str = "", body: str = "", sessions: str = "[s-{}]") -> str:
    return f"""---
cluster_id: {name}
title: The {name} story  # as told
status: active
created: 2026-04-24
source_sessions: {sessions.format(name)}
signals: {{errors: 1, joy: 2, tools: 30}}
{front}---

# The {name} story

## Timeline

<!-- synthesized: false -->

### Completed

### Errors / learning

### Resolution

## Lessons to reproduce

## Edges

{body}
## Source sessions

- home-bridge://sessions/s-{name}
"""


ALARM = "<!-- @signal severity=warning source={} verify=ping -->\n{}\n<!-- @/signal -->\n"


def items_in(answer: Answer) -> int:
    """Return how many items could be read."""
    lists = sum(len(getattr(answer, name)) for name in LISTS)
    return lists + sum(getattr(answer, name) is not None for name in SINGLE)


def vault(**pages: str) -> dict[str, str]:
    return {f"{DAY}/{name}.md": text for name, text in pages.items()}


def arcs_of(texts: Mapping[str, str]) -> dict[str, Arc]:
    arcs = [parse_arc(path, text, 0) for path, text in texts.items()]
    return {arc.id: arc for arc in arcs if not arc.merged}


def applied(texts: dict[str, str], **items: Any) -> tuple[dict[str, str], Outcome]:
    """Return the vault after the answer, and the outcome of its items."""
    return written(judge(from_items(items), known_of(arcs_of(texts).values())), texts)


def written(accepted: Answer, texts: dict[str, str]) -> tuple[dict[str, str], Outcome]:
    def read_text(path: str) -> str:
        if path not in texts:
            raise NotFound(path)
        return texts[path]

    pages = {path: parse_arc(path, text, 0) for path, text in texts.items()}
    plan = begin(Scan(pages), read_text, NOW, SPEC)
    outcome = apply_items(accepted, plan)
    after = dict(texts)
    for change in plan.changes():
        if change.after is None:
            del after[change.path]
        else:
            after[change.path] = change.after.decode()
    assert plan.pages == {path: arc._replace(path=path) for path, arc in pages_of(after).items()}
    return after, outcome


def pages_of(texts: Mapping[str, str]) -> dict[str, Arc]:
    return {path: parse_arc(path, text, 0) for path, text in texts.items()}
