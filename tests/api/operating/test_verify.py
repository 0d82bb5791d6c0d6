"""The route that compares the indexes with the database, and the client's call: who may ask, and what it queues."""

import httpx
import pytest

from openbrain.client import OpenBrain
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Forbidden
from openbrain.ports.store.index_entries import VERIFY
from openbrain.usecases.auth import OPERATORS
from tests.support.api.brain import Brain, http, refused

ADMIN = frozenset({Permission.ADMIN})
VERIFY_PATH = "/v1/admin/verify"


async def test_an_operator_begins_a_verification(brain: Brain) -> None:
    key = await brain.key(OPERATORS, permissions=ADMIN)
    async with http(brain.app(), key) as operator:
        answer = await operator.post(VERIFY_PATH, json={"full": True})
        assert answer.status_code == 202, answer.text
        told = answer.json()
        restored = (await operator.post(VERIFY_PATH, json={"restored": True})).json()

    assert (told["kind"], told["status"]) == (VERIFY, "queued")
    assert told["request"] == {"full": True, "repair": False, "restored": False}
    assert restored["request"] == {"full": False, "repair": True, "restored": True}
    found = await brain.store.operations.operation(OPERATORS, told["id"])
    assert found is not None


async def test_nobody_else_does(brain: Brain) -> None:
    """Indexes hold every tenant's entries: what is missing there is no single tenant's business."""
    key = await brain.key("w1", permissions=frozenset(Permission))
    async with http(brain.app(), key) as admin:
        refused(await admin.post(VERIFY_PATH, json={}), 403)
    assert await brain.store.operations.operations("w1", 10) == []
    assert await brain.store.operations.operations(OPERATORS, 10) == []


async def test_the_client_asks_for_what_is_meant_and_can_watch_it(brain: Brain) -> None:
    key = await brain.key(OPERATORS, permissions=ADMIN)
    async with OpenBrain("http://brain.test", key, transport=httpx.ASGITransport(brain.app())) as operator:
        asked = [
            await operator.verify(),
            await operator.verify(full=True),
            await operator.verify(repair=True),
            await operator.verify(restored=True),
        ]
        watched = await operator.operation(asked[0].id)

    named = [tuple(each.request[name] for name in ("full", "repair", "restored")) for each in asked]
    assert named == [(False, False, False), (True, False, False), (False, True, False), (False, True, True)]
    assert {(each.kind, each.status) for each in asked} == {(VERIFY, "queued")}
    assert len({each.id for each in asked}) == 4
    assert watched == asked[0]
    for each in asked:
        assert await brain.store.operations.operation(OPERATORS, each.id) is not None


async def test_the_client_is_refused_like_everybody_else(brain: Brain) -> None:
    key = await brain.key("w1", permissions=frozenset(Permission))
    async with OpenBrain("http://brain.test", key, transport=httpx.ASGITransport(brain.app())) as admin:
        with pytest.raises(Forbidden):
            await admin.verify(repair=True)
    assert await brain.store.operations.operations(OPERATORS, 10) == []
