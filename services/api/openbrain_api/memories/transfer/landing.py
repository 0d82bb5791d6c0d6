"""Importers of lines: verbatim, or as submissions."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import orjson

from openbrain.domain import limits
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Invalid, OpenBrainError, QuotaExceeded
from openbrain.domain.events.submission import Submission
from openbrain.domain.ids import content_hash, transfer_id
from openbrain.domain.memory import MICROSECONDS, Memory, with_labels
from openbrain.domain.times import from_datetime
from openbrain.ports.content import Admission
from openbrain.ports.store.transfer import HistoryRow, Item, Landed, Link, StoredMemory
from openbrain.ports.store.writes import Origin, Status, Write
from openbrain.usecases.auth import ANY_AGENT, Actor
from openbrain.usecases.content.admission import admitted_fields, look_at
from openbrain.usecases.remember import Offer, normalised, prepare
from openbrain.usecases.transfer.lines import Header, HistoryEntryLine, LineageLine, MemoryLine
from openbrain_api.api import Api
from openbrain_api.memories.chains import may_see
from openbrain_api.memories.transfer.given_vectors import Given, GivenVectors

Numbered = tuple[int, MemoryLine | HistoryEntryLine | LineageLine]
Refused = tuple[int, OpenBrainError]
NOTED_EVERY = 2 * MICROSECONDS
"""The interval at which an import saves its progress."""


class Importer(Protocol):
    """One way of storing imported lines."""

    async def land(self, chunk: Sequence[Numbered]) -> Sequence[Refused]:
        """Store a chunk. Return the lines that can't be stored, with their errors."""

    async def done(self) -> None:
        """Finish after the last line."""

    def counts(self) -> Mapping[str, object]:
        """Counts of stored memories so far."""


@dataclass(kw_only=True)
class _Counting:
    """The common part of both importers."""

    api: Api
    actor: Actor
    dry_run: bool
    given_vectors: GivenVectors
    created: int = field(default=0, init=False)
    present: int = field(default=0, init=False)
    skipped: int = field(default=0, init=False)
    history: int = field(default=0, init=False)
    lineage: int = field(default=0, init=False)

    def counts(self) -> Mapping[str, object]:
        names = ("created", "present", "skipped", "history", "lineage")
        exact, given = isinstance(self, VerbatimImport), self.given_vectors
        vectors = {"vectors": given.taken, "vectors_left": given.left, "vectors_problem": given.problem}
        return {"exact": exact, "dry_run": self.dry_run, **{name: getattr(self, name) for name in names}, **vectors}


@dataclass(kw_only=True)
class VerbatimImport(_Counting):
    """Stores rows, chains and history unchanged, in a workspace that was empty."""

    export_id: str
    _noted: int = field(default=0, init=False)
    """The time at which the progress was last written (microseconds)."""

    async def land(self, chunk: Sequence[Numbered]) -> Sequence[Refused]:
        refused: list[Refused] = []
        items: list[tuple[int, Item]] = []
        for number, line in chunk:
            try:
                items.append((number, self._item(line)))
            except OpenBrainError as error:
                refused.append((number, error))
            await asyncio.sleep(0)  # a long text takes milliseconds: let requests run
        if not items:
            return refused
        rows = [item for _, item in items]
        if not self.dry_run:
            await self.api.pressure.admit()
        try:
            landed = await self.api.committer.may_wait(
                lambda: self.api.store.transfer.load(
                    self.actor.workspace_id,
                    rows,
                    dry_run=self.dry_run,
                    keep_ids=self.api.settings.server.keep_imported_ids,
                )
            )
        except QuotaExceeded as full:
            return [*refused, *((number, full) for number, _ in items)]
        for (number, item), status in zip(items, landed, strict=True):
            if status is Landed.MISSING_PARENT and not self.dry_run:
                named = "child_id" if isinstance(item, Link) else "memory_id"
                refused.append((number, Invalid(named, "names a memory that is not in this file before it")))
            self._count(item, status)
        created = [
            (number, item.memory)
            for (number, item), status in zip(items, landed, strict=True)
            if status is Landed.CREATED and isinstance(item, StoredMemory)
        ]
        await self.given_vectors.take(_with_lines(chunk, created))
        await self._note()
        return refused

    async def _note(self) -> None:
        """Save the progress. The operation stays alive as long as lines arrive."""
        now = self.api.clock.now()
        if self.dry_run or now - self._noted < NOTED_EVERY:
            return
        self._noted = now
        names = ("created", "present", "history", "lineage")
        stored = {name: int(getattr(self, name)) for name in names}
        await self.api.store.transfer.restoring_at(self.actor.workspace_id, self.export_id, stored)

    def _item(self, line: MemoryLine | HistoryEntryLine | LineageLine) -> Item:
        match line:
            case MemoryLine():
                kept = line.kept(self.actor.workspace_id, self.api.clock.now())
                return replace(kept, memory=self._admitted(kept.memory))
            case HistoryEntryLine():
                return self._admitted_history(line.row())
            case LineageLine():
                return line.link()

    def _admitted(self, memory: Memory) -> Memory:
        """The memory as in the file, unless the content policy changes it."""
        texts = ("content", "title", "aliases", "tags", "metadata", "source", "speaker")
        looked = look_at({name: getattr(memory, name) for name in texts}, self._admission)
        changed = looked.changed
        if looked.tags:
            changed["tags"] = with_labels(changed.get("tags", memory.tags), looked.tags)
        if "content" in changed:
            changed["content"] = normalised(changed["content"])
            if len(changed["content"]) > limits.CONTENT_CHARS:  # as an offer; no import would take its export
                raise Invalid("content", f"must be at most {limits.CONTENT_CHARS} characters with masks")
            changed["content_hash"] = content_hash(changed["content"])
        return memory._replace(**changed) if changed else memory

    @property
    def _admission(self) -> Admission:
        return self.api.content_policy.of(self.actor.workspace_id)

    def _admitted_history(self, row: HistoryRow) -> HistoryRow:
        given = {
            "before": row.before and orjson.loads(row.before),
            "after": row.after and orjson.loads(row.after),
            "note": row.note,
        }
        changed = admitted_fields(given, self._admission)
        texts: dict[str, Any] = {
            name: item if name == "note" else orjson.dumps(item).decode() for name, item in changed.items()
        }
        return replace(row, **texts) if texts else row

    def _count(self, item: Item, status: Landed) -> None:
        # A dry run stores nothing, so the parent of a line may be missing only because it was rolled back.
        if status is Landed.CREATED or (status is Landed.MISSING_PARENT and self.dry_run):
            match item:
                case StoredMemory():
                    self.created += 1
                case HistoryRow():
                    self.history += 1
                case Link():
                    self.lineage += 1
        elif status is Landed.PRESENT and isinstance(item, StoredMemory):
            self.present += 1

    async def done(self) -> None:
        if not self.dry_run:
            self._noted = -NOTED_EVERY
            await self._note()
            await self.api.store.transfer.restored(self.actor.workspace_id, self.export_id)


def _with_lines(chunk: Sequence[Numbered], created: Sequence[tuple[int, Memory]]) -> list[Given]:
    lines = {number: line for number, line in chunk if isinstance(line, MemoryLine)}
    return [(lines[number], memory) for number, memory in created]


@dataclass(kw_only=True)
class SubmissionImport(_Counting):
    """Stores active memories like new ones: new ids, current times except `occurred_at`, no chains or history."""

    origin: Origin

    async def land(self, chunk: Sequence[Numbered]) -> Sequence[Refused]:
        refused: list[Refused] = []
        writes: list[tuple[int, str, Write]] = []
        ids: set[str] = set()
        for number, line in chunk:
            if not isinstance(line, MemoryLine):
                continue
            if line.ended or self._has_expired(line):
                self.skipped += 1
                continue
            await asyncio.sleep(0)  # a long text takes milliseconds: let requests run
            try:
                write = self._write(line)
            except OpenBrainError as error:
                refused.append((number, error))
                continue
            if write.memory.id in ids:
                self.present += 1
                continue
            ids.add(write.memory.id)
            writes.append((number, line.id, write))
        new = await self._unknown(writes)
        self.present += len(writes) - len(new)
        created = await (self._weigh(new) if self.dry_run else self._store(new, refused))
        await self.given_vectors.take(_with_lines(chunk, [(number, write.memory) for number, write in created]))
        return refused

    def _has_expired(self, line: MemoryLine) -> bool:
        return line.expires_at is not None and from_datetime(line.expires_at) <= self.api.clock.now()

    def _write(self, line: MemoryLine) -> Write:
        line.check()
        given = line.model_dump(
            mode="json",
            exclude_none=True,
            include={
                *("content", "type", "memory_scope", "org", "project", "agent_id", "session_id", "turn", "speaker"),
                *("title", "aliases"),
                *("tags", "metadata", "source", "confidence", "occurred_at", "expires_at", "embed", "allow_duplicate"),
            },
        )
        offer = Offer(
            submission=Submission.model_validate(given),
            actor=self.actor,
            origin=self.origin,
            identity=line.identity,
            verbatim=bool(line.identity),
        )
        write = prepare(offer, clock=self.api.clock, content_policy=self.api.content_policy)
        # A stable id, so that the file may be sent again; but one per agent, as agents can't see each other's rows.
        holder = f"{self.actor.workspace_id}\0{write.memory.agent_id}"
        return write._replace(memory=write.memory._replace(id=transfer_id(holder, line.id)))

    async def _unknown(self, writes: Sequence[tuple[int, str, Write]]) -> list[tuple[int, Write]]:
        """The writes whose memory the sender can't already see here, ended or not."""
        ids = [memory_id for _, given, write in writes for memory_id in (given, write.memory.id)]
        rows = await self.api.store.memories.rows(ids)
        return [
            (number, write)
            for number, given, write in writes
            if not any(item in rows and may_see(write.viewer, rows[item]) for item in (given, write.memory.id))
        ]

    async def _weigh(self, new: Sequence[tuple[int, Write]]) -> Sequence[tuple[int, Write]]:
        """For a dry run: count, and return those that would be created."""
        duplicates = await self.api.store.transfer.duplicates([write.memory for _, write in new])
        created = [item for item, known in zip(new, duplicates, strict=True) if item[1].allow_duplicate or not known]
        self.present += len(new) - len(created)
        self.created += len(created)
        return created

    async def _store(self, new: Sequence[tuple[int, Write]], refused: list[Refused]) -> Sequence[tuple[int, Write]]:
        """Store the writes. Return those that were created; add the others with errors to `refused`."""
        if not new:
            return []
        await self.api.pressure.admit()
        writes = [write for _, write in new]
        outcomes = await self.api.committer.may_wait(lambda: self.api.store.writes.remember(writes))
        created = []
        for (number, write), outcome in zip(new, outcomes, strict=True):
            if outcome.status is Status.CREATED:
                created.append((number, write))
            elif outcome.status is Status.DUPLICATE:
                self.present += 1
            else:
                error = outcome.error
                refused.append((number, error if isinstance(error, OpenBrainError) else Invalid("", "can't be stored")))
        self.created += len(created)
        return created

    async def done(self) -> None:
        """Do nothing: each chunk is already complete."""


async def lander(api: Api, actor: Actor, origin: Origin, header: Header, *, dry_run: bool) -> Importer:
    """Choose the importer. An admin key fills an empty workspace verbatim, and else writes for every agent; any other
    key writes only for its own."""
    vectors = GivenVectors(api=api, actor=actor, dry_run=dry_run)
    if Permission.ADMIN not in actor.permissions:
        return SubmissionImport(api=api, actor=actor, dry_run=dry_run, given_vectors=vectors, origin=origin)
    workspace = actor.workspace_id
    if await api.store.transfer.restoring(workspace, header.export_id, origin.actor, begin=not dry_run):
        export = header.export_id
        return VerbatimImport(api=api, actor=actor, dry_run=dry_run, given_vectors=vectors, export_id=export)
    for_all = replace(actor, act_as=(ANY_AGENT,))
    return SubmissionImport(api=api, actor=for_all, dry_run=dry_run, given_vectors=vectors, origin=origin)
