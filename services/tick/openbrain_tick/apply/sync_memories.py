"""Syncs the vault's markers to memories: each is stored once, superseded when edited, forgotten when removed."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic import ValidationError

from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Conflict, Invalid, NeverRetry, NotFound
from openbrain.domain.events.envelope import first_problem
from openbrain.domain.events.submission import Submission
from openbrain.domain.memory import Memory, Scope
from openbrain.domain.tasks import chunks
from openbrain.domain.times import to_datetime
from openbrain.ports.clock import Clock
from openbrain.ports.content import ContentPolicy
from openbrain.ports.store.store import Store
from openbrain.ports.store.vault import VaultMemory
from openbrain.ports.store.writes import Origin, Outcome, Status
from openbrain.usecases.auth import Actor
from openbrain.usecases.remember import Offer, remember
from openbrain.vault.markers.kinds import CONFIDENCE, MEMORY_TYPES
from openbrain.vault.pages.arcs import Arc
from openbrain.vault.values import Problem
from openbrain_tick.apply.memory_comparison import SOURCE, Marked, compared, digest, edits, marked, row_of

BATCH: Final = 500
FEW: Final = 20
"""Up to this many may always be forgotten at once."""


@dataclass(slots=True)
class SyncedMemories:
    submitted: int = 0
    superseded: int = 0
    forgotten: int = 0
    problems: list[Problem] = field(default_factory=list)


async def sync_memories(
    workspace_id: str,
    pages: Sequence[Arc],
    problems: Sequence[Problem],
    *,
    store: Store,
    clock: Clock,
    content_policy: ContentPolicy,
    forget_share: float,
) -> SyncedMemories:
    """Make the memories match the pages. It can be killed at any point and repeated without duplicates: a row is
    written after its memory, and the same content is the same memory.

    If more than FEW and more than `forget_share` of all are gone, none is forgotten: a partly mounted vault looks like
    that.
    """
    # In a thread: it takes a while for a large vault.
    now = await asyncio.to_thread(digest, pages, problems)
    if now == await store.vault.vault_digest(workspace_id):
        return SyncedMemories()
    run = _Run(workspace_id, store, clock, content_policy)
    seen = await asyncio.to_thread(marked, pages, problems)
    rows = await store.vault.vault_memories(workspace_id)
    run.taken.update((row.arc, row.marker) for row in rows)
    comparison = compared(seen, rows)
    run.done.problems += seen.problems
    run.uses.update(row.memory_id for row in rows)
    await run.move(comparison.moved)
    memories = await store.memories.rows([row.memory_id for row in comparison.gone])
    await run.supersede(await asyncio.to_thread(edits, comparison, memories), memories)
    await run.submit(comparison.new)
    allowed = max(FEW, int(len(rows) * forget_share))
    if len(comparison.gone) > allowed:
        reason = (
            f"{len(comparison.gone)} of {len(rows)} markers that are memories are gone, more than one tick forgets: "
            "check that the vault is completely mounted, or raise OPENBRAIN_TICK__FORGET_SHARE"
        )
        run.done.problems.append(Problem("", 0, reason))
    else:
        await run.forget(comparison.gone, memories)
    if not run.done.problems:
        await store.vault.note_vault_digest(workspace_id, now)
    return run.done


@dataclass(slots=True)
class _Run:
    workspace_id: str
    store: Store
    clock: Clock
    content_policy: ContentPolicy
    done: SyncedMemories = field(default_factory=SyncedMemories)
    taken: set[tuple[str, str]] = field(default_factory=set)
    uses: Counter[str] = field(default_factory=Counter)
    """Number of rows per memory."""

    @property
    def actor(self) -> Actor:
        """The tick as an actor: it sees what everyone in the workspace can see."""
        permissions = frozenset({Permission.BRAIN_READ, Permission.BRAIN_WRITE})
        return Actor(key_id="tick", name="tick", workspace_id=self.workspace_id, agent_id="", permissions=permissions)

    async def move(self, moved: Iterable[tuple[VaultMemory, Marked]]) -> None:
        """Update the rows of memories whose markers are in another arc now."""
        pairs = [(row, self._row(item, row.memory_id)) for row, item in moved]
        if pairs:
            await self.store.vault.record_vault_memories(
                self.workspace_id, [new for _, new in pairs], [(old.arc, old.marker) for old, _ in pairs]
            )

    async def supersede(self, pairs: Sequence[tuple[VaultMemory, Marked]], memories: Mapping[str, Memory]) -> None:
        """Supersede the memories of edited markers. A memory that the tick did not make, that has ended, or that other
        markers share, is not changed: the edited text becomes a new memory."""
        for row, item in pairs:
            before = memories.get(row.memory_id)
            ours = before is not None and not before.ended and before.source.startswith(SOURCE)
            alone = self.uses[row.memory_id] == 1
            (outcome,) = await self._remember([item], supersedes=row.memory_id if ours and alone else None)
            if isinstance(outcome.error, Conflict):
                (outcome,) = await self._remember([item])
            if outcome.memory is None:
                self._refused(item, outcome.error)
                continue
            new = replace(row, memory_id=outcome.memory.id, content_hash=item.content_hash)
            await self.store.vault.record_vault_memories(self.workspace_id, [new], ())
            self.done.superseded += 1

    async def submit(self, new: Sequence[Marked]) -> None:
        """Store new markers. If anyone's memory has the same content already, the marker refers to that one."""
        for some in chunks(new, BATCH):
            rows = []
            for item, outcome in zip(some, await self._remember(some), strict=True):
                if outcome.memory is None:
                    self._refused(item, outcome.error)
                else:
                    rows.append(self._row(item, outcome.memory.id))
            await self.store.vault.record_vault_memories(self.workspace_id, rows, ())
            self.done.submitted += len(rows)

    async def forget(self, gone: Sequence[VaultMemory], memories: Mapping[str, Memory]) -> None:
        """Forget memories whose markers are gone, but only those that the tick made and no other marker refers to."""
        for row in gone:
            self.uses[row.memory_id] -= 1
            memory = memories.get(row.memory_id)
            if memory is not None and not memory.ended and memory.source.startswith(SOURCE):
                await self._end(row.memory_id)
        await self.store.vault.record_vault_memories(self.workspace_id, [], [(row.arc, row.marker) for row in gone])

    async def _end(self, memory_id: str) -> None:
        if self.uses[memory_id] > 0:
            return
        with suppress(NotFound, Conflict):  # somebody else has ended it meanwhile
            note = "its marker was removed from the vault"
            await self.store.writes.forget(memory_id, self.actor.viewer(), Origin(actor=self.actor.label), note)
            self.done.forgotten += 1

    async def _remember(self, some: Sequence[Marked], supersedes: str | None = None) -> Sequence[Outcome]:
        actor = self.actor
        origin = Origin(actor=actor.label)
        offers = [_offer(item, actor, origin, supersedes) for item in some]
        good = [offer for offer in offers if isinstance(offer, Offer)]
        outcomes = iter(
            await remember(good, writes=self.store.writes, clock=self.clock, content_policy=self.content_policy)
        )
        made = [next(outcomes) if isinstance(item, Offer) else Outcome(Status.REFUSED, error=item) for item in offers]
        for outcome in made:
            if outcome.error is not None and not isinstance(outcome.error, NeverRetry):
                raise outcome.error
        return made

    def _row(self, mark: Marked, memory_id: str) -> VaultMemory:
        row = row_of(mark, memory_id, self.taken)
        self.taken.add((row.arc, row.marker))
        self.uses[memory_id] += 1
        return row

    def _refused(self, mark: Marked, error: Exception | None) -> None:
        self.done.problems.append(Problem(mark.arc, 0, f"@{mark.type} is not taken as a memory: {error}"))


def _offer(mark: Marked, actor: Actor, origin: Origin, supersedes: str | None) -> Offer | Invalid:
    try:
        submission = Submission(
            content=mark.content,
            type=MEMORY_TYPES[mark.type],
            project=mark.project or None,
            memory_scope=Scope.PROJECT if mark.project else Scope.SHARED,
            tags=("vault", mark.type),
            metadata={"arc": mark.arc, "marker": mark.type},
            source=mark.source,
            confidence=CONFIDENCE,
            supersedes=supersedes,
            occurred_at=to_datetime(mark.occurred_at),
        )
    except ValidationError as error:
        return Invalid(*first_problem(error))
    return Offer(submission=submission, actor=actor, origin=origin)
