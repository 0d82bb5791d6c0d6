"""Webhooks in both databases: who owns them, how far each has read, and which posts each failed to receive."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest
from sqlalchemy import text

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.signals.webhooks import SqlWebhooks
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import Conflict, NotFound
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import DAY
from openbrain.domain.signals.values import Severity
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.webhooks import Webhook, WebhookDeadLetter
from tests.support.store.fixtures import START, FakeClock
from tests.support.store.parts import LostResponses

MOST = 3


@pytest.fixture(autouse=True)
async def _workspaces(store: SqlStore) -> None:
    for workspace in ("w1", "w2"):
        await store.workspaces.create_workspace(Workspace(id=workspace, name=workspace, created_at=START))


async def broadcast_up_to(database: Database, seq: int, workspace: str = "w1") -> None:
    told = text("UPDATE workspaces SET signal_seq = :seq WHERE id = :id")
    await database.write(lambda connection: connection.execute(told, {"seq": seq, "id": workspace}).rowcount)


def webhook(**changes: Any) -> Webhook:
    return Webhook(
        **{
            "id": uuid7(START),
            "workspace_id": "w1",
            "url": "https://example.org/hook",
            "secret": "s" * 32,
            "created_by": "ada",
            "created_at": START,
            **changes,
        }
    )


def letter(of: Webhook, seq: int, at: int = START) -> WebhookDeadLetter:
    return WebhookDeadLetter(
        webhook_id=of.id, workspace_id="w1", seq=seq, body=b"{}", attempts=4, error="no answer", at=at
    )


async def test_one_begins_behind_what_was_broadcast_before_it(store: SqlStore, database: Database) -> None:
    await broadcast_up_to(database, 7)
    made = await store.webhooks.add_webhook(
        webhook(orgs=("acme",), without_org=False, min_severity=Severity.NUCLEAR), MOST
    )

    assert made.cursor == 7
    assert await store.webhooks.webhook("w1", made.id) == made
    assert await store.webhooks.due_webhooks(START, 10) == []
    await broadcast_up_to(database, 8)
    assert await store.webhooks.due_webhooks(START, 10) == [made]


async def test_it_is_of_its_workspace_alone(store: SqlStore) -> None:
    made = await store.webhooks.add_webhook(webhook(), MOST)

    assert await store.webhooks.webhook("w2", made.id) is None
    assert await store.webhooks.webhooks("w2", 10) == []
    assert not await store.webhooks.remove_webhook("w2", made.id)
    with pytest.raises(NotFound):
        await store.webhooks.enable_webhook("w2", made.id, enabled=False)
    with pytest.raises(NotFound):
        await store.webhooks.add_webhook(webhook(workspace_id="w3"), MOST)


async def test_they_are_listed_in_pages_and_are_no_more_than_may_be(store: SqlStore) -> None:
    offered = [webhook(created_at=START + number) for number in range(MOST + 2)]
    results = await asyncio.gather(
        *(store.webhooks.add_webhook(each, MOST) for each in offered), return_exceptions=True
    )

    assert sorted(type(result).__name__ for result in results) == ["Conflict"] * 2 + ["Webhook"] * MOST
    first = await store.webhooks.webhooks("w1", 2)
    rest = await store.webhooks.webhooks("w1", 2, (first[-1].created_at, first[-1].id))
    assert [*first, *rest] == sorted(
        (each for each in results if isinstance(each, Webhook)), key=lambda w: w.created_at
    )
    with pytest.raises(Conflict, match="remove one"):
        await store.webhooks.add_webhook(webhook(), MOST)


async def test_a_cursor_only_rises_and_a_success_forgets_the_failures(store: SqlStore, database: Database) -> None:
    made = await store.webhooks.add_webhook(webhook(), MOST)
    await broadcast_up_to(database, 3)
    await store.webhooks.webhook_failed(made.id, 1, START + 10, "no answer")
    assert await store.webhooks.due_webhooks(START + 9, 10) == []
    (due,) = await store.webhooks.due_webhooks(START + 10, 10)
    assert (due.attempts, due.error) == (1, "no answer")

    await store.webhooks.webhook_delivered(made.id, 2, START + 11)
    await store.webhooks.webhook_delivered(made.id, 1, START + 12)
    (due,) = await store.webhooks.due_webhooks(START + 13, 10)
    assert due == replace(made, cursor=2, delivered_at=START + 11)
    await store.webhooks.webhook_delivered(made.id, 3, START + 14)
    assert await store.webhooks.due_webhooks(START + 15, 10) == []


async def test_an_attempt_planned_by_a_clock_that_was_ahead_is_due(store: SqlStore, database: Database) -> None:
    made = await store.webhooks.add_webhook(webhook(), MOST)
    await broadcast_up_to(database, 1)
    await store.webhooks.webhook_failed(made.id, 1, START + DAY, "no answer")

    assert await store.webhooks.due_webhooks(START, 10, latest=START + DAY) == []
    (due,) = await store.webhooks.due_webhooks(START, 10, latest=START + DAY - 1)
    assert due.id == made.id


async def test_what_is_given_up_is_kept_and_does_not_hold_up_the_next(store: SqlStore, database: Database) -> None:
    made = await store.webhooks.add_webhook(webhook(), MOST)
    await broadcast_up_to(database, 2)
    await store.webhooks.webhook_failed(made.id, 3, START + 10, "no answer")
    for _ in range(2):
        await store.webhooks.webhook_given_up(letter(made, 1))

    (due,) = await store.webhooks.due_webhooks(START, 10)
    assert (due.cursor, due.attempts) == (1, 0)
    assert await store.webhook_letters.webhook_dead_letters("w1", made.id, 10) == [letter(made, 1)]
    assert await store.webhook_letters.webhook_dead_letters("w1", made.id, 10, after=1) == []
    assert await store.webhook_letters.webhook_dead_letters("w2", made.id, 10) == []
    assert await store.webhooks.remove_webhook("w1", made.id)
    assert await store.webhook_letters.webhook_dead_letters("w1", made.id, 10) == []
    await store.webhooks.webhook_given_up(letter(made, 2))
    assert await store.webhook_letters.webhook_dead_letters("w1", made.id, 10) == [], (
        "a deleted webhook has no dead letters"
    )


async def test_one_that_is_disabled_rests_and_goes_on_where_it_stopped(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    made = await store.webhooks.add_webhook(webhook(), MOST)
    await broadcast_up_to(database, 1)
    disabled = await store.webhooks.enable_webhook("w1", made.id, enabled=False)
    clock.advance(5)
    assert await store.webhooks.enable_webhook("w1", made.id, enabled=False) == disabled
    assert await store.webhooks.due_webhooks(START, 10) == []
    assert await store.webhooks.enable_webhook("w1", made.id, enabled=True) == made
    assert await store.webhooks.due_webhooks(START, 10) == [made]


async def test_old_dead_letters_go(store: SqlStore, database: Database) -> None:
    made = await store.webhooks.add_webhook(webhook(), MOST)
    await broadcast_up_to(database, 5)
    for seq in range(1, 4):
        await store.webhooks.webhook_given_up(letter(made, seq, START + seq))

    assert await store.webhook_letters.purge_webhook_dead_letters(START + 3, 1) == 1
    assert await store.webhook_letters.purge_webhook_dead_letters(START + 3, 10) == 1
    assert [each.seq for each in await store.webhook_letters.webhook_dead_letters("w1", made.id, 10)] == [3]


async def test_a_webhook_counts_as_removed_after_a_lost_response_to_the_commit(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    twice = SqlWebhooks(cast("Database", LostResponses(database)), clock)
    made = await store.webhooks.add_webhook(webhook(), most=1)

    assert await twice.remove_webhook("w1", made.id)
    assert not await twice.remove_webhook("w1", made.id)


async def test_a_lost_response_to_the_commit_adds_one_webhook(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    made = await SqlWebhooks(cast("Database", LostResponses(database)), clock).add_webhook(webhook(), most=1)

    assert await store.webhooks.webhooks("w1", 9) == [made]
