"""Executes a plan through the API, in batches. If it is interrupted, the next import completes it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from openbrain.client import OpenBrain
from openbrain.client.wire import pages
from openbrain.contract.brain.memories import BatchItem, MemoryAnswer
from openbrain.domain import limits
from openbrain.domain.tasks import chunks
from openbrain_cli.importers.execution.plan import Action, Existing, Plan, Step, Target
from openbrain_cli.importers.found_memory import TAG

BATCH = 50
"""Sections per request: well below the maximum body size, and small enough to update a progress bar."""


@dataclass(slots=True)
class Sent:
    """The result of an upload."""

    created: int = 0
    superseded: int = 0
    refiled: int = 0
    known: int = 0
    """Number of sections whose text was stored already."""
    refused: list[tuple[Step, str]] = field(default_factory=list)
    """Steps that the server refused, with its reason."""


async def existing(brain: OpenBrain) -> list[Existing]:
    """The live memories of all earlier imports."""
    listed = pages(lambda cursor: brain.memories(limit=limits.LIST_LIMIT, tags=[TAG], cursor=cursor))
    return [known async for page in listed for memory in page.memories if (known := _existing(memory)) is not None]


def _existing(memory: MemoryAnswer) -> Existing | None:
    origin = memory.metadata.get("import")
    if not isinstance(origin, dict):
        return None
    client, path, heading, digest = (str(origin.get(name, "")) for name in ("client", "path", "heading", "digest"))
    return Existing(
        id=memory.id,
        key=(client, path, heading),
        digest=digest,
        org=memory.org or "",
        project=memory.project or "",
        tags=memory.tags,
        metadata=memory.metadata,
    )


async def send(brain: OpenBrain, plan: Plan, target: Target, progress: Callable[[int], None]) -> Sent:
    """Send the plan. Edits go first: otherwise a text that moved to a new section would count as a duplicate."""
    sent = Sent()
    for step in plan.of(Action.REFILE):
        await _refile(brain, step)
        sent.refiled += 1
        progress(1)
    for action in (Action.SUPERSEDE, Action.CREATE):
        for batch in chunks(plan.of(action), BATCH):
            answer = await brain.remember_batch([_offer(step, target) for step in batch])
            for step, item in zip(batch, answer.results, strict=True):
                _count(sent, step, item)
            progress(len(batch))
    return sent


def _count(sent: Sent, step: Step, item: BatchItem) -> None:
    if item.status == "refused":
        sent.refused.append((step, item.message or item.error or "refused"))
    elif step.action is Action.SUPERSEDE:
        sent.superseded += 1
    elif item.status == "created":
        sent.created += 1
    else:
        sent.known += 1


def _offer(step: Step, target: Target) -> dict[str, object]:
    offer = step.found.offer()
    places = {"org": target.org_of(step.existing), "project": target.project_of(step.found, step.existing)}
    offer |= {name: location for name, location in places.items() if location}
    if not places["project"]:
        offer.pop("project", None)
    if step.existing is not None:
        offer["supersedes"] = step.existing.id
    return offer


async def _refile(brain: OpenBrain, step: Step) -> None:
    if step.existing is None:
        return
    memory, old = step.found, step.existing
    metadata: dict[str, Any] = {**old.metadata, **memory.metadata}
    tags: Sequence[str] = list(dict.fromkeys([*old.tags, *memory.tags]))[: limits.TAGS]
    await brain.update(
        old.id, type=memory.type, tags=tags, metadata=metadata, confidence=memory.confidence, source=memory.source
    )
