"""Webhooks get the broadcasts meant for them, in order, at least once; a failing webhook does not delay the others."""

import asyncio
from typing import Any

import orjson
import pytest

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import NeverRetry, OpenBrainError, TryLater
from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.domain.signals.values import HaltScope, Severity, Step
from openbrain.ports.http import Address
from openbrain.ports.store.webhooks import Webhook
from openbrain_amygdala.jobs import webhooks
from openbrain_amygdala.jobs.webhooks import Posting, post_again, post_due
from tests.support.signals.raising import change, raise_one, signal_of, workspace
from tests.support.store.fixtures import START

BACKOFF_S = (10, 60)


@pytest.fixture(params=["sqlite"])
def database_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """SQLite is enough: the store's contract tests cover what all databases do alike."""
    return f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('truth')}/truth.db"


class Taker:
    """A webhook's receiver: keeps what it was given, or refuses it."""

    def __init__(self) -> None:
        self.posts: list[tuple[int, dict[str, Any]]] = []
        self.error: OpenBrainError | None = None

    async def post(self, webhook: Address, seq: int, body: bytes) -> None:
        assert webhook.secret
        if self.error is not None:
            raise self.error
        self.posts.append((seq, orjson.loads(body)["data"]))


async def hooked(store: SqlStore, **changes: Any) -> Webhook:
    """Add a webhook to w1 that gets broadcasts from now on."""
    given = {"id": "h-1", "workspace_id": "w1", "url": "https://example.org", "secret": "s", "created_by": "ada"}
    return await store.webhooks.add_webhook(Webhook(**{**given, "created_at": START, **changes}), 10)


async def post(store: SqlStore, taker: Taker) -> int:
    """Run one round for all webhooks that are due now or later."""
    posting = Posting(store, taker, BACKOFF_S)
    return sum([await posting(each) for each in await store.webhooks.due_webhooks(2**62, 10)])


async def test_it_is_given_what_was_told_since_in_order_and_once(store: SqlStore) -> None:
    await workspace(store)
    await raise_one(store, content="before")
    taker, made = Taker(), await hooked(store)
    signals = [await signal_of(store, content=f"number {number}") for number in range(3)]
    await store.signals.change_signal(change(signals[0], Step.RESOLVED))

    assert await post(store, taker) == 4
    assert [seq for seq, _ in taker.posts] == [2, 3, 4, 5]
    assert [data["change"] for _, data in taker.posts] == ["raised"] * 3 + ["resolved"]
    assert await post(store, taker) == 0
    found = await store.webhooks.webhook("w1", made.id)
    assert found is not None
    assert (found.cursor, found.error) == (5, "")
    assert found.delivered_at is not None


@pytest.mark.parametrize("removed", [False, True])
async def test_one_that_is_removed_or_disabled_is_given_nothing_more(store: SqlStore, removed: bool) -> None:
    await workspace(store)
    made = await hooked(store)
    for number in range(3):
        await raise_one(store, content=f"number {number}")

    class Leaving(Taker):
        async def post(self, webhook: Address, seq: int, body: bytes) -> None:
            await super().post(webhook, seq, body)
            if removed:
                await store.webhooks.remove_webhook("w1", made.id)
            else:
                await store.webhooks.enable_webhook("w1", made.id, enabled=False)

    taker = Leaving()
    assert await post(store, taker) == 1
    assert [seq for seq, _ in taker.posts] == [1]
    if not removed:
        await store.webhooks.enable_webhook("w1", made.id, enabled=True)
        assert await post(store, again := Taker()) == 2
        assert [seq for seq, _ in again.posts] == [2, 3]


async def test_it_hears_of_its_orgs_and_of_what_was_strong_enough_to_its_end(store: SqlStore) -> None:
    await workspace(store)
    taker, _ = Taker(), await hooked(store, orgs=("acme",), without_org=False, min_severity=Severity.CRITICAL)
    await raise_one(store, org="acme", content="weak")
    await raise_one(store, org="other", severity=Severity.CRITICAL, content="another's")
    await raise_one(store, severity=Severity.CRITICAL, content="nobody's")
    strong = await signal_of(store, org="acme", severity=Severity.CRITICAL, content="its own")
    await store.signals.change_signal(change(strong, Step.RESOLVED))

    assert await post(store, taker) == 2
    assert [(data["content"], data["change"]) for _, data in taker.posts] == [
        ("its own", "raised"),
        ("its own", "resolved"),
    ]
    assert await store.webhooks.due_webhooks(2**62, 10) == [], "the cursor has passed what is not meant for it"


async def test_of_another_orgs_halt_of_everyone_it_hears_that_and_not_why(store: SqlStore) -> None:
    await workspace(store)
    taker, _ = Taker(), await hooked(store, orgs=("acme",))
    await raise_one(store, org="other", severity=Severity.NUCLEAR, title="their secret", halt_scope=HaltScope.WORKSPACE)

    await post(store, taker)
    assert [data["halt"] for _, data in taker.posts] == [True]
    assert "secret" not in str(taker.posts)


async def test_one_that_takes_nothing_is_tried_again_later_and_in_the_end_given_up(store: SqlStore) -> None:
    await workspace(store)
    taker, made = Taker(), await hooked(store)
    for number in range(2):
        await raise_one(store, content=f"number {number}")
    taker.error = TryLater("the webhook answered 500")
    waits: list[float] = []
    for attempt in range(1, 3):
        assert await post(store, taker) == 0
        now = await store.time()
        found = await store.webhooks.webhook("w1", made.id)
        assert found is not None
        assert (found.attempts, found.cursor, found.error) == (attempt, 0, "the webhook answered 500")
        assert await store.webhooks.due_webhooks(now, 10) == []
        waits.append((found.next_attempt_at - now) / MICROSECONDS)
    assert [wait <= told for wait, told in zip(waits, BACKOFF_S, strict=True)] == [True, True]
    assert waits[1] > waits[0]

    await post(store, taker)
    (letter,) = await store.webhook_letters.webhook_dead_letters("w1", made.id, 10)
    assert (letter.seq, letter.attempts, letter.error) == (1, 3, "the webhook answered 500")
    taker.error = None
    assert await post(store, taker) == 1, "the next broadcast has its own attempts"
    assert [seq for seq, _ in taker.posts] == [2]


async def test_an_attempt_planned_by_a_clock_that_was_ahead_is_made(store: SqlStore) -> None:
    await workspace(store)
    taker, made = Taker(), await hooked(store)
    await raise_one(store)
    await store.webhooks.webhook_failed(made.id, 1, await store.time() + DAY, "no answer")

    assert await post_due(store, Posting(store, taker, BACKOFF_S), 10) == 1


async def test_an_address_that_the_rules_refuse_is_given_up_at_once(store: SqlStore) -> None:
    await workspace(store)
    taker, made = Taker(), await hooked(store)
    await raise_one(store)
    taker.error = NeverRetry("a private address")

    await post(store, taker)
    assert [letter.attempts for letter in await store.webhook_letters.webhook_dead_letters("w1", made.id, 10)] == [1]


async def test_a_round_ends_when_all_of_its_posts_have_ended_though_one_raised(store: SqlStore) -> None:
    """Otherwise the next round would post the same broadcasts at the same time."""
    await workspace(store)
    running, ended = set[str](), list[str]()

    class Mixed(Taker):
        async def post(self, webhook: Address, seq: int, body: bytes) -> None:
            if webhook.url.endswith("bad"):
                raise LookupError
            running.add(webhook.url)
            await asyncio.sleep(0.2)
            running.discard(webhook.url)
            ended.append(webhook.url)

    await hooked(store, id="h-1", url="https://example.org/bad")
    await hooked(store, id="h-2", url="https://example.org/slow")
    await raise_one(store)
    with pytest.raises(LookupError):
        await post_due(store, Posting(store, Mixed(), BACKOFF_S), 10)

    assert (running, ended) == (set(), ["https://example.org/slow"])


async def test_a_webhook_that_answers_slowly_holds_no_round_for_long(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither with live broadcasts nor with replayed ones; the next rounds post the others."""
    monkeypatch.setattr(webhooks, "ROUND_S", 0.0)
    await workspace(store)
    taker, made = Taker(), await hooked(store)
    for number in range(3):
        await raise_one(store, content=f"number {number}")

    assert [await post(store, taker) for _ in range(4)] == [1, 1, 1, 0]
    assert [seq for seq, _ in taker.posts] == [1, 2, 3]

    taker.error = NeverRetry("a private address")
    for number in range(3, 6):
        await raise_one(store, content=f"number {number}")
        await post(store, taker)
    taker.error = None
    await store.webhook_letters.replay_webhook_dead_letters("w1", made.id)

    assert [await post_again(store, taker, 10) for _ in range(4)] == [1, 1, 1, 0]
    assert [seq for seq, _ in taker.posts] == [1, 2, 3, 4, 5, 6]


async def test_a_dead_letter_is_posted_again_once_and_is_dead_again_where_it_is_not_taken(store: SqlStore) -> None:
    await workspace(store)
    taker, made = Taker(), await hooked(store)
    for number in range(2):
        await raise_one(store, content=f"number {number}")
    taker.error = NeverRetry("a private address")
    await post(store, taker)
    await post(store, taker)
    assert await post_again(store, taker, 10) == 0, "nobody asked for a replay"
    await store.webhook_letters.replay_webhook_dead_letters("w1", made.id)
    assert await store.webhook_letters.purge_webhook_dead_letters(2**62, 10) == 0, "kept while it waits for its replay"
    taker.error = TryLater("the webhook answered 500")
    assert await post_again(store, taker, 10) == 2
    again = await store.webhook_letters.webhook_dead_letters("w1", made.id, 10)
    assert [(each.attempts, each.error, each.at > 0) for each in again] == [(2, "the webhook answered 500", True)] * 2

    taker.error = None
    await store.webhook_letters.replay_webhook_dead_letters("w1", made.id, [2])
    assert await post_again(store, taker, 10) == 1
    assert [seq for seq, _ in taker.posts] == [2]
    assert [each.seq for each in await store.webhook_letters.webhook_dead_letters("w1", made.id, 10)] == [1]


async def test_a_dead_letter_waits_while_its_webhook_is_disabled(store: SqlStore) -> None:
    await workspace(store)
    taker, made = Taker(), await hooked(store)
    await raise_one(store)
    taker.error = NeverRetry("a private address")
    await post(store, taker)
    taker.error = None
    await store.webhooks.enable_webhook("w1", made.id, enabled=False)
    await store.webhook_letters.replay_webhook_dead_letters("w1", made.id)
    assert await post_again(store, taker, 10) == 0

    await store.webhooks.enable_webhook("w1", made.id, enabled=True)
    assert await post_again(store, taker, 10) == 1


async def test_a_dead_letter_holds_no_more_than_its_webhook_may_hear(store: SqlStore) -> None:
    """The webhook learns that another org's halt stops everyone, but not why."""
    await workspace(store)
    taker, made = Taker(), await hooked(store, orgs=("acme",))
    await raise_one(
        store, content="why", org="other", severity=Severity.NUCLEAR, halt=True, halt_scope=HaltScope.WORKSPACE
    )
    taker.error = NeverRetry("a private address")
    await post(store, taker)
    (letter,) = await store.webhook_letters.webhook_dead_letters("w1", made.id, 10)

    assert b"why" not in letter.body


async def test_each_has_its_turn_although_more_are_due_than_are_posted_to_at_once(store: SqlStore) -> None:
    await workspace(store)
    heard = list[str]()

    class Named(Taker):
        async def post(self, webhook: Address, seq: int, body: bytes) -> None:
            heard.append(webhook.url)

    posting = Posting(store, Named(), BACKOFF_S)
    for number in range(5):
        await hooked(store, id=f"h-{number}", url=f"https://example.org/{number}")
    for number in range(5):
        await raise_one(store, content=f"number {number}")
        await post_due(store, posting, 2)

    assert {url[-1] for url in heard} == set("01234"), "new broadcasts for the first do not put off the last"
