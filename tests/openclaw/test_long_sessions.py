"""The long form: days of conversation in minutes, with kills, restarts, outages and compactions."""

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import pytest

from openbrain.usecases.auth import hash_secret, issue
from openbrain_cli.agents.clients import PERMISSIONS
from tests.integration.conftest import Servers
from tests.openclaw.harness.brains import RunningBrain, ServiceBrain, embedded_brain, thoughts
from tests.openclaw.harness.gateway import Gateway
from tests.openclaw.harness.talker import Talker
from tests.openclaw.harness.verifying import (
    pairs_whole,
    sessions,
    stable_shares,
    stored_once_in_order,
    transcript,
    within_window,
)
from tests.support.api.served import served
from tests.support.cli.services import Services
from tests.support.forms import long_form
from tests.support.waiting import until

pytestmark = [
    pytest.mark.servers("node", "openclaw"),
    pytest.mark.timeout(3_600),
    pytest.mark.slow("two hundred turns of a real host"),
    pytest.mark.skipif(not long_form(), reason="the long form alone: make test-openclaw"),
]
TURNS = 200
COMPACTED, RESTARTED, AWAY, BACK, KILLED, SPAWNED, BOTH = 40, 60, 80, 83, 100, 120, range(140, 160)
KEY = "agent:main:t1"
AGENTS = ("main", "second")
LIST = 'CALL {"name": "ls", "args": {"path": "."}}'
SPAWN = 'CALL {"name": "tool_call", "args": {"id": "sessions_spawn", "args": {"task": "[child #1] Count the lamps."}}}'


@dataclass
class Conversation:
    host: Gateway
    brain: RunningBrain
    model: Talker

    async def turn(self, number: int, more: str = "", session: str = "t1", agent: str = "main") -> None:
        filler = f"Village {number} has {number * 7 % 90} wells and a road to village {number + 1}. "
        await self.host.says(f"[{session} #{number}] {filler * 8}{more}", session, agent)

    async def events(self, number: int) -> None:
        """Run the events planned for this turn: kills, restarts, compactions."""
        if number == COMPACTED:
            assert "Compacted session" in await self.host.compact()
        elif number == RESTARTED:
            self.host.kill(signal.SIGTERM)
            await self.host.start()
        elif number == AWAY:
            cut = asyncio.create_task(self.turn(number, LIST))
            await until(lambda: self._asked(number))
            self.brain.kill()
            await cut
        elif number == BACK:
            await self.brain.start()
        elif number == KILLED:
            cut = asyncio.create_task(self.turn(number, "HOLD"))
            await self.model.held.wait()
            self.host.kill()
            await asyncio.gather(cut, return_exceptions=True)
            await self.host.start()
        elif number == SPAWNED:
            await self.turn(number, SPAWN)
        elif number in BOTH:
            await asyncio.gather(self.turn(number, LIST), self.turn(number, LIST, "s1", "second"))

    async def _asked(self, number: int) -> bool:
        return self.model.asked[-1].turn == number


async def holds(talk: Conversation) -> None:
    for number in range(1, TURNS + 1):
        await talk.events(number)
        if number not in (AWAY, KILLED, SPAWNED, *BOTH):
            await talk.turn(number, LIST if number % 5 == 0 else "")

    counted = {}
    for agent in AGENTS:
        database = talk.host.transcript(agent)
        for session in sessions(database):
            turns = transcript(database, session)
            stored_once_in_order(turns, await thoughts(talk.brain, session))
            counted[session] = len(turns)
    for asked in talk.model.asked:
        within_window(asked)
        pairs_whole(asked)
    summaries = await thoughts(talk.brain, KEY, "summary")
    depths = [row["metadata"]["depth"] for row in summaries]
    whole, said = (stable_shares(talk.model.of("t1"), first) for first in (0, 1))
    sys.stdout.write(
        f"\nturns: {counted}; summaries by depth: {dict(sorted(Counter(depths).items()))}; "
        f"the same as in the request before: {mean(whole):.3f} of all, {mean(said):.3f} of what was said\n"
    )
    assert counted[KEY] >= TURNS - 1, "one was cut off, and the host may join it to the next"
    assert counted["agent:second:s1"] == len(BOTH)
    assert any("subagent" in session for session in counted)
    assert len(depths) > 3
    assert mean(whole) > 0.8
    assert "degraded to legacy" not in talk.host.log


@asynccontextmanager
async def host_of(home: Path, plugin: Path, brain: RunningBrain) -> AsyncIterator[Conversation]:
    model = Talker()
    async with served(model.app()) as model_url:
        host = Gateway(home, model_url, plugin, agents=AGENTS)
        host.configure(brain.url, brain.key)
        try:
            await host.start()
            yield Conversation(host, brain, model)
        finally:
            await host.ended()


async def test_two_hundred_turns_on_embedded_parts(plugin: Path, tmp_path: Path) -> None:
    async with embedded_brain(tmp_path / "brain") as brain, host_of(tmp_path / "home", plugin, brain) as talk:
        await holds(talk)


async def test_two_hundred_turns_on_servers(plugin: Path, servers: Servers, started: Services, tmp_path: Path) -> None:
    permissions = frozenset(PERMISSIONS)
    key, secret = issue(workspace_id="default", name="host", permissions=permissions, now=0, agent_id="main")
    await servers.store.api_keys.create_key(key, hash_secret(secret))
    brain = ServiceBrain(started, secret)
    await brain.start()
    async with host_of(tmp_path / "home", plugin, brain) as talk:
        await holds(talk)
