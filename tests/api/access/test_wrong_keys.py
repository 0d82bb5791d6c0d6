"""Wrong keys are counted by client address; a caller with a valid key is not affected."""

import uuid
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from structlog.testing import capture_logs

from openbrain.adapters.local.clock import SystemClock
from openbrain.adapters.local.rates import LocalRates
from openbrain.adapters.redis import rates as redis_rates
from openbrain.adapters.redis.rates import RedisRates
from openbrain.client import OpenBrain
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import RateLimited, Unauthorised
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.store.tenants import ApiKeys, Rate
from openbrain.settings import Streams
from openbrain.settings.server import Server
from openbrain_api.http.authentication import source
from openbrain_mcp.app import with_mcp
from tests.support.api.brain import Brain, refused
from tests.support.api.served import served
from tests.support.store.fixtures import START
from tests.support.store.parts import with_parts
from tests.support.waiting import PATIENCE_S

HERE, THERE = "192.0.2.7", "192.0.2.8"
NOW = START // MICROSECONDS


def app(brain: Brain, most: int = 3, **other: Any) -> Starlette:
    server = brain.settings.server.model_copy(update={"wrong_keys_per_minute": most})
    return brain.app(settings=brain.settings.model_copy(update={"server": server}), **other)


def at(made: Any, address: str = HERE) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(made, client=(address, 4711))
    return httpx.AsyncClient(transport=transport, base_url="http://brain.test")


async def ask(http: httpx.AsyncClient, key: str, path: str = "/v1/whoami") -> httpx.Response:
    return await http.get(path, headers={"Authorization": f"Bearer {key}"})


def wrong() -> str:
    return f"ob_{uuid.uuid4().hex}"


class Counting:
    """Keys that count how often one is looked up."""

    def __init__(self, api_keys: ApiKeys) -> None:
        self._api_keys, self.asked = api_keys, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api_keys, name)

    async def key_by_hash(self, secret_hash: str) -> Any:
        self.asked += 1
        return await self._api_keys.key_by_hash(secret_hash)


async def test_after_so_many_nothing_is_looked_at_and_the_answer_says_when_to_come_back(brain: Brain) -> None:
    counting = Counting(brain.store.api_keys)
    made, keys = app(brain, store=with_parts(brain.store, api_keys=counting)), [wrong() for _ in range(6)]
    with capture_logs() as logs:
        async with at(made) as here, at(made, THERE) as there:
            answers = [await ask(here, key) for key in keys]
            asked = counting.asked
            elsewhere = await ask(there, wrong())
            brain.clock.advance(20 * MICROSECONDS)
            later = [await ask(here, key) for key in keys[:2]]

    assert [each.status_code for each in answers] == [401, 401, 401, 429, 429, 429]
    assert asked == 3, "the database is not asked"
    assert not [name for name in answers[0].headers if name.startswith("x-ratelimit")]
    problem = refused(answers[3], 429)
    assert problem["error"] == "rate_limited"
    assert problem["rate_limit"] == {"limit": 3, "remaining": 0, "retry_after": 20}
    told = answers[3].headers
    assert told["retry-after"] == "20"
    named = [told[f"x-ratelimit-{name}"] for name in ("limit", "remaining", "reset")]
    assert named == ["3", "0", str(NOW + 60)]
    assert elsewhere.status_code == 401
    assert [each.status_code for each in later] == [401, 429]
    lines = [line for line in logs if line["event"] == "api.wrong_keys"]
    assert lines == [{"event": "api.wrong_keys", "log_level": "warning", "address": HERE, "per_minute": 3}]
    assert not [key for key in keys if key in f"{logs}{[each.text for each in answers]}"]


async def test_a_good_key_goes_on_at_the_same_address(brain: Brain) -> None:
    """A key that was used before works at once, a new one as soon as the wrong ones leave room; neither uses up that
    room."""
    good, fresh = await brain.key(), await brain.key(agent="bob")
    made = app(brain)
    async with at(made) as here, at(made, THERE) as there:
        assert (await ask(here, good)).status_code == 200
        for _ in range(4):
            await ask(here, wrong())
        statuses = [(await ask(here, key)).status_code for key in (good, good, fresh)]
        brain.clock.advance(3600 * MICROSECONDS)
        for _ in range(4):
            await ask(here, wrong())
        longer = (await ask(here, good)).status_code
        brain.clock.advance(20 * MICROSECONDS)
        again = [(await ask(here, key)).status_code for key in (fresh, await brain.key(agent="cyd"))]
        many = [(await ask(there, await brain.key(agent=f"a{n}"))).status_code for n in range(8)]

    assert statuses == [200, 200, 429]
    assert longer == 200
    assert again == [200, 200]
    assert many == [200] * 8


async def test_a_good_key_goes_on_though_keys_were_changed_meanwhile(brain: Brain) -> None:
    """After a change of keys the next answer checks them again, but does not forget which ones were valid."""
    admin, good = await brain.key("system", permissions=frozenset(Permission)), await brain.key()
    app_here = app(brain)
    async with at(app_here) as here, at(app_here, THERE) as there:
        assert (await ask(here, good)).status_code == 200
        for _ in range(4):
            await ask(here, wrong())
        headers = {"Authorization": f"Bearer {admin}"}
        asked = {"name": "another", "workspace_id": "w1", "permissions": ["brain.read"]}
        made = (await there.post("/v1/admin/keys", json=asked, headers=headers)).json()
        ended = await there.delete(f"/v1/admin/keys/{made['id']}?workspace_id=w1", headers=headers)
        after = await ask(here, good)

    assert ended.status_code == 200, ended.text
    assert after.status_code == 200


async def test_a_key_that_was_ended_is_wrong_like_any_other(brain: Brain) -> None:
    good = await brain.key()
    made = app(brain)
    async with at(made) as here:
        key_id = (await ask(here, good)).json()["data"]["key_id"]
        await brain.store.api_keys.revoke_key("w1", key_id)
        brain.clock.advance(2 * MICROSECONDS)
        assert [(await ask(here, good)).status_code for _ in range(4)] == [401, 401, 401, 429]


async def test_the_client_says_what_the_server_said(brain: Brain) -> None:
    transport = httpx.ASGITransport(app(brain, most=1), client=(HERE, 4711))
    async with OpenBrain("http://brain.test", wrong(), transport=transport, attempts=1) as client:
        with pytest.raises(Unauthorised):
            await client.whoami()
        with pytest.raises(RateLimited, match="wrong keys a minute came from this address") as refusal:
            await client.whoami()
    assert (refusal.value.per_minute, refusal.value.retry_after_s) == (1, 60)


async def test_no_key_at_all_is_not_counted_and_0_lets_any_come(brain: Brain) -> None:
    async with at(app(brain)) as here:
        for _ in range(5):
            refused(await here.get("/v1/whoami"), 401)
        refused(await ask(here, wrong()), 401)
    async with at(app(brain, most=0)) as here:
        assert {(await ask(here, wrong())).status_code for _ in range(9)} == {401}


async def test_the_tools_count_by_their_callers_address(brain: Brain) -> None:
    made = with_mcp(app(brain))
    async with at(made) as here, at(made, THERE) as there:
        codes = [
            (await here.post("/mcp", json={}, headers={"Authorization": f"Bearer {wrong()}"})).status_code
            for _ in range(5)
        ]
        assert codes == [401, 401, 401, 429, 429]
        assert (await ask(here, wrong())).status_code == 429
        assert (await ask(there, wrong())).status_code == 401


@pytest.mark.parametrize(("trusted", "codes"), [((), [401, 429, 429]), (("127.0.0.1", "10.0.0.0/8"), [401, 401, 401])])
async def test_what_a_request_says_of_its_origin_counts_only_where_a_setting_says_so(
    brain: Brain, trusted: tuple[str, ...], codes: list[int]
) -> None:
    async with (
        served(app(brain, most=1), trusted_proxies=trusted) as url,
        httpx.AsyncClient(base_url=url, timeout=PATIENCE_S, verify=False) as client,
    ):
        found = [
            await client.get(
                "/v1/whoami",
                headers={"Authorization": f"Bearer {wrong()}", "X-Forwarded-For": f"{claimed}, {real}, 10.1.1.1"},
            )
            for claimed, real in (
                ("198.51.100.1", "203.0.113.1"),
                ("198.51.100.1", "203.0.113.2"),
                ("x", "203.0.113.3"),
            )
        ]
    assert [each.status_code for each in found] == codes


@pytest.mark.parametrize(
    ("client", "stands_for"),
    [
        (("192.0.2.7", 1), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 1), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 1), "fe80::/64"),
        (("::ffff:192.0.2.7", 1), "192.0.2.7"),
        (None, "unknown"),
        (("testclient", 1), "unknown"),
    ],
)
def test_whom_an_address_stands_for(client: tuple[str, int] | None, stands_for: str) -> None:
    assert source(client) == stands_for


async def test_replicas_count_together_and_no_key_is_kept(
    brain: Brain, redis_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_rates, "_ANSWER_S", PATIENCE_S)  # an answer that takes longer is not waited for
    settings = Streams(url=redis_server.url, prefix=f"{uuid.uuid4().hex}.")
    rates = [RedisRates(settings, SystemClock()) for _ in range(2)]
    keys = [wrong() for _ in range(8)]
    try:
        async with at(app(brain, most=4, rates=rates[0])) as one, at(app(brain, most=4, rates=rates[1])) as other:
            codes = [(await ask(one if n % 2 else other, key)).status_code for n, key in enumerate(keys)]
        client: Any = rates[0]._client
        kept = [each.decode() async for each in client.scan_iter(f"{settings.prefix}*")]
    finally:
        for each in rates:
            await each.close()
    assert codes == [401] * 4 + [429] * 4
    assert kept == [f"{settings.prefix}openbrain.rate.wrong-keys.{HERE}"]


async def test_to_look_at_a_bucket_takes_nothing(brain: Brain) -> None:
    rates, rate = LocalRates(brain.clock), Rate(6, 6)
    looks = [(await rates.take("h", rate, cost)).remaining for cost in (0, 1, 0, 0)]
    assert looks == [6, 5, 5, 5]
    assert Server().wrong_keys_per_minute == 60
