"""A foreign id is answered like one that never existed: same status, headers and bytes, after the same database
queries. Generated from the route table, for ids of every kind."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import pytest
import pytest_asyncio
from sqlalchemy import event
from sqlalchemy.engine import Engine

from openbrain.domain.access.permissions import Permission
from openbrain.ports.store.webhooks import Webhook
from openbrain_api.handlers import ROUTES
from tests.support.api.brain import Brain, http, recorded, unknown_id
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVERYTHING = frozenset(Permission)
NAMED = sorted({(route.method, route.path) for route in ROUTES if "{id}" in route.path})
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("PATCH", "/v1/brain/memories/{id}"): {"tags": ["touched"]},
    ("PATCH", "/v1/admin/workspaces/{id}"): {"name": "taken over"},
    ("PATCH", "/v1/amygdala/webhooks/{id}"): {"enabled": False},
    ("POST", "/v1/brain/sessions/{id}/append"): {"turns": [{"turn": 1, "content": "open"}]},
    ("POST", "/v1/brain/recall/{id}/feedback"): {"used": ["0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00"]},
    ("POST", "/v1/brain/sessions/{id}/end"): {"summary": "taken over"},
}
HEADERS: list[dict[str, str]] = [{}, {"if-match": '"1.1"'}, {"if-none-match": "*"}, {"prefer": "wait=1"}]
CHANGING = ("date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset")


@dataclass(frozen=True)
class Theirs:
    """One id of each kind, of another tenant."""

    memory: str
    erased: str
    key: str
    operation: str
    signal: str
    halt: str
    webhook: str
    workspace: str
    message: str
    session: str
    recall: str
    subscription: str

    def of(self, path: str) -> list[str]:
        if path.startswith("/v1/admin/keys"):
            return [self.key]
        if path.startswith("/v1/admin/operations"):
            return [self.operation]
        if path.startswith("/v1/amygdala/"):
            kinds = {"halts": self.halt, "signals": self.signal, "webhooks": self.webhook}
            return [kinds[path.split("/")[3]]]
        if path.startswith("/v1/brain/recall/"):
            return [self.recall]
        if path.startswith("/v1/brain/sessions/"):
            return [self.session]
        if path.startswith("/v1/brain/subscriptions/"):
            return [self.subscription]
        if path.startswith("/v1/messages/"):
            return [self.message]
        return [self.workspace] if path.startswith("/v1/admin/workspaces") else [self.memory, self.erased]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def theirs(module_brain: Brain) -> Theirs:
    """Of one tenant for all tests, because none of them changes it."""
    brain, workspace = module_brain, await module_brain.new_workspace()
    secret = await brain.key(workspace, "bob", permissions=EVERYTHING)
    async with http(brain.app(), secret) as bob:

        async def remembered(content: str) -> str:
            body = {"content": content, "type": "fact", "tags": ["theirs"]}
            return str((await bob.post("/v1/brain/remember", json=body)).json()["id"])

        memory, doomed = await remembered("the vault code"), await remembered("the door code")
        erased = (await bob.delete(f"/v1/brain/memories/{doomed}", params={"erase": "1"})).json()
        key = (await bob.get("/v1/whoami")).json()["key_id"]
        halted = (await bob.post("/v1/amygdala/halts", json={"title": "the vault is open"})).json()
        listed = (await bob.get("/v1/admin/operations")).json()["operations"]
        session = (await bob.post("/v1/brain/sessions", json={"project": "gate"})).json()["id"]
        recall = (await bob.post("/v1/brain/recall", json={"query": "the vault code"})).json()["recall_id"]
        heard = (await bob.post("/v1/brain/subscriptions", json={"query": "the gate"})).json()["id"]
        await until(partial(recorded, brain, recall))
        note = (await bob.post("/v1/messages/send", json={"to": "bob", "content": "the gate code"})).json()["id"]
    hook = await brain.store.webhooks.add_webhook(
        Webhook(
            id=unknown_id(),
            workspace_id=workspace,
            url="https://x.example.org",
            secret="whsec_eA==",
            created_by="bob",
            created_at=1,
        ),
        20,
    )
    await brain.settle()
    assert erased["reason"] == "erased"
    return Theirs(
        *(memory, doomed, key, listed[0]["id"], halted["signal"]["id"], halted["halt"]["id"]),
        *(hook.id, workspace, note, session, recall, heard),
    )


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements that the database executes, except for the outbox size: that is asked by the clock. So are a few
    others, such as records of answers; a request's own statements are executed each time."""
    asked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "(outbox.id)" not in statement:
            asked.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def told(client: httpx.AsyncClient, method: str, path: str, **how: Any) -> tuple[int, dict[str, str], str]:
    answer = await client.request(method, path, **how)
    headers = {name: value for name, value in answer.headers.items() if name not in CHANGING}
    return answer.status_code, headers, answer.text


@pytest.mark.parametrize("agent", ["ada", "bob"])
@pytest.mark.parametrize(("method", "path"), NAMED)
async def test_a_foreign_id_is_like_one_that_never_was(
    module_brain: Brain, theirs: Theirs, method: str, path: str, agent: str
) -> None:
    brain = module_brain
    mine = await brain.key(await brain.new_workspace(), agent, permissions=EVERYTHING, act_as=("*",))
    body = BODIES.get((method, path))
    async with http(brain.app(), mine) as client:
        for headers in HEADERS:
            for foreign in theirs.of(path):
                unknown = "nowhere" if foreign == theirs.workspace else unknown_id()

                async def alike(
                    headers: dict[str, str] = headers, foreign: str = foreign, unknown: str = unknown
                ) -> bool:
                    both = []
                    for each in (foreign, unknown):
                        await client.get("/v1/whoami")  # so that the key is cached
                        with statements() as asked:
                            answer = await told(client, method, path.replace("{id}", each), json=body, headers=headers)
                        both.append((answer, [re.sub(r"\s+", " ", one) for one in asked]))
                    assert both[0][0] == both[1][0], headers
                    assert foreign not in both[0][0][2]
                    return both[0][1] == both[1][1]

                assert await alike() or await alike() or await alike(), f"{headers}: other questions"
    async with http(brain.app(), await brain.key(theirs.workspace, "bob")) as bob:
        kept = (await bob.get(f"/v1/brain/memories/{theirs.memory}")).json()
        assert (kept["content"], kept["tags"], kept["version"]) == ("the vault code", ["theirs"], 1)


async def test_a_cursor_of_another_tenant_opens_nothing(module_brain: Brain, theirs: Theirs) -> None:
    """It opens no more than a cursor that was made up."""
    brain = module_brain
    pages = ("/v1/brain/list", "/v1/brain/search", "/v1/brain/export", "/v1/admin/operations", "/v1/admin/keys")
    bob = await brain.key(theirs.workspace, "bob", permissions=EVERYTHING)
    ada = await brain.key(await brain.new_workspace(), "ada", permissions=EVERYTHING)
    async with http(brain.app(), bob) as other, http(brain.app(), ada) as client:
        for number in range(3):
            for who in (other, client):
                await who.post("/v1/brain/remember", json={"content": f"words {number}", "type": "fact"})
        await brain.settle()
        for path in pages:
            ask = {"q": "words"} if path.endswith("search") else {}
            page = (await other.get(path, params={**ask, "limit": 1})).text
            cursors = re.findall(r'"(?:next_)?cursor": ?"([^"]+)"', page)
            for cursor in cursors:
                answer = await client.get(path, params={**ask, "cursor": cursor})
                # The answer may repeat what was asked: the caller already knows the position in the cursor.
                assert theirs.memory not in answer.text.replace(cursor, "")
                assert answer.status_code in (200, 422), answer.text
