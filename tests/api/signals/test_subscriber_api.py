"""A subscriber on the real API and database, by server-sent events, while the stream server is dead."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from openbrain.client import OpenBrain
from openbrain.client.subscriber import FileCursor, Subscriber, subscribe
from openbrain.client.subscriber.http_api import HttpApi
from openbrain.contract.messages import MessageAnswer
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Halted, SetupError, Unauthorised
from openbrain.domain.signals.values import HaltState, Raise, Severity
from tests.support.api.brain import Brain
from tests.support.api.served import served
from tests.support.signals.agents import Ear
from tests.support.streams.consumers import eventually


@pytest.fixture
async def url(brain: Brain) -> AsyncIterator[str]:
    async with served(brain.app()) as address:
        yield address


@pytest.fixture
async def admin(brain: Brain, url: str) -> AsyncIterator[OpenBrain]:
    async with OpenBrain(url, await brain.key(permissions=frozenset(Permission))) as client:
        yield client


@asynccontextmanager
async def hearing(brain: Brain, url: str, agent: str = "ada", **more: Any) -> AsyncIterator[tuple[Subscriber, Ear]]:
    ear = Ear()
    async with subscribe(ear, url=url, key=await brain.key(agent=agent), **more) as made:
        yield made, ear


async def open_incidents(admin: OpenBrain, *titles: str, **more: Any) -> list[str]:
    raised = [await admin.raise_signal(source="probe", severity="warning", title=title, **more) for title in titles]
    return [each.signal.id for each in raised if each.signal is not None]


async def test_it_hears_what_burns_and_what_comes(brain: Brain, url: str, admin: OpenBrain, tmp_path: Path) -> None:
    first, second = await open_incidents(admin, "one", "two")
    await admin.resolve_signal(first)
    async with hearing(brain, url, cursor=tmp_path / "ada") as (_, ear):
        await eventually(lambda: [each.signal_id for each in ear.said] == [second])
        assert (ear.said[0].title, ear.said[0].severity, ear.said[0].state) == ("two", "warning", "active")
        await admin.resolve_signal(second)
        await eventually(lambda: [each.state for each in ear.said] == ["active", "resolved"])
    await open_incidents(admin, "three", "four")

    async with hearing(brain, url, cursor=tmp_path / "ada") as (made, ear):
        await eventually(lambda: ear.heard == [5, 6])
        assert made.standing.cursor == 6


async def test_a_halt_is_acknowledged_and_ends(brain: Brain, url: str, admin: OpenBrain) -> None:
    async with hearing(brain, url) as (made, _):
        await made.guard(wait=False)
        halt = (await admin.raise_halt(title="stop")).halt
        assert halt is not None
        await eventually(lambda: made.standing.halted)

        async def acknowledged() -> bool:
            return [ack.agent_id for ack in (await admin.halt(halt.id)).acks] == ["ada"]

        await eventually(acknowledged)
        async with hearing(brain, url, "late") as (late, _):
            with pytest.raises(Halted, match=halt.id):
                late.check()
            await admin.resume_halt(halt.id)
            await made.guard()
            await late.guard()
    assert (await admin.halt(halt.id)).state is HaltState.RESUMED


async def test_halts_and_signals_of_others_are_not_heard_and_leave_no_gap(
    brain: Brain, url: str, admin: OpenBrain, tmp_path: Path
) -> None:
    ear = Ear()
    client = OpenBrain(url, await brain.key(agent="ada", orgs=("mine",)))
    cursor = FileCursor(tmp_path / "ada")
    async with Subscriber(HttpApi(client, via="sse", org="mine"), ear, org="mine", cursor=cursor) as made:
        await open_incidents(admin, "theirs", org="theirs")
        await open_incidents(admin, "ours", org="mine")
        await admin.raise_halt(title="stop", scope="org", org="theirs")
        await open_incidents(admin, "ours too", org="mine")
        await eventually(lambda: [each.title for each in ear.said] == ["ours", "ours too"])
        await eventually(lambda: made.standing.cursor == (ear.heard[-1]))
        assert not made.standing.halted


async def test_a_late_joiner_hears_all_that_burns_also_beyond_a_page(brain: Brain, url: str, admin: OpenBrain) -> None:
    await brain.store.signals.raise_signals(
        [
            Raise(
                workspace_id="w1",
                source=f"probe-{number}",
                severity=Severity.WARNING,
                title="it burns",
                content="",
                actor="probe",
                at=brain.clock.now(),
            )
            for number in range(130)
        ]
    )
    async with hearing(brain, url) as (_, ear):
        await eventually(lambda: len({each.source for each in ear.said}) == 130)


async def test_it_is_listed_as_listening(brain: Brain, url: str, admin: OpenBrain) -> None:
    async with hearing(brain, url):
        await brain.presence()
        assert [each.agent_id for each in (await admin.subscribers()).subscribers] == ["ada"]


async def test_messages_and_matches_are_heard_at_least_once_across_starts(
    brain: Brain, url: str, admin: OpenBrain, tmp_path: Path
) -> None:
    said: list[str] = []

    async def failing(message: MessageAnswer) -> None:
        said.append(f"{message.seq} {message.content}")
        if len(said) == 1:
            raise ValueError

    async def sent(*contents: str) -> None:
        for content in contents:
            await admin.send_message("ada", content)

    kept: dict[str, Any] = {"on_message": failing, "message_cursor": tmp_path / "inbox"}
    await sent("before it began")
    async with hearing(brain, url, **kept) as (made, _):
        assert made.standing.messages == 1  # at once: what is sent from now on is received
        await sent("one", "two")
        await eventually(lambda: made.standing.messages == 3)
    await sent("while it was away")
    async with hearing(brain, url, **kept) as (made, _):
        await eventually(lambda: made.standing.messages == 4)
    async with hearing(brain, url) as (deaf, _):
        assert deaf.standing.messages is None

    assert said == ["2 one", "2 one", "3 two", "4 while it was away"]


async def test_a_wrong_key_is_told_at_once(url: str) -> None:
    with pytest.raises(Unauthorised):
        async with subscribe(Ear(), url=url, key="ob_wrong"):
            pass


def test_redis_needs_a_workspace() -> None:
    with pytest.raises(SetupError, match="workspace"):
        subscribe(Ear(), url="http://127.0.0.1:1", redis_url="redis://127.0.0.1:1")


def test_two_cursors_need_two_files(tmp_path: Path) -> None:
    """Else signals would be continued after the number of a message."""
    (tmp_path / "link").symlink_to(tmp_path / "ada")
    for other in (tmp_path / "ada", tmp_path / "link"):
        with pytest.raises(SetupError, match="give each its own file"):
            subscribe(Ear(), url="http://127.0.0.1:1", cursor=tmp_path / "ada", message_cursor=str(other))
