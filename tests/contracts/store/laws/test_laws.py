"""Invariants of the store under random user actions in any order, on both databases, checked against a simple model."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Connection, select

from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.schema.memory_rows import MEMORY_COLUMNS, memory_from_row
from openbrain.adapters.sql.schema.tables import memories, metadata
from openbrain.adapters.sql.writes.dedupe import dedupe_key
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from openbrain.domain.errors import Conflict, Invalid, NotFound
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.store.writes import Edit, Outcome, Status
from tests.support.forms import examples
from tests.support.store.fixtures import FakeClock, announced, origin, row, rows, viewer, write
from tests.support.store.schema import make_tables

CONTENTS = st.sampled_from(["a", "b", "A"])
LIFE = st.sampled_from([None, 2, 5])
ALLOWED = st.sampled_from([False, False, False, True])


@dataclass
class Known:
    """What the model knows of one memory."""

    content: str
    keyed: bool = True
    expires_at: int | None = None
    reason: Reason | None = None
    changes: int = 1
    seen: int = 0
    """The highest revision that was read."""


def all_rows(connection: Connection) -> dict[str, tuple[Memory, str | None]]:
    query = select(memories.c.dedupe_key, *[memories.c[name] for name in MEMORY_COLUMNS])
    found = [(memory_from_row(each[1:]), each[0]) for each in connection.execute(query)]
    return {memory.id: (memory, key) for memory, key in found}


class Users(RuleBasedStateMachine):
    """One agent's writes; every memory is in one place, so that equal contents collide."""

    url: str
    known_ids: Bundle[str] = Bundle("known_ids")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.database = open_database(self.url, pool=2)
        self.writing = SqlMemoryWrites(self.database, self.clock)
        self.upkeep = SqlMemoryWrites(self.database, self.clock)
        self.model: dict[str, Known] = {}

    @initialize()
    def empty(self) -> None:
        def delete(connection: Any) -> None:
            for table in metadata.sorted_tables:
                connection.execute(table.delete())

        self.runner.run(self.database.write(delete))

    def teardown(self) -> None:
        self.runner.run(self.database.close())
        self.runner.close()

    # What the model expects

    def due(self, known: Known) -> bool:
        return known.expires_at is not None and known.expires_at <= self.clock.now()

    def holder(self, content: str) -> str | None:
        """The id of the memory that blocks this content; one that has expired does not block it."""
        for memory_id, known in self.model.items():
            if known.content == content and known.keyed and known.reason is None:
                if not self.due(known):
                    return memory_id
                self.end(memory_id, Reason.EXPIRED)
        return None

    def end(self, memory_id: str, reason: Reason) -> None:
        known = self.model[memory_id]
        known.reason, known.keyed = reason, False
        known.changes += 1

    def added(self, outcome: Outcome, known: Known) -> str:
        assert outcome.status is Status.CREATED, outcome.error
        assert outcome.memory is not None
        self.model[outcome.memory.id] = known
        return outcome.memory.id

    def remembered(self, **changes: Any) -> Outcome:
        return self.runner.run(self.writing.remember([write(now=self.clock.now(), **changes)]))[0]

    # What users do

    @rule(target=known_ids, content=CONTENTS, life=LIFE, allowed=ALLOWED)
    def remember(self, content: str, life: int | None, *, allowed: bool) -> Any:
        expires_at = life and self.clock.now() + life
        outcome = self.remembered(content=content, expires_at=expires_at, allow_duplicate=allowed)
        holder = None if allowed else self.holder(content)
        if holder is None:
            return self.added(outcome, Known(content, keyed=not allowed, expires_at=expires_at))
        assert outcome.status is Status.DUPLICATE
        assert outcome.memory is not None
        assert outcome.memory.id == holder
        return multiple()

    @rule(target=known_ids, old=known_ids, content=CONTENTS)
    def supersede(self, old: str, content: str) -> Any:
        outcome = self.remembered(content=content, supersedes_id=old)
        known = self.model[old]
        if self.due(known):
            assert isinstance(outcome.error, Invalid)
        elif known.reason is not None:
            self.overtaken(outcome, content)
        elif known.content == content:
            assert outcome.memory is not None
            assert (outcome.status, outcome.memory.id) == (Status.DUPLICATE, old)
        else:
            holder = self.holder(content)
            self.end(old, Reason.SUPERSEDED)
            if holder is None:
                return self.added(outcome, Known(content))
            assert outcome.memory is not None
            assert (outcome.status, outcome.memory.id) == (Status.DUPLICATE, holder)
        return multiple()

    def overtaken(self, outcome: Outcome, content: str) -> None:
        if outcome.memory is not None:
            assert outcome.status is Status.DUPLICATE
            assert self.model[outcome.memory.id].content == content
            assert self.model[outcome.memory.id].reason is None
        else:
            assert isinstance(outcome.error, Conflict)
            head = outcome.error.head
            assert head is None or self.model[head].reason is None

    @rule(old=known_ids, content=st.none() | CONTENTS, tag=st.none() | st.sampled_from(["x", "y"]))
    def update(self, old: str, content: str | None, tag: str | None) -> None:
        known = self.model[old]
        tags = None if tag is None else (tag,)
        edit = Edit(memory_id=old, viewer=viewer(), origin=origin(), content=content, tags=tags)
        before = self.runner.run(row(self.database, old))
        if known.reason is not None or self.due(known):
            with pytest.raises(NotFound):
                self.runner.run(self.writing.update(edit))
            return
        changed = content not in (None, before.content) or tags not in (None, before.tags)
        taken = self.holder(content) if content is not None and changed and known.keyed else None
        if taken not in (None, old):
            with pytest.raises(Conflict):
                self.runner.run(self.writing.update(edit))
            return
        after = self.runner.run(self.writing.update(edit))
        assert after.revision == before.revision + changed
        known.changes += changed
        known.content = content or known.content

    @rule(old=known_ids)
    def forget(self, old: str) -> None:
        known = self.model[old]
        forgotten = self.writing.forget(old, viewer(), origin(), "")
        if self.due(known):
            with pytest.raises(NotFound):
                self.runner.run(forgotten)
        elif known.reason is Reason.SUPERSEDED:
            with pytest.raises(Conflict):
                self.runner.run(forgotten)
        else:
            assert self.runner.run(forgotten).reason is Reason.FORGOTTEN
            if known.reason is None:
                self.end(old, Reason.FORGOTTEN)

    @rule(old=known_ids)
    def forget_after_expiry_is_refused(self, old: str) -> None:
        if self.model[old].reason is Reason.EXPIRED:
            with pytest.raises(NotFound):
                self.runner.run(self.writing.forget(old, viewer(), origin(), ""))

    @rule(step=st.integers(1, 3))
    def time_passes(self, step: int) -> None:
        self.clock.advance(step)

    @rule(limit=st.integers(1, 3))
    def the_housekeeper_comes(self, limit: int) -> None:
        due = [key for key, known in self.model.items() if known.reason is None and self.due(known)]
        assert self.runner.run(self.upkeep.expire_due(limit, self.clock.now())) == min(limit, len(due))
        for key in due:
            if self.runner.run(row(self.database, key)).reason is Reason.EXPIRED:
                self.end(key, Reason.EXPIRED)

    # What always holds

    @invariant()
    def the_rows_are_as_the_model_has_them(self) -> None:
        keyed = self.runner.run(self.database.read(all_rows))
        found, keys = (
            {key: memory for key, (memory, _) in keyed.items()},
            {key: each for key, (_, each) in keyed.items()},
        )
        assert keys.keys() == self.model.keys()
        for key, known in self.model.items():
            memory = found[key]
            assert (memory.content, memory.reason) == (known.content, known.reason)
            assert memory.revision == known.changes >= known.seen
            known.seen = memory.revision
            assert keys[key] == (dedupe_key(memory) if known.keyed else None)
        self.no_chain_has_two_heads(found)

    def no_chain_has_two_heads(self, found: dict[str, Memory]) -> None:
        chain = {key: key for key in found}
        for link in self.runner.run(rows(self.database, "SELECT child_id, parent_id FROM memory_lineage")):
            one, other = chain[link["child_id"]], chain[link["parent_id"]]
            chain = {key: one if end == other else end for key, end in chain.items()}
        heads = [chain[key] for key, memory in found.items() if memory.reason is None]
        assert len(heads) == len(set(heads))

    @invariant()
    def audit_and_events_tell_every_revision_once(self) -> None:
        told: dict[str, list[int]] = {key: [] for key in self.model}
        for event in self.runner.run(announced(self.database)):
            told[event["memory_id"]].append(event["revision"])
        audited: dict[str, list[int]] = {key: [] for key in self.model}
        for line in self.runner.run(rows(self.database, "SELECT memory_id, revision FROM memory_history ORDER BY id")):
            audited[line["memory_id"]].append(line["revision"])
        expected = {key: list(range(1, known.changes + 1)) for key, known in self.model.items()}
        assert told == audited == expected


def test_the_laws_of_the_truth(database_url: str) -> None:
    async def prepare() -> None:
        database = open_database(database_url)
        await database.write(make_tables)
        await database.close()

    asyncio.run(prepare())
    machine = type("UsersHere", (Users,), {"url": database_url})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples(40),
            stateful_step_count=50,
            deadline=None,
            # Report a failure at once: shrinking it would take minutes of real transactions.
            phases=[Phase.explicit, Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
