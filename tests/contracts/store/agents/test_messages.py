"""Messages in both databases: numbered without gaps, sent once per key, visible to sender and recipient only."""

import asyncio
from typing import Any, cast

import pytest

from openbrain.adapters.sql.agents.messages import SqlMessages
from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Conflict
from openbrain.domain.ids import uuid7
from openbrain.ports.agents import Message, Sent
from tests.support.store.fixtures import START, FakeClock
from tests.support.store.parts import LostResponses

MOST = 5
ADA, BO, CY = (Viewer("w1", agent) for agent in ("ada", "bo", "cy"))


async def send(store: SqlStore, content: str, key: str = "", most: int = 100, **changes: Any) -> Sent:
    given = {"id": uuid7(START), "workspace_id": "w1", "sender": "ada", "recipient": "bo", "created_at": START}
    return await store.messages.send_message(Message(**{**given, "content": content, **changes}), key, most)


def contents(messages: Any) -> list[str]:
    return [each.content for each in messages]


async def test_numbers_have_no_gaps_however_many_send_at_once(store: SqlStore) -> None:
    await asyncio.gather(*(send(store, f"m{number}", sender=f"a{number % 3}") for number in range(20)))
    await send(store, "elsewhere", recipient="cy")

    found = await store.messages.inbox(BO, 100)
    assert [each.seq for each in found] == list(range(1, 21))
    assert {each.content for each in found} == {f"m{number}" for number in range(20)}
    assert contents(await store.messages.inbox(CY, 100)) == ["elsewhere"]


async def test_who_goes_on_behind_the_last_number_misses_none(store: SqlStore) -> None:
    for number in range(7):
        await send(store, f"m{number}")
    seen: list[str] = []
    after = 0
    while page := await store.messages.inbox(BO, 3, after):
        seen += contents(page)
        after = page[-1].seq

    assert seen == [f"m{number}" for number in range(7)]
    await send(store, "later")
    assert contents(await store.messages.inbox(BO, 3, after)) == ["later"]


async def test_a_key_brings_one_message_once(store: SqlStore) -> None:
    results = await asyncio.gather(*(send(store, "once", "key") for _ in range(5)))

    assert len({each.message.id for each in results}) == 1
    assert sorted(each.duplicate for each in results) == [False, True, True, True, True]
    with pytest.raises(Conflict):
        await send(store, "other words", "key")
    with pytest.raises(Conflict):
        await send(store, "once", "key", recipient="cy")
    assert not (await send(store, "once", "key", workspace_id="w2")).duplicate


async def test_a_lost_response_to_the_commit_sends_one_message(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    store.messages = SqlMessages(cast("Database", LostResponses(database)), clock)

    for number, key in enumerate(("", "key")):
        sent = await send(store, f"m{number}", key, most=2)
        assert (sent.message.seq, sent.duplicate) == (number + 1, False)

    assert contents(await store.messages.inbox(BO, 9)) == ["m0", "m1"]


async def test_a_full_inbox_takes_more_once_some_was_read(store: SqlStore) -> None:
    for number in range(MOST):
        await send(store, f"m{number}", most=MOST)
    with pytest.raises(Conflict):
        await send(store, "too much", most=MOST)

    assert await store.messages.mark_read(BO, up_to=2) == 2
    assert await store.messages.count_unread(BO) == MOST - 2
    await send(store, "fits", most=MOST)


async def test_only_the_recipient_marks_and_only_the_two_see(store: SqlStore, clock: FakeClock) -> None:
    sent = (await send(store, "between us")).message
    away = Viewer("w2", "bo")

    assert await store.messages.message(CY, sent.id) is None
    assert await store.messages.message(away, sent.id) is None
    assert await store.messages.message(ADA, sent.id) == sent
    for other in (ADA, CY, away):
        assert await store.messages.mark_read(other, [sent.id], up_to=9) == 0
        assert await store.messages.count_unread(other) == 0
    assert await store.messages.mark_read(BO, [sent.id]) == 1
    assert await store.messages.mark_read(BO, [sent.id]) == 0
    assert contents(await store.messages.inbox(BO, 9, unread=True)) == []
    read = await store.messages.message(BO, sent.id)
    assert read is not None
    assert read.read_at == clock.now()


async def test_what_is_of_an_org_is_seen_by_its_keys(store: SqlStore) -> None:
    await send(store, "of acme", org="acme")
    await send(store, "of none")
    beta = Viewer("w1", "bo", orgs=("beta",), without_org=True)
    acme = Viewer("w1", "bo", orgs=("acme",), without_org=False)

    assert contents(await store.messages.inbox(beta, 9)) == ["of none"]
    assert contents(await store.messages.inbox(acme, 9)) == ["of acme"]
    assert await store.messages.count_unread(acme) == 1
    assert contents(await store.messages.conversation(beta, "ada", 9)) == ["of none"]
    assert await store.messages.mark_read(beta, up_to=9) == 1


async def test_a_conversation_comes_in_pages_from_both_sides(store: SqlStore) -> None:
    for number in range(6):
        ends = ("ada", "bo") if number % 2 else ("bo", "ada")
        await send(store, f"m{number}", sender=ends[0], recipient=ends[1], created_at=START + number)
    await send(store, "another", sender="cy", created_at=START + 9)
    await send(store, "to myself", recipient="ada", created_at=START + 10)

    first = await store.messages.conversation(ADA, "bo", 4)
    last = first[-1]
    rest = await store.messages.conversation(ADA, "bo", 4, (last.created_at, last.id))
    assert contents([*first, *rest]) == ["m5", "m4", "m3", "m2", "m1", "m0"]
    assert contents(await store.messages.conversation(BO, "ada", 9)) == contents([*first, *rest])
    assert contents(await store.messages.conversation(ADA, "ada", 9)) == ["to myself"]


async def test_old_ones_go(store: SqlStore) -> None:
    for number in range(3):
        await send(store, f"m{number}", created_at=START + number)

    assert await store.messages.purge_messages(START + 2, 1) == 1
    assert await store.messages.purge_messages(START + 2, 9) == 1
    assert contents(await store.messages.inbox(BO, 9)) == ["m2"]
    assert (await send(store, "next")).message.seq == 4, "the numbering continues"
