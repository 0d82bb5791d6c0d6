"""Lists end with their last page: one that is exactly full names no cursor if nothing follows."""

from typing import Any

import httpx

from openbrain.client import OpenBrain
from openbrain.domain.access.permissions import Permission
from openbrain.domain.signals.values import Subscriber
from openbrain.ports.store.webhooks import WebhookDeadLetter
from openbrain.settings.webhooks import Webhooks
from tests.support.api.brain import Brain, http

URL = "https://hooks.example.org/x"
LISTS = {
    "/v1/brain/list": "memories",
    "/v1/brain/sessions": "sessions",
    "/v1/brain/subscriptions": "subscriptions",
    "/v1/messages/conversation/ada": "messages",
    "/v1/amygdala/signals": "signals",
    "/v1/amygdala/halts": "halts",
    "/v1/amygdala/subscribers": "subscribers",
    "/v1/amygdala/webhooks": "webhooks",
    "/v1/admin/keys": "keys",
    "/v1/admin/operations": "operations",
}


async def _two_of_each(ada: OpenBrain, bob: OpenBrain) -> None:
    for number in range(2):
        await ada.remember({"content": f"fact {number}", "type": "fact"})
        await bob.capture(f"turn {number}", source="chat")
        await ada.start_session(session_id=f"s{number}")
        await ada.subscribe_query(f"question {number}")
        await ada.send_message("ada", f"message {number}")
        await ada.raise_halt(title=f"halt {number}", source=f"source {number}")
        await ada.create_webhook(URL)
        await ada.prune(max_confidence=0.1)


async def test_a_page_that_is_exactly_full_names_no_cursor_if_nothing_follows(brain: Brain) -> None:
    chosen = Webhooks(enabled=True, hosts=("hooks.example.org",))
    brain.settings = brain.settings.model_copy(update={"webhooks": chosen})
    app, transport = brain.app(), httpx.ASGITransport(brain.app())
    keys = [await brain.key(agent=agent, permissions=frozenset(Permission)) for agent in ("ada", "bob")]
    ada, bob = (OpenBrain("http://brain", key, transport=transport) for key in keys)
    await _two_of_each(ada, bob)
    seen = brain.clock.now()
    listeners = [Subscriber(workspace_id="w1", agent_id=name, seen_at=seen) for name in ("ada", "bob")]
    await brain.store.broadcasts.record_presence(listeners)
    hook = (await ada.webhooks()).webhooks[0].id
    for seq in (1, 2):
        letter = WebhookDeadLetter(
            webhook_id=hook, workspace_id="w1", seq=seq, body=b"{}", attempts=5, error="503", at=5
        )
        await brain.store.webhooks.webhook_given_up(letter)

    async with http(app, keys[0]) as client:

        async def page(path: str, **query: Any) -> Any:
            answer = await client.get(path, params=query)
            assert answer.status_code == 200, (path, answer.text)
            return answer.json()

        for path, name in LISTS.items():
            full = await page(path, limit=2)
            first = await page(path, limit=1)
            last = await page(path, limit=1, cursor=first["next_cursor"])
            assert (full["next_cursor"], last["next_cursor"]) == (None, None), path
            assert [*first[name], *last[name]] == full[name], path
        letters = [await page(f"/v1/amygdala/webhooks/{hook}/dead", limit=limit) for limit in (2, 1)]
    async with http(app, keys[1]) as client:
        thoughts = [await client.get("/v1/thoughts", params={"source": "chat", "limit": limit}) for limit in (2, 1)]

    assert [page["next_after"] for page in letters] == [None, 1]
    assert [bool(each.headers.get("x-next-cursor")) for each in thoughts] == [False, True]
