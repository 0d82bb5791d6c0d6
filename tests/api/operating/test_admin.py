"""Tenants and keys through the API."""

from typing import Any

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.memory import DAY, MICROSECONDS
from tests.support.api.brain import Brain, http, refused

ADMIN = frozenset({Permission.ADMIN})
KEYS, WORKSPACES = "/v1/admin/keys", "/v1/admin/workspaces"


def wanted(**changes: Any) -> dict[str, Any]:
    return {"name": "laptop", "permissions": ["brain.read", "brain.write"], **changes}


async def test_an_admin_makes_keys_of_its_own_workspace(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(permissions=ADMIN)) as admin:
        made = await admin.post(
            KEYS, json=wanted(agent_id="bob", orgs=["acme"], without_org=False, act_as=["eve"], expires_in=48)
        )
        listed = (await admin.get(KEYS)).json()

    body = made.json()
    assert made.status_code == 201
    assert body["key"].startswith("ob_")
    assert {name: body[name] for name in body if name not in ("id", "key", "data", "created_at")} == {
        "workspace_id": "w1",
        "name": "laptop",
        "agent_id": "bob",
        "permissions": ["brain.read", "brain.write"],
        "orgs": ["acme"],
        "without_org": False,
        "act_as": ["eve"],
        "expires_at": "2027-01-17T08:00:00.000000Z",
        "revoked_at": None,
        "rate_limit": None,
        "replaces_id": None,
        "toolsets": [],
    }
    assert body["data"]["key"] == body["key"]
    assert listed["count"] == 2
    assert body["id"] in {each["id"] for each in listed["keys"]}
    assert "ob_" not in str(listed)


async def test_a_new_key_opens_and_a_revoked_one_does_not(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key(permissions=ADMIN)) as admin:
        made = (await admin.post(KEYS, json=wanted())).json()
        async with http(app, made["key"]) as user:
            before = await user.get("/v1/brain/list")
            revoked = await admin.delete(f"{KEYS}/{made['id']}")
            after = await user.get("/v1/brain/list")
            again = await admin.delete(f"{KEYS}/{made['id']}")
        unknown = await admin.delete(f"{KEYS}/none")

    assert (before.status_code, after.status_code) == (200, 401)
    assert revoked.json()["revoked"] is again.json()["revoked"] is True
    assert refused(unknown, 404)["message"] == "no key with this id"


async def test_another_process_refuses_a_revoked_key_within_a_second(brain: Brain) -> None:
    here, there = brain.app(), brain.app()
    async with http(here, await brain.key(permissions=ADMIN)) as admin:
        made = (await admin.post(KEYS, json=wanted())).json()
        async with http(there, made["key"]) as user:
            assert (await user.get("/v1/brain/list")).status_code == 200
            await admin.delete(f"{KEYS}/{made['id']}")
            brain.clock.advance(MICROSECONDS)
            assert (await user.get("/v1/brain/list")).status_code == 401


async def test_a_key_ends_at_its_time(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key(permissions=ADMIN)) as admin:
        made = (await admin.post(KEYS, json=wanted(expires_in=24))).json()
    async with http(app, made["key"]) as user:
        assert (await user.get("/v1/brain/list")).status_code == 200
        brain.clock.advance(DAY)
        assert (await user.get("/v1/brain/list")).status_code == 401


async def test_a_key_has_one_end(brain: Brain) -> None:
    both = {"name": "ci", "permissions": ["brain.read"], "expires_in": 9000, "expires_at": "2027-02-01T00:00:00Z"}
    async with http(brain.app(), await brain.key(permissions=ADMIN)) as admin:
        refusal = refused(await admin.post("/v1/admin/keys", json=both), 422)
        keys = (await admin.get("/v1/admin/keys")).json()["keys"]

    assert "exclude each other" in refusal["message"]
    assert [key["name"] for key in keys] == ["ada of test"]


async def test_no_admin_reaches_into_another_workspace(brain: Brain) -> None:
    app = brain.app()
    await brain.key("w2")
    (theirs,) = await brain.store.api_keys.keys("w2")
    async with http(app, await brain.key(permissions=ADMIN)) as admin:
        for response in (
            await admin.get(WORKSPACES),
            await admin.post(WORKSPACES, json={"id": "w3"}),
            await admin.get(KEYS, params={"workspace_id": "w2"}),
            await admin.post(KEYS, json=wanted(workspace_id="w2")),
            await admin.post(KEYS, json=wanted(workspace_id="not-there")),
            await admin.delete(f"{KEYS}/{theirs.id}", params={"workspace_id": "w2"}),
        ):
            assert refused(response, 403)["error"] == "forbidden"
        refused(await admin.delete(f"{KEYS}/{theirs.id}"), 404)
        mine = (await admin.get(KEYS, params={"workspace_id": "w1"})).json()

    assert {each["workspace_id"] for each in mine["keys"]} == {"w1"}
    assert [key.revoked_at for key in await brain.store.api_keys.keys("w2")] == [None]


async def test_operators_make_workspaces_and_their_first_keys(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key("system", permissions=ADMIN)) as operator:
        made = await operator.post(WORKSPACES, json={"id": "acme", "name": "Acme Ltd"})
        unnamed = await operator.post(WORKSPACES, json={"id": "plain"})
        taken = await operator.post(WORKSPACES, json={"id": "acme"})
        listed = (await operator.get(WORKSPACES)).json()
        key = (await operator.post(KEYS, json=wanted(workspace_id="acme", permissions=["admin"]))).json()
        lost = await operator.post(KEYS, json=wanted(workspace_id="nowhere"))
        keys = (await operator.get(KEYS, params={"workspace_id": "acme"})).json()
        gone = await operator.delete(f"{KEYS}/{key['id']}", params={"workspace_id": "acme"})

    assert (made.status_code, made.json()["data"]["name"], unnamed.json()["name"]) == (201, "Acme Ltd", "plain")
    refused(taken, 409)
    refused(lost, 404)
    assert [each["id"] for each in listed["workspaces"]] == ["acme", "plain", "system"]
    assert [each["id"] for each in keys["keys"]] == [key["id"]]
    assert gone.json()["revoked"] is True


async def test_a_key_for_everything_can_not_be_limited_to_orgs(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(permissions=ADMIN)) as admin:
        refused(await admin.post(KEYS, json=wanted(permissions=["admin"], orgs=["acme"])), 422, "orgs")


async def test_a_key_is_told_who_it_is(brain: Brain) -> None:
    key = await brain.key(permissions=frozenset({Permission.SIGNAL_ACK}), orgs=("acme",), act_as=("eve",))
    async with http(brain.app(), key) as anyone:
        told = (await anyone.get("/v1/whoami")).json()

    assert {name: told[name] for name in ("workspace_id", "agent_id", "permissions", "orgs", "act_as")} == {
        "workspace_id": "w1",
        "agent_id": "ada",
        "permissions": ["signal.ack"],
        "orgs": ["acme"],
        "act_as": ["eve"],
    }
    assert key not in str(told)


async def test_a_key_is_replaced_by_one_that_may_the_same(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key(permissions=ADMIN)) as admin:
        asked = wanted(agent_id="bob", orgs=["acme"], rate_limit=500, toolsets=["vault"])
        old = (await admin.post(KEYS, json=asked)).json()
        new = await admin.post(f"{KEYS}/{old['id']}:rotate", json={"overlap_s": 60})
        again = await admin.post(f"{KEYS}/{old['id']}:rotate")
        body = new.json()
        async with http(app, old["key"]) as before, http(app, body["key"]) as after:
            both = [(await each.get("/v1/brain/list")).status_code for each in (before, after)]
            brain.clock.advance(60 * MICROSECONDS)
            one = [(await each.get("/v1/brain/list")).status_code for each in (before, after)]
        ended = await admin.post(f"{KEYS}/{old['id']}:rotate")

    assert new.status_code == 201
    assert (body["replaces_id"], body["rate_limit"], body["toolsets"]) == (old["id"], 500, ["vault"])
    same = ("workspace_id", "name", "agent_id", "permissions", "orgs", "without_org", "act_as", "expires_at")
    assert {name: body[name] for name in same} == {name: old[name] for name in same}
    assert body["replaced_expires_at"] == "2027-01-15T08:01:00.000000Z"
    assert body["id"] in refused(again, 409)["message"]
    assert (both, one) == ([200, 200], [401, 200])
    refused(ended, 409)


async def test_a_key_can_be_replaced_at_once_and_ends_no_later_than_it_would(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key(permissions=ADMIN)) as admin:
        at_once = (await admin.post(KEYS, json=wanted())).json()
        first = (await admin.post(f"{KEYS}/{at_once['id']}:rotate", json={"overlap_s": 0})).json()
        async with http(app, at_once["key"]) as gone:
            assert (await gone.get("/v1/brain/list")).status_code == 401
        await admin.delete(f"{KEYS}/{first['id']}")
        lost = await admin.post(f"{KEYS}/{at_once['id']}:rotate")
        short = (await admin.post(KEYS, json=wanted(expires_in=1))).json()
        usual = (await admin.post(f"{KEYS}/{short['id']}:rotate")).json()
        long = (await admin.post(KEYS, json=wanted())).json()
        day = (await admin.post(f"{KEYS}/{long['id']}:rotate")).json()
        revoked = await admin.post(f"{KEYS}/{first['id']}:rotate")
        unknown = await admin.post(f"{KEYS}/none:rotate")

    refused(lost, 409)  # the key has ended: a new one is made, not a replacement
    assert usual["expires_at"] == usual["replaced_expires_at"] == short["expires_at"]
    assert day["replaced_expires_at"] == "2027-01-16T08:00:00.000000Z"
    refused(revoked, 409)
    assert refused(unknown, 404)["message"] == "no key with this id"


@pytest.mark.parametrize("expires", [{}, {"expires_in": 30}])
async def test_a_key_that_is_replaced_again_hands_on_its_first_expiry(brain: Brain, expires: dict[str, int]) -> None:
    async with http(brain.app(), await brain.key(permissions=ADMIN)) as admin:
        old = (await admin.post(KEYS, json=wanted(**expires))).json()
        first = (await admin.post(f"{KEYS}/{old['id']}:rotate")).json()
        second = (await admin.post(f"{KEYS}/{first['id']}:rotate")).json()
        for each in (first, second):
            await admin.delete(f"{KEYS}/{each['id']}")
        again = (await admin.post(f"{KEYS}/{old['id']}:rotate")).json()

    assert [each["expires_at"] for each in (first, second, again)] == [old["expires_at"]] * 3


async def test_keys_and_workspaces_come_by_pages(brain: Brain) -> None:
    async with http(brain.app(), await brain.key("system", permissions=ADMIN)) as operator:
        for number in range(5):
            await operator.post(WORKSPACES, json={"id": f"w{number}"})
            await operator.post(KEYS, json=wanted(name=f"k{number}"))
        for path, member, name in ((KEYS, "keys", "name"), (WORKSPACES, "workspaces", "id")):
            seen: list[str] = []
            cursor: str | None = None
            while cursor is not None or not seen:
                params: dict[str, str | int] = {"limit": 2, **({"cursor": cursor} if cursor else {})}
                page = (await operator.get(path, params=params)).json()
                seen += [each[name] for each in page[member]]
                cursor = page["next_cursor"]
            whole = (await operator.get(path)).json()
            assert seen == [each[name] for each in whole[member]]
            assert len(seen) == len(set(seen)) == 6
            assert whole["next_cursor"] is None
            refused(await operator.get(path, params={"limit": 101}), 422, "limit")
            refused(await operator.get(path, params={"cursor": "../1"}), 422, "cursor")


async def test_quotas_are_set_changed_and_taken_away(brain: Brain) -> None:
    async with http(brain.app(), await brain.key("system", permissions=ADMIN)) as operator:
        made = (await operator.post(WORKSPACES, json={"id": "acme", "max_memories": 2})).json()
        changed = (await operator.patch(f"{WORKSPACES}/acme", json={"name": "Acme", "max_bytes": 9})).json()
        freed = (await operator.patch(f"{WORKSPACES}/acme", json={"max_memories": None})).json()
        listed = (await operator.get(WORKSPACES)).json()["workspaces"]
        nothing = await operator.patch(f"{WORKSPACES}/acme", json={})
        unknown = await operator.patch(f"{WORKSPACES}/nowhere", json={"max_bytes": 9})
    async with http(brain.app(), await brain.key("acme", permissions=ADMIN)) as admin:
        forbidden = await admin.patch(f"{WORKSPACES}/acme", json={"max_bytes": None})

    quota = ("max_memories", "max_bytes", "memories", "bytes")
    assert [made[name] for name in quota] == [2, None, 0, 0]
    assert [changed[name] for name in ("name", *quota)] == ["Acme", 2, 9, 0, 0]
    assert [freed[name] for name in quota] == [None, 9, 0, 0]
    assert [[each[name] for name in quota] for each in listed] == [[None, 9, 0, 0], [None] * 4]
    refused(nothing, 422)
    refused(unknown, 404)
    refused(forbidden, 403)


async def test_a_secret_that_was_lost_with_its_answer_is_replaced_by_its_successors(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key(permissions=frozenset(Permission))) as admin:
        key = (await admin.post(KEYS, json={"name": "robot", "permissions": ["brain.read"]})).json()
        lost = (await admin.post(f"{KEYS}/{key['id']}:rotate", json={"overlap_s": 0})).json()
        again = await admin.post(f"{KEYS}/{key['id']}:rotate", json={"overlap_s": 0})
        assert lost["id"] in refused(again, 409)["message"], "the message names the key to rotate"
        found = (await admin.post(f"{KEYS}/{lost['id']}:rotate", json={"overlap_s": 0})).json()
    codes = []
    for secret in (key["key"], lost["key"], found["key"]):
        async with http(app, secret) as robot:
            codes.append((await robot.get("/v1/whoami")).status_code)
    assert codes == [401, 401, 200]
