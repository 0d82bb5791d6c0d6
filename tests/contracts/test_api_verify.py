"""The route that holds the indexes against the truth: who may ask, and what it queues."""

from openbrain.auth import OPERATORS, Permission
from openbrain.ports.reconciling import VERIFY
from tests.api_support import Brain, brain, brain_database_url, http, refused

__all__ = ["brain", "brain_database_url"]

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
    found = await brain.truth.operation(OPERATORS, told["id"])
    assert found is not None


async def test_nobody_else_does(brain: Brain) -> None:
    """Indexes hold every tenant's entries: what they lack is no tenant's business."""
    key = await brain.key("w1", permissions=frozenset(Permission))
    async with http(brain.app(), key) as admin:
        refused(await admin.post(VERIFY_PATH, json={}), 403)
    assert await brain.truth.operations("w1", 10) == []
    assert await brain.truth.operations(OPERATORS, 10) == []
