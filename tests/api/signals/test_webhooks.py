"""Webhooks over HTTP: who may create one, for which URLs, and who sees it."""

import httpx
import pytest

from openbrain.client import OpenBrain
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Conflict, Forbidden, Invalid, NotFound
from openbrain.ports.store.webhooks import WebhookDeadLetter
from openbrain.settings.tuning import WebhookTuning
from openbrain.settings.webhooks import Webhooks
from openbrain.usecases.auth import OPERATORS
from tests.support.api.brain import Brain
from tests.support.signals.broadcasting import burn

URL = "https://hooks.example.org/openbrain?x=1"


@pytest.fixture(autouse=True)
def turned_on(brain: Brain) -> None:
    chosen = Webhooks(enabled=True, hosts=("hooks.example.org",), tuning=WebhookTuning(most=3))
    brain.settings = brain.settings.model_copy(update={"webhooks": chosen})


async def admin_of(brain: Brain, workspace: str = "w1", agent: str = "ada") -> OpenBrain:
    key = await brain.key(workspace, agent, permissions=frozenset(Permission))
    return OpenBrain("http://brain", key, transport=httpx.ASGITransport(brain.app()))


async def test_a_webhook_from_its_making_to_its_end(brain: Brain) -> None:
    """Its secret is returned once. It gets broadcasts from now on."""
    async with await admin_of(brain) as ada:
        await burn(brain.store, "before")
        made = await ada.create_webhook(URL, min_severity="critical")
        listed = await ada.webhooks()
        off = await ada.enable_webhook(made.id, enabled=False)
        on = await ada.enable_webhook(made.id)
        found = await ada.webhook(made.id)
        would = await ada.remove_webhook(made.id, dry_run=True)
        assert (await ada.webhook(made.id)) == found
        gone = await ada.remove_webhook(made.id)
        with pytest.raises(NotFound):
            await ada.webhook(made.id)

    assert made.secret.startswith("whsec_")
    assert (made.cursor, made.min_severity.value, made.enabled, made.created_by) == (1, "critical", True, "ada")
    assert (off.enabled, on.enabled) == (False, True)
    assert listed.webhooks == (found,)
    assert (found.url, gone.removed, would.removed) == (URL, True, False)
    assert made.secret not in f"{listed} {off} {found}"


async def test_what_could_not_be_posted_is_listed_without_what_was_said(brain: Brain) -> None:
    async with await admin_of(brain) as ada:
        made = await ada.create_webhook(URL)
        for seq in range(1, 4):
            letter = WebhookDeadLetter(
                webhook_id=made.id, workspace_id="w1", seq=seq, body=b"secret", attempts=5, error="503", at=5
            )
            await brain.store.webhooks.webhook_given_up(letter)
        first = await ada.webhook_dead_letters(made.id, limit=2)
        rest = await ada.webhook_dead_letters(made.id, after=first.next_after or 0)

    assert [(each.seq, each.attempts, each.error) for each in first.dead_letters] == [(1, 5, "503"), (2, 5, "503")]
    assert ([each.seq for each in rest.dead_letters], rest.next_after) == ([3], None)


async def test_what_could_not_be_posted_is_posted_again_where_somebody_asks(brain: Brain) -> None:
    async with await admin_of(brain) as ada:
        made = await ada.create_webhook(URL)
        for seq in (1, 2, 3):
            letter = WebhookDeadLetter(
                webhook_id=made.id, workspace_id="w1", seq=seq, body=b"{}", attempts=5, error="503", at=5
            )
            await brain.store.webhooks.webhook_given_up(letter)
        would = await ada.replay_webhook_dead_letters(made.id, dry_run=True)
        assert await brain.store.webhook_letters.replayed_webhook_letters(10) == []
        some = await ada.replay_webhook_dead_letters(made.id, (2, 9))
        waiting = [each.seq for _, each in await brain.store.webhook_letters.replayed_webhook_letters(10)]
        listed = await ada.webhook_dead_letters(made.id)
        everything = await ada.replay_webhook_dead_letters(made.id)
        removed = await ada.remove_webhook(made.id, dry_run=True)

    assert (would.count, some.count, everything.count, removed.dead_letters) == (3, 1, 3, 3)
    assert waiting == [2]
    assert [each.at is None for each in listed.dead_letters] == [False, True, False]


@pytest.mark.parametrize(
    "url",
    ["http://hooks.example.org/x", "https://127.0.0.1/x", "https://evil.example.org/x", "ftp://hooks.example.org", "x"],
)
async def test_an_address_that_may_not_be_posted_to_is_refused(brain: Brain, url: str) -> None:
    async with await admin_of(brain) as ada:
        with pytest.raises(Invalid) as refused:
            await ada.create_webhook(url)
        assert (await ada.webhooks()).count == 0

    assert refused.value.field == "url"


async def test_a_workspace_has_so_many_and_no_more(brain: Brain) -> None:
    async with await admin_of(brain) as ada:
        ids = []
        for _ in range(3):
            ids.append((await ada.create_webhook(URL)).id)
            brain.clock.advance(1)
        with pytest.raises(Conflict):
            await ada.create_webhook(URL)
        first = await ada.webhooks(limit=2)
        rest = await ada.webhooks(cursor=first.next_cursor)

    assert [each.id for each in (*first.webhooks, *rest.webhooks)] == ids


async def test_a_webhook_says_which_workspace_it_hears_and_none_hears_the_operators(brain: Brain) -> None:
    async with await admin_of(brain, "w2") as ada, await admin_of(brain, OPERATORS) as operator:
        assert (await ada.create_webhook(URL)).workspace_id == "w2"
        with pytest.raises(Forbidden, match="an admin key of the workspace whose broadcasts it should receive"):
            await operator.create_webhook(URL)
        assert [each.workspace_id for each in (await ada.webhooks()).webhooks] == ["w2"]
        assert (await operator.webhooks()).count == 0


async def test_where_they_are_off_none_is_made(brain: Brain) -> None:
    brain.settings = brain.settings.model_copy(update={"webhooks": Webhooks()})
    async with await admin_of(brain) as ada:
        with pytest.raises(Forbidden, match="OPENBRAIN_WEBHOOKS__ENABLED"):
            await ada.create_webhook(URL)


async def test_another_tenants_is_like_none(brain: Brain) -> None:
    async with await admin_of(brain) as ada, await admin_of(brain, "w2", "eve") as eve:
        made = await ada.create_webhook(URL)
        for ask in (
            eve.webhook,
            eve.enable_webhook,
            eve.remove_webhook,
            eve.webhook_dead_letters,
            eve.replay_webhook_dead_letters,
        ):
            with pytest.raises(NotFound, match="no webhook with this id"):
                await ask(made.id)
        assert (await eve.webhooks()).count == 0
        assert (await ada.webhook(made.id)).enabled
