"""Job `consolidate`: merge memories about the same thing, with near vectors, into one that says all that they say."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from openbrain.domain.limits import CONTENT_CHARS
from openbrain.domain.memory import Memory
from openbrain.domain.text.duplicates.merging import merged
from openbrain.domain.text.duplicates.sameness import Claim
from openbrain.domain.times import from_iso, to_iso
from openbrain.ports.lifecycle import Action, Change, Decide, Selection, Subject
from openbrain.ports.models import Reasoner
from openbrain.ports.store.operations import Operation
from openbrain.usecases.indexes.neighbours import Placed
from openbrain_housekeeper.handlers.lifecycle.clustering.clusters import Clusters, Cosine
from openbrain_housekeeper.handlers.lifecycle.job import Found
from openbrain_housekeeper.handlers.lifecycle.joining import joined_names, joined_use
from openbrain_housekeeper.handlers.lifecycle.wording import worded

CONSOLIDATED: Final = "consolidated"
"""Key in a merged memory's metadata: `at`, and `from`, the ids of its sources, newest first."""
MOST_SOURCES: Final = 50
"""Maximum memories merged into one at once, and ids kept in `from`."""
Star = Sequence[Memory]
"""A memory (the centre), and those merged into it."""
Texts = Mapping[frozenset[str], str]
"""Texts by a model, by the content hashes of their sources."""


class Consolidate:
    """Finds clusters of near memories; in each, those with the highest confidence absorb the ones near to them."""

    def __init__(self, clusters: Clusters, reasoner: Reasoner | None = None) -> None:
        self._clusters, self._reasoner = clusters, reasoner
        self._texts: Texts = {}

    async def find(self, operation: Operation, selection: Selection, cursor: Any) -> Found:
        threshold, claims = _threshold(operation), dict[str, Claim]()

        def claim(memory: Memory) -> Claim:
            if memory.id not in claims:
                claims[memory.id] = Claim.of(memory)
            return claims[memory.id]

        def linked(one: Placed, other: Placed) -> bool:
            near = one.cosine(other) >= threshold
            return near and mergeable(one.memory, other.memory) and claim(one.memory).about == claim(other.memory).about

        clusters = await self._clusters.find(operation.id, selection, cursor, linked, threshold)
        if operation.request["rule"].get("reasoned") and self._reasoner is not None:
            self._texts = await self._worded(operation, clusters, self._reasoner)
        return clusters

    def decide(self, operation: Operation) -> Decide:
        texts = self._texts if operation.request["rule"].get("reasoned") else {}
        cosine = self._clusters.cosine(operation.id)
        return lambda subjects: decided(subjects, cosine, _threshold(operation), operation.created_at, texts)

    async def _worded(self, operation: Operation, clusters: Found, reasoner: Reasoner) -> Texts:
        texts: dict[frozenset[str], str] = {}
        cosine = self._clusters.cosine(operation.id)
        for group in clusters.groups:
            members = self._clusters.members(operation.id, group)
            for star in stars(members, cosine, _threshold(operation)):
                text = await worded(reasoner, _contents(star)) if len(star) > 1 else None
                if text is not None:
                    texts[_key(star)] = text
        return texts


def mergeable(one: Memory, other: Memory) -> bool:
    """True if both expire at the same time, and each was created after the other's last merge, if any."""
    return one.expires_at == other.expires_at and all(
        at is None or other_one.created_at > at for at, other_one in ((merged_at(one), other), (merged_at(other), one))
    )


def merged_at(memory: Memory) -> int | None:
    """When it was last merged, microseconds."""
    known = memory.metadata.get(CONSOLIDATED)
    return from_iso(str(known.get("at"))) if isinstance(known, Mapping) else None


def stars(memories: Sequence[Memory], cosine: Cosine, threshold: float) -> Sequence[Star]:
    """Group memories around centres, highest confidence first. Each member is near its centre itself, so that groups do
    not drift from neighbour to neighbour; a memory becomes a centre only if no earlier star takes it."""
    claims = {memory.id: Claim.of(memory) for memory in memories}
    groups: list[list[Memory]] = []
    for memory in sorted(memories, key=_surest, reverse=True):
        for star in groups:
            centre = star[0]
            alike = claims[centre.id].about == claims[memory.id].about and mergeable(centre, memory)
            if alike and _room(star, memory) and cosine(centre, memory) >= threshold:
                star.append(memory)
                break
        else:
            groups.append([memory])
    return groups


def decided(subjects: Sequence[Subject], cosine: Cosine, threshold: float, at: int, texts: Texts) -> Sequence[Change]:
    by_id = {subject.memory.id: subject for subject in subjects}
    changes: list[Change] = []
    for star in stars([subject.memory for subject in subjects], cosine, threshold):
        centre, *others = star
        if not others:
            continue
        changes += [
            Change(
                memory_id=other.id,
                action=Action.ARCHIVED,
                why=f"merged, cosine {cosine(centre, other):.3f}",
                into=centre.id,
            )
            for other in others
        ]
        after = joined_names(centre, others)._replace(
            content=texts.get(_key(star)) or merged(_contents(star)),
            metadata={**centre.metadata, CONSOLIDATED: _cited(star, at)},
        )
        use = joined_use([by_id[memory.id] for memory in star])
        why = f"merged of {len(star)}"
        changes.append(Change(memory_id=centre.id, action=Action.REWRITTEN, why=why, after=after, use=use))
    return changes


def _threshold(operation: Operation) -> float:
    return float(operation.request["rule"]["threshold"])


def _surest(memory: Memory) -> tuple[Any, ...]:
    return memory.confidence, memory.confirmed_at, memory.created_at, memory.id


def _room(star: Star, memory: Memory) -> bool:
    together = sum(len(item.content) + 1 for item in (*star, memory))
    return len(star) < MOST_SOURCES and together <= CONTENT_CHARS


def _newest_first(star: Star) -> Sequence[Memory]:
    return sorted(star, key=lambda memory: (memory.occurred_at, memory.created_at, memory.id), reverse=True)


def _contents(star: Star) -> Sequence[str]:
    return [memory.content for memory in _newest_first(star)]


def _key(star: Star) -> frozenset[str]:
    return frozenset(memory.content_hash for memory in star)


def _cited(star: Star, at: int) -> Mapping[str, Any]:
    before = star[0].metadata.get(CONSOLIDATED)
    known = before.get("from", ()) if isinstance(before, Mapping) else ()
    ids = dict.fromkeys([memory.id for memory in _newest_first(star)] + [str(item) for item in known])
    return {"at": to_iso(at), "from": list(ids)[:MOST_SOURCES]}
