"""Posting to webhooks: what arrives, and every kind of detour that is refused."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from openbrain.adapters.network.webhook_poster import HttpPoster, Resolve
from openbrain.domain.errors import Invalid, NeverRetry, TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.webhook_rules import new_secret, signature
from openbrain.ports.store.webhooks import Webhook
from openbrain.settings.tuning import WebhookTuning
from openbrain.settings.webhooks import Webhooks
from tests.support.signals.hook_receiver import Receiver, certified, receiver
from tests.support.store.fixtures import START, FakeClock

HOST = "hooks.example.org"
BODY = b'{"data":{"seq":7}}'
SECRET = new_secret()


def webhook(url: str) -> Webhook:
    return Webhook(id="h-1", workspace_id="w1", url=url, secret=SECRET, created_by="ada", created_at=START)


def at(*addresses: str) -> Resolve:
    """A resolver that returns these addresses for every name."""

    async def resolve(_: str, __: int) -> Sequence[str]:
        return addresses

    return resolve


@asynccontextmanager
async def poster(
    resolve: Resolve, private: tuple[str, ...] = (HOST,), timeout_s: float = 60, **more: Any
) -> AsyncIterator[HttpPoster]:
    settings = Webhooks(enabled=True, hosts=(HOST,), private_hosts=private, tuning=WebhookTuning(timeout_s=timeout_s))
    made = HttpPoster(settings, FakeClock(), resolve, **more)
    yield made
    await made.close()


@pytest.fixture
def hook() -> Any:
    with receiver() as made:
        yield made


async def test_a_body_arrives_as_it_is_signed_and_numbered(hook: Receiver) -> None:
    async with poster(at("127.0.0.1")) as http:
        await http.post(webhook(f"http://{HOST}:{hook.port}/in?a=b"), 7, BODY)

    (post,) = hook.posts
    assert (post.path, post.body, post.headers["host"]) == ("/in?a=b", BODY, f"{HOST}:{hook.port}")
    async with poster(at("::1", "127.0.0.1")) as http:
        await http.post(webhook(f"http://{HOST}:{hook.port}"), 8, BODY)
    assert hook.posts[1].path == "/", "if one address does not answer, the next is tried"
    assert post.headers["content-type"] == "application/cloudevents+json"
    assert (post.headers["webhook-id"], post.headers["webhook-timestamp"]) == ("h-1-7", str(START // MICROSECONDS))
    assert post.headers["webhook-signature"] == signature(SECRET, "h-1-7", START // MICROSECONDS, BODY)


@pytest.mark.parametrize("status", [301, 302, 307, 400, 404, 410, 500, 503])
async def test_what_is_not_taken_is_tried_later_and_no_redirect_is_followed(hook: Receiver, status: int) -> None:
    hook.statuses = [status]
    async with poster(at("127.0.0.1")) as http:
        with pytest.raises(TryLater, match=str(status)):
            await http.post(webhook(f"http://{HOST}:{hook.port}/"), 7, BODY)
    assert len(hook.posts) == 1


@pytest.mark.parametrize(
    "addresses", [("127.0.0.1",), ("10.0.0.1",), ("169.254.169.254",), ("::1",), ("93.184.215.14", "127.0.0.1")]
)
async def test_a_name_with_a_private_address_is_refused(addresses: tuple[str, ...]) -> None:
    async with poster(at(*addresses), private=()) as http:
        with pytest.raises(NeverRetry, match="private address"):
            await http.post(webhook(f"https://{HOST}/"), 7, BODY)


async def test_a_name_that_changes_between_check_and_call_leads_nowhere_else(hook: Receiver) -> None:
    """The name is resolved once, and the checked address is the one connected to."""
    asked: list[str] = []

    async def rebinding(host: str, _: int) -> Sequence[str]:
        asked.append(host)
        return ("192.0.2.1",) if len(asked) == 1 else ("127.0.0.1",)

    async with poster(rebinding, timeout_s=0.3) as http:
        with pytest.raises(TryLater):
            await http.post(webhook(f"http://{HOST}:{hook.port}/"), 7, BODY)
    assert asked == [HOST]
    assert hook.posts == []


async def test_what_is_not_on_the_list_is_not_even_looked_up() -> None:
    async def never(_: str, __: int) -> Sequence[str]:
        raise AssertionError

    async with poster(never) as http:
        for url in ("https://example.org/", "https://127.0.0.1/", "http://localhost/", "file:///etc/passwd"):
            with pytest.raises(Invalid):
                await http.post(webhook(url), 7, BODY)


async def test_one_that_does_not_answer_or_is_not_there_is_tried_later(hook: Receiver) -> None:
    async with poster(at("127.0.0.1"), timeout_s=0.2) as http:
        hook.silent.set()
        with pytest.raises(TryLater, match="within"):
            await http.post(webhook(f"http://{HOST}:{hook.port}/"), 7, BODY)

    async with poster(at("127.0.0.1")) as http:
        with pytest.raises(TryLater, match="reached"):
            await http.post(webhook(f"http://{HOST}:1/"), 7, BODY)

    async def nowhere(_: str, __: int) -> Sequence[str]:
        raise OSError("no such name")

    async with poster(nowhere) as http:
        with pytest.raises(TryLater, match="no address"):
            await http.post(webhook(f"http://{HOST}/"), 7, BODY)


async def test_an_address_that_does_not_answer_leaves_time_for_the_next() -> None:
    """As that of a host that is down, or of a network that swallows packets."""
    tried: list[tuple[str, float]] = []

    def network(request: httpx.Request) -> httpx.Response:
        tried.append((request.url.host, request.extensions["timeout"]["connect"]))
        if request.url.host != "192.0.2.3":
            raise httpx.ConnectTimeout("no answer")
        return httpx.Response(204)

    async with poster(at("2001:db8::1", "192.0.2.2", "192.0.2.3"), timeout_s=4) as http:
        http._client = httpx.AsyncClient(transport=httpx.MockTransport(network))
        await http.post(webhook(f"http://{HOST}/"), 7, BODY)
        assert [host for host, _ in tried] == ["2001:db8::1", "192.0.2.2", "192.0.2.3"]
        assert sum(seconds for _, seconds in tried[:2]) == 2, "half of the time is left for the last"


@pytest.mark.parametrize("label", ["a" * 64, "a."])
async def test_a_name_that_no_resolver_can_write_has_no_address(label: str) -> None:
    settings = Webhooks(enabled=True, hosts=(f".{HOST}",), private_hosts=(), tuning=WebhookTuning())
    http = HttpPoster(settings, FakeClock())
    with pytest.raises(TryLater, match="no address"):
        await http.post(webhook(f"https://{label}.{HOST}/"), 7, BODY)
    await http.close()


async def test_tls_proves_the_name_though_an_address_is_connected_to(tmp_path: Path) -> None:
    server, client = certified(tmp_path, HOST)
    with receiver(server) as hook:
        async with poster(at("127.0.0.1"), trust=client) as http:
            await http.post(webhook(f"https://{HOST}:{hook.port}/"), 7, BODY)
        assert len(hook.posts) == 1
        async with poster(at("127.0.0.1")) as http:
            with pytest.raises(TryLater, match="reached"):
                await http.post(webhook(f"https://{HOST}:{hook.port}/"), 7, BODY)
        assert len(hook.posts) == 1, "a certificate that no authority signed"
    (tmp_path / "other").mkdir()
    server, client = certified(tmp_path / "other", "other.example.org")
    with receiver(server) as hook:
        async with poster(at("127.0.0.1"), trust=client) as http:
            with pytest.raises(TryLater, match="reached"):
                await http.post(webhook(f"https://{HOST}:{hook.port}/"), 7, BODY)
        assert hook.posts == [], "a certificate for another name"
