"""A store whose memories are synchronised with the pages of a vault."""

from collections.abc import Sequence

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Criteria, visible
from openbrain.domain.events.submission import Submission
from openbrain.domain.memory import Memory, MemoryType
from openbrain.ports.store.writes import Origin
from openbrain.usecases.auth import Actor
from openbrain.usecases.content.policy import DetectingPolicy
from openbrain.usecases.remember import Offer, remember
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.pages.arcs import Arc
from openbrain.vault.values import Problem
from openbrain_tick.apply.sync_memories import SyncedMemories, sync_memories
from tests.support.store.fixtures import FakeClock

WORKSPACE = "w1"
TICK = Actor(key_id="k", name="k", workspace_id=WORKSPACE, agent_id="", permissions=frozenset({Permission.BRAIN_WRITE}))


def page(name: str, body: str, project: str = "shop") -> Arc:
    text = f"---\ncluster_id: {name}\nproject: {project}\ncreated: 2026-03-02\n---\n\n{body}\n"
    return parse_arc(f"clusters/2026-03-02/{name}.md", text, 0)


def mark(content: str, kind: str = "lesson", attrs: str = "") -> str:
    return f"<!-- @{kind}{attrs} -->\n{content}\n<!-- @/{kind} -->\n"


class Brain:
    """A store whose memories are synchronised with a vault."""

    def __init__(self, database: Database, clock: FakeClock) -> None:
        self.store = SqlStore(database, clock)
        self.clock = clock

    async def sync(self, *pages: Arc, problems: Sequence[Problem] = (), share: float = 0.5) -> SyncedMemories:
        return await sync_memories(
            WORKSPACE,
            pages,
            problems,
            store=self.store,
            clock=self.clock,
            content_policy=DetectingPolicy(),
            forget_share=share,
        )

    async def living(self) -> list[Memory]:
        found = await self.store.memories.listing(visible(TICK.viewer(), Criteria(), self.clock.now()), 100)
        return sorted(found, key=lambda memory: memory.content)

    async def said(self) -> list[str]:
        return [memory.content for memory in await self.living()]

    async def say(self, content: str) -> Memory:
        """Another agent remembers it."""
        given = Submission(content=content, type=MemoryType.FACT, project="shop")
        offer = Offer(submission=given, actor=TICK, origin=Origin(actor="ada"))
        (outcome,) = await remember(
            [offer], writes=self.store.writes, clock=self.clock, content_policy=DetectingPolicy()
        )
        assert outcome.memory is not None
        return outcome.memory


@pytest.fixture
def brain(database: Database, clock: FakeClock) -> Brain:
    return Brain(database, clock)
