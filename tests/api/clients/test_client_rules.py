"""The rules of the original's Go client, which ours keeps: which hosts it contacts, how often, and how
much it reads."""

from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from openbrain.client import OpenBrain
from openbrain.client.breaker import Breaker
from openbrain.client.refusals import refusal
from openbrain.domain.access import credentials
from openbrain.domain.errors import NotFound, Outdated, QuotaExceeded, RateLimited, SetupError, TryLater, Unauthorised
from tests.support.api.brain import Brain, unknown_id
from tests.support.api.served import served


def environment(tmp_path: Path, **given: str) -> dict[str, str]:
    return {"CORE_BRAIN_URL": "https://brain.example.org", "CORE_BRAIN_KEY": "ob_x", **given}


def test_the_original_names_are_understood(tmp_path: Path) -> None:
    found = credentials.from_environment(
        environment(tmp_path, CORE_BRAIN_ORG="acme", CORE_BRAIN_AGENT_ID="virgil", CORE_BRAIN_INSECURE="true"), tmp_path
    )

    assert found == credentials.Credentials(
        url="https://brain.example.org",
        key="ob_x",
        org="acme",
        agent_id="virgil",
        allow_http=True,
        response_bytes=1024 * 1024,
    )


def test_our_names_win(tmp_path: Path) -> None:
    ours = {"URL": "https://ours.example.org", "API_KEY": "ob_ours", "ORG": "o", "AGENT_ID": "a", "ALLOW_HTTP": "no"}
    names = {f"OPENBRAIN_{name}": value for name, value in ours.items()}
    theirs = environment(tmp_path, CORE_BRAIN_ORG="t", CORE_BRAIN_AGENT_ID="t", CORE_BRAIN_INSECURE="1")
    found = credentials.from_environment({**theirs, **names, "OPENBRAIN_RESPONSE_BYTES": "10"}, tmp_path)

    assert (found.url, found.key, found.org, found.agent_id) == ("https://ours.example.org", "ob_ours", "o", "a")
    assert (found.allow_http, found.response_bytes) == (False, 10)


def test_the_key_file_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / ".claude" / "brain.key"
    file.parent.mkdir()
    named = {"CORE_BRAIN_URL": "https://brain.example.org"}
    with pytest.raises(Unauthorised):
        credentials.from_environment(named, tmp_path)
    file.write_text("ob_file\n")
    file.chmod(0o640)
    with pytest.raises(SetupError, match="chmod 600"):
        credentials.from_environment(named, tmp_path)
    file.chmod(0o600)

    assert credentials.from_environment(named, tmp_path).key == "ob_file"


@pytest.mark.parametrize(
    "given", [{}, {"CORE_BRAIN_URL": ""}, {"OPENBRAIN_URL": "https://x", "OPENBRAIN_RESPONSE_BYTES": "much"}]
)
def test_what_is_missing_is_named(tmp_path: Path, given: dict[str, str]) -> None:
    with pytest.raises(SetupError, match="OPENBRAIN_"):
        credentials.from_environment(given, tmp_path)


def test_http_is_for_this_machine_unless_told_otherwise(tmp_path: Path) -> None:
    named = {"CORE_BRAIN_URL": "http://brain.example.org", "CORE_BRAIN_KEY": "ob_x"}
    with pytest.raises(SetupError, match="in the clear"):
        OpenBrain.from_environment(named, tmp_path)

    OpenBrain.from_environment({**named, "CORE_BRAIN_INSECURE": "1"}, tmp_path)
    OpenBrain.from_environment({**named, "CORE_BRAIN_URL": "http://127.0.0.1:1"}, tmp_path)


async def test_a_whole_client_by_the_original_names(brain: Brain, tmp_path: Path) -> None:
    key = await brain.key(agent="", act_as=("virgil",))
    async with served(brain.app()) as url:
        named = {
            "CORE_BRAIN_URL": url,
            "CORE_BRAIN_KEY": key,
            "CORE_BRAIN_ORG": "acme",
            "CORE_BRAIN_AGENT_ID": "virgil",
        }
        async with OpenBrain.from_environment(named, tmp_path) as client:
            stored = await client.remember({"content": "mine", "type": "fact"})
            other = await client.remember({"content": "theirs", "type": "fact", "org": "other"})
            listed = await client.memories()
            others = await client.memories(org="other")

    assert (stored.org, stored.agent_id, other.org) == ("acme", "virgil", "other")
    assert ([each.id for each in listed.memories], [each.id for each in others.memories]) == ([stored.id], [other.id])


async def test_an_answer_above_the_cap_is_refused(brain: Brain, tmp_path: Path) -> None:
    key = await brain.key()
    async with served(brain.app()) as url:
        named = {"OPENBRAIN_URL": url, "OPENBRAIN_API_KEY": key, "OPENBRAIN_RESPONSE_BYTES": "5000"}
        async with OpenBrain.from_environment(named, tmp_path) as client:
            await client.remember({"content": "short", "type": "fact"})
            with pytest.raises(SetupError, match="5000 bytes"):
                await client.remember({"content": "long " * 1000, "type": "fact"})


async def test_changes_name_the_edition_and_refusals_keep_their_numbers(brain: Brain) -> None:
    from openbrain.ports.store.tenants import WorkspaceChange

    transport = httpx.ASGITransport(brain.app())
    async with OpenBrain("http://brain.test", await brain.key(), transport=transport) as client:
        stored = await client.remember({"content": "one", "type": "fact"})
        await client.update(stored.id, tags=["a"], if_match='"1"')
        with pytest.raises(Outdated):
            await client.update(stored.id, tags=["b"], if_match='"1"')
        await client.forget(stored.id, if_match='"2"')
        back = await client.restore(stored.id, reason="after all")
        with pytest.raises(NotFound):
            await client.restore(unknown_id())
        with pytest.raises(Outdated):
            await client.erase(stored.id, if_match='"1"')
        await brain.store.workspaces.change_workspace("w1", WorkspaceChange(max_memories=1))
        with pytest.raises(QuotaExceeded) as full:
            await client.remember({"content": "two", "type": "fact"})

    assert (back.version, back.tags, back.reason) == (3, ("a",), None)
    assert (full.value.field, full.value.limit, full.value.used) == ("max_memories", 1, 1)
    assert str(full.value).count("max_memories") == 1


async def test_every_question_is_asked_in_the_clients_own_org() -> None:
    asked: list[tuple[str, str | None]] = []

    def server(request: httpx.Request) -> httpx.Response:
        told = orjson.loads(request.content) if request.content else request.url.params
        asked.append((request.url.path.rpartition("/")[2], told.get("org")))
        return httpx.Response(404, content=b"{}")

    async with OpenBrain("https://brain.example.org", transport=httpx.MockTransport(server), org="own") as client:
        for question in (
            client.search("a"),
            client.search("a", org="other"),
            client.tags(),
            client.scopes(),
            client.forget_matching(project="p"),
            client.forget_matching(),
        ):
            with pytest.raises(NotFound):
                await question

    assert asked == [
        *(("search", "own"), ("search", "other"), ("tags", "own"), ("scopes", "own")),
        *(("forget", "own"), ("forget", None)),
    ]


class Server:
    """Answers with `status`, and counts the requests."""

    def __init__(self) -> None:
        self.status = 200
        self.asked = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        if self.status == 0:
            raise httpx.ReadTimeout("silence", request=request)
        well = orjson.dumps({"memories": [], "count": 0})
        return httpx.Response(self.status, content=well if self.status == 200 else b"{}")


def client_of(server: Server, **options: Any) -> OpenBrain:
    return OpenBrain("https://brain.example.org", "ob_x", transport=httpx.MockTransport(server), **options)


@pytest.mark.parametrize("status", [0, 500, 502, 503])
async def test_three_failures_open_the_breaker(status: int) -> None:
    server = Server()
    server.status = status
    async with client_of(server, attempts=1) as client:
        for _ in range(3):
            with pytest.raises(TryLater):
                await client.memories()
        with pytest.raises(TryLater, match="no request is sent for"):
            await client.memories()

    assert server.asked == 3


async def test_a_refusal_is_no_failure() -> None:
    server = Server()
    async with client_of(server, attempts=1) as client:
        for status in (500, 500, 404, 500, 422, 500, 500, 200, 429, 500, 500):
            server.status = status
            if status == 200:
                await client.memories()
            else:
                with pytest.raises(Exception, match=r"answered \d{3}"):
                    await client.memories()

    assert server.asked == 11


def test_who_asks_too_often_is_told_how_long_to_wait() -> None:
    told = {"error": "rate_limited", "message": "slower", "rate_limit": {"limit": 60, "remaining": 0, "retry_after": 7}}
    limited = refusal(429, orjson.dumps(told))
    proxy = refusal(429, b"<html>")

    assert isinstance(limited, RateLimited)
    assert (limited.per_minute, limited.retry_after_s) == (60, 7)
    assert type(proxy) is TryLater


async def test_a_breaker_that_is_told_not_to_never_opens() -> None:
    server = Server()
    server.status = 500
    async with client_of(server, attempts=1, breaker_failures=0) as client:
        for _ in range(10):
            with pytest.raises(TryLater):
                await client.memories()

    assert server.asked == 10


def test_after_the_pause_one_question_goes_through_and_decides() -> None:
    now = 0.0
    breaker = Breaker(3, 30.0, lambda: now)

    def is_open() -> bool:
        try:
            breaker.enter("https://x")
        except TryLater:
            return True
        return False

    for _ in range(3):
        assert not is_open()
        breaker.failed()
    assert is_open()
    now = 29.9
    assert is_open()
    now = 30.0
    assert not is_open(), "the one that retries"
    assert is_open(), "meanwhile nobody else may"
    breaker.failed()
    now = 59.9
    assert is_open()
    now = 60.0
    assert not is_open()
    breaker.left()
    assert not is_open(), "given up: another one may retry"
    breaker.answered()
    assert not is_open()
    assert not is_open()


async def test_three_attempts_and_no_more(pauses: list[float]) -> None:
    server = Server()
    server.status = 503
    async with client_of(server) as client:
        with pytest.raises(TryLater):
            await client.memories()

    assert server.asked == 3
    assert len(pauses) == 2


def test_a_path_never_leaves_the_server() -> None:
    """An absolute URL given as an id is treated as an id."""
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return httpx.Response(404, content=b"{}")

    async def ask() -> None:
        async with OpenBrain("https://brain.example.org", transport=httpx.MockTransport(answer)) as client:
            for odd in ("https://evil.example.org/x", "//evil.example.org/x", "../../admin"):
                with pytest.raises(NotFound):
                    await client.memory(odd)

    import asyncio

    asyncio.run(ask())
    assert {url.split("/v1/")[0] for url in seen} == {"https://brain.example.org"}
    assert all(url.count("/") == 6 for url in seen), seen
