"""The typed client against the API, and against servers that misbehave."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from openbrain.client import OpenBrain
from openbrain.contract.brain.recall import Recalled, RefusedQuestion
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    OpenBrainError,
    SetupError,
    TryLater,
    Unauthorised,
)
from openbrain.domain.events.submission import Submission
from openbrain.domain.memory import MemoryType, Scope, State
from tests.support.api.brain import Brain, unknown_id
from tests.support.waiting import PATIENCE_S


def client(brain: Brain, key: str, **options: Any) -> OpenBrain:
    return OpenBrain("http://brain.test", key, transport=httpx.ASGITransport(brain.app()), **options)


@pytest.fixture
async def ada(brain: Brain) -> AsyncIterator[OpenBrain]:
    async with client(brain, await brain.key()) as opened:
        yield opened


async def test_many_questions_with_what_holds_for_all(brain: Brain, ada: OpenBrain) -> None:
    await ada.remember_batch(
        [{"content": f"{name} at the quay", "type": "fact", "project": name} for name in ("heron", "gull")]
    )
    await brain.settle()

    found = await ada.recall_batch(
        ["quay", {"query": "quay", "project": "gull"}, {"query": "quay", "author": 5, "top_k": 0}],
        project="heron",
        top_k=1,
        keywords=["quay"],
        author="ada",
        since=datetime(2020, 1, 1, tzinfo=UTC),
    )

    first, second, refused = found.results
    assert found.count == 2
    assert isinstance(first, Recalled)
    assert isinstance(second, Recalled)
    assert [each.content for each in (*first.memories, *second.memories)] == ["heron at the quay", "gull at the quay"]
    assert isinstance(refused, RefusedQuestion)
    assert refused.field == "top_k"


async def test_one_memory_by_every_method(brain: Brain, ada: OpenBrain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openbrain.streams.monitoring.endpoints._CHECK_S", PATIENCE_S)  # a busy machine is not degraded
    stored = await ada.remember(
        Submission(
            content="we deploy with podman",
            type=MemoryType.CONVENTION,
            tags=("ops",),
            occurred_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
    )
    again = await ada.remember({"content": "we deploy with podman", "type": "convention"})
    batch = await ada.remember_batch([{"content": "lunch at noon", "type": "fact"}, {"content": "", "type": "fact"}])
    await brain.settle()
    found = await ada.recall("how do we deploy", top_k=5, type=["convention"], tags=["ops"], keywords=["podman"])
    words = await ada.recall("podman", text_weight=1)
    listed = await ada.memories(limit=1, type=MemoryType.CONVENTION, since=datetime(2025, 1, 1, tzinfo=UTC))
    changed = await ada.update(stored.id, content="we deploy with kubernetes", tags=[])
    shown = await ada.memory(stored.id, history=True)
    forgotten = await ada.forget(stored.id, reason="no longer")
    health = await ada.health()

    assert (stored.type, stored.state, stored.duplicate) == (MemoryType.CONVENTION, State.CREATED, False)
    assert stored.occurred_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert (again.id, again.duplicate) == (stored.id, True)
    assert [each.status for each in batch.results] == ["created", "refused"]
    assert batch.results[1].field == "content"
    assert [each.id for each in found.memories] == [stored.id]
    assert found.memories[0].indexed
    assert [each.id for each in words.memories] == [stored.id]
    assert found.scores[stored.id] == found.memories[0].score
    assert [each.id for each in listed.memories] == [stored.id]
    assert (changed.content, changed.tags, changed.version) == ("we deploy with kubernetes", (), 2)
    assert shown.history is not None
    assert shown.history[0].action == "created"
    assert (forgotten.forgotten, forgotten.state) == (True, State.DELETED)
    assert (health.status, health.parts["truth"]) == ("ok", "ok")


async def test_pages_and_filters(ada: OpenBrain) -> None:
    await ada.remember({"content": "mine", "type": "fact", "memory_scope": "agent", "org": "acme", "source": "cli"})
    await ada.remember({"content": "ours", "type": "plan", "project": "web", "confidence": 0.5})
    first = await ada.memories(limit=1)
    second = await ada.memories(limit=1, cursor=first.next_cursor)

    assert {first.memories[0].content, second.memories[0].content} == {"mine", "ours"}
    assert (await ada.memories(author="bob")).count == 0
    assert (await ada.memories(author=["bob", "ada"])).count == 2
    assert (await ada.memories(include_scopes=[Scope.AGENT], org="acme", source="cli")).count == 1
    assert (await ada.memories(min_confidence=0.9)).count == 1
    assert (await ada.recall("mine", author="bob")).count == 0
    assert (await ada.recall("mine", author="ada", boost_keywords=["mine"])).count == 1


async def test_searching_and_counting(brain: Brain, ada: OpenBrain) -> None:
    for number in range(3):
        offer = {"content": f"the blue ferry {number}", "type": "fact", "org": "acme", "project": "web", "tags": ["a"]}
        await ada.remember(offer)
    await ada.remember({"content": "a ferry that is blue", "type": "plan"})
    await brain.settle()
    first = await ada.search('"blue ferry"', limit=2, highlights=True, facets=["type", "org"])
    rest = await ada.search('"blue ferry"', cursor=first.next_cursor)

    assert (first.count, first.total, rest.count) == (2, 3, 1)
    assert first.hits[0].highlights is not None
    assert first.hits[0].highlights[0].matches == ((4, 14),)
    assert [(each.name, each.count) for each in first.facets["org"]] == [("acme", 3)]
    assert (await ada.search('"blue ferry"', phrases=False)).total == 4
    assert (await ada.search("ferri blu", fuzzy=True, type="plan", author="ada")).total == 1
    assert (await ada.search("ferry", author="bob")).total == 0
    assert [(each.name, each.count) for each in (await ada.tags(project="web", limit=1)).tags] == [("a", 3)]
    scopes = await ada.scopes()
    assert [(each.org, each.count, each.projects[0].name) for each in scopes.scopes] == [
        ("acme", 3, "web"),
        (None, 1, None),
    ]


async def test_waiting_and_sessions(brain: Brain, ada: OpenBrain) -> None:
    async with brain.services():
        said = {"content": "said tonight", "type": "context", "memory_scope": "session", "session_id": "s 1/2"}
        stored = await ada.remember(said, wait=30)
        assert stored.indexed
        assert (await ada.recall("tonight", session_id="s 1/2")).count == 1
        assert (await ada.memory(stored.id, session_id="s 1/2")).session_id == "s 1/2"
        assert (await ada.update(stored.id, session_id="s 1/2", confirm=True, wait=30)).indexed
        assert (await ada.forget(stored.id, session_id="s 1/2", wait=30)).forgotten
    with pytest.raises(NotFound):
        await ada.memory(stored.id)


async def test_speaking_for_an_agent(brain: Brain) -> None:
    async with client(brain, await brain.key(agent="", act_as=("*",)), agent="bøb") as gateway:
        stored = await gateway.remember({"content": "x", "type": "fact", "memory_scope": "agent"})

        assert stored.agent_id == "bøb"
        assert (await gateway.memories(author="bøb")).count == 1


async def test_workspaces_and_keys(brain: Brain) -> None:
    async with client(brain, await brain.key("system", permissions=frozenset({Permission.ADMIN}))) as operator:
        made = await operator.create_workspace("acme", "Acme")
        key = await operator.create_key(name="n", permissions=[Permission.BRAIN_READ], workspace_id="acme", orgs=["o"])
        listed = await operator.keys(workspace_id="acme")
        revoked = await operator.revoke_key(key.id, workspace_id="acme")
        workspaces = await operator.workspaces()

    assert (made.id, made.name) == ("acme", "Acme")
    assert key.key.startswith("ob_")
    assert [each.id for each in listed.keys] == [key.id]
    assert revoked.revoked
    assert [each.id for each in workspaces.workspaces] == ["acme", "system"]


async def test_refusals_are_the_errors_of_the_project(brain: Brain, ada: OpenBrain) -> None:
    with pytest.raises(Invalid, match=r"^type: ") as invalid:
        await ada.remember({"content": "x", "type": "rumour"})
    assert invalid.value.field == "type"
    with pytest.raises(NotFound):
        await ada.memory(unknown_id())
    with pytest.raises(NotFound):
        await ada.memory("../../live")
    old = await ada.remember({"content": "old", "type": "fact"})
    new = await ada.remember({"content": "new", "type": "fact", "supersedes": old.id})
    with pytest.raises(Conflict) as conflict:
        await ada.remember({"content": "other", "type": "fact", "supersedes": old.id})
    assert conflict.value.head == new.id
    with pytest.raises(Forbidden):
        await ada.keys()
    async with client(brain, "ob_wrong") as nobody:
        with pytest.raises(Unauthorised):
            await nobody.memories()


@pytest.mark.parametrize(
    "url",
    [
        *("", "brain", "ftp://brain", "http://", "127.0.0.1:8788"),
        *("http://127.0.0.1:port", "http://127.0.0.1:99999", "http://[::1", "https://brain.test?x=1"),
        *(" http://127.0.0.1:8788", "http://127.0.0.1:8788\n", "https://two words"),
        *("https://xn--", "https://xn--a.org", "https://\N{SNOWMAN}.net"),
    ],
)
def test_a_url_that_is_none(url: str) -> None:
    with pytest.raises(SetupError, match="is not a URL"):
        OpenBrain(url)


def test_a_key_is_not_sent_in_the_clear() -> None:
    for fine in ("http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "https://brain.example.org"):
        OpenBrain(fine)
    OpenBrain("http://10.0.0.1", allow_http=True)
    with pytest.raises(SetupError, match="in the clear"):
        OpenBrain("http://10.0.0.1", "ob_secret")


class Server:
    """Gives these answers, one per request; repeats the last for ever."""

    def __init__(self, *answers: Callable[[], httpx.Response] | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._answer)

    def client(self, **options: Any) -> OpenBrain:
        return OpenBrain("http://brain.test", "ob_k", transport=self.transport, **options)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer()


def busy(status: int = 503, wait: str = "0") -> Callable[[], httpx.Response]:
    return lambda: httpx.Response(status, json={"error": "x", "message": "busy"}, headers={"retry-after": wait})


def empty() -> httpx.Response:
    return httpx.Response(200, json={"memories": [], "count": 0, "keys": []})


@pytest.mark.parametrize("trouble", [busy(503), busy(429), httpx.ReadError("cut"), httpx.ConnectError("refused")])
async def test_what_passes_is_waited_for(trouble: Any, pauses: list[float]) -> None:
    server = Server(trouble, trouble, empty)

    assert (await server.client().memories()).count == 0
    assert len(server.requests) == 3
    assert len(pauses) == 2


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        (busy(503), "busy"),
        (httpx.ConnectError("refused"), "can't reach http://brain.test: start it"),
        (httpx.ReadTimeout("slow"), "did not answer in time"),
        (httpx.ReadError("cut"), "broke off before its answer"),
        (httpx.RemoteProtocolError("cut"), "broke off before its answer"),
    ],
)
@pytest.mark.usefixtures("pauses")
async def test_what_does_not_pass_is_told(trouble: Any, says: str) -> None:
    server = Server(trouble)

    with pytest.raises(TryLater, match=says):
        await server.client(attempts=2).memories()
    assert len(server.requests) == 2


async def test_a_port_of_this_machine_where_nothing_listens_is_told_sooner(pauses: list[float]) -> None:
    server = Server(httpx.ConnectError("refused"))
    client = OpenBrain("http://127.0.0.1:9", "ob_key", transport=server.transport)

    with pytest.raises(TryLater, match="can't reach"):
        await client.memories()
    assert (len(server.requests), sum(pauses) < 0.5) == (2, True)


async def test_a_key_is_not_made_twice_when_the_answer_was_lost() -> None:
    lost = Server(httpx.ReadError("cut"))
    with pytest.raises(TryLater, match="may have been done"):
        await lost.client().create_key(name="n", permissions=["brain.read"])
    assert len(lost.requests) == 1


@pytest.mark.usefixtures("pauses")
async def test_an_answer_whose_compression_is_cut_is_asked_for_again() -> None:
    broken = {"content-encoding": "gzip"}
    server = Server(lambda: httpx.Response(200, stream=httpx.ByteStream(b"cut"), headers=broken), empty)

    assert (await server.client().memories()).count == 0
    with pytest.raises(TryLater):
        await Server(lambda: httpx.Response(200, stream=httpx.ByteStream(b"cut"), headers=broken)).client().memories()


async def test_a_recall_of_no_hits_is_refused_not_answered_with_the_usual_number(ada: OpenBrain) -> None:
    with pytest.raises(Invalid, match="top_k"):
        await ada.recall("x", top_k=0)


async def test_a_wanted_duplicate_is_not_stored_twice_by_our_own_repetition() -> None:
    server = Server(busy(503))
    with pytest.raises(TryLater):
        await server.client(attempts=2).remember({"content": "x", "type": "fact", "allow_duplicate": True})

    first, second = (request.headers["idempotency-key"] for request in server.requests)
    assert first == second


@pytest.mark.parametrize("key", ["ob_k\n", "ob_ké", "ob\x00"])
def test_a_key_with_something_else_in_it_is_told(key: str) -> None:
    with pytest.raises(SetupError, match="give only the key itself"):
        OpenBrain("https://brain.test", key)


async def test_what_can_not_be_sent_is_told_and_not_sent() -> None:
    server = Server(empty)
    brain = server.client()
    for wrong in (
        brain.remember({"content": "x", "type": "fact"}, idempotency_key="a\nb"),
        brain.remember({"content": "\ud800", "type": "fact"}),
        brain.memory("\ud800"),
        brain.search("x" * 70_000),
    ):
        with pytest.raises(Invalid):
            await wrong
    with pytest.raises(Invalid, match="not UTF-8: correct it"):
        await brain.search("\ud800")
    for number in (float("nan"), float("-inf")):  # as null it would be left out, and more memories would end
        with pytest.raises(Invalid, match="finite"):
            await brain.forget_matching(project="shop", max_confidence=number)
    assert server.requests == []
    with pytest.raises(OpenBrainError):
        await brain.recall("NaN and Infinity")
    assert len(server.requests) == 1


async def test_a_set_of_values_is_sent_as_values_and_points_are_no_way_up() -> None:
    server = Server(lambda: httpx.Response(404))
    brain = server.client()
    await asyncio.gather(
        brain.memories(tags=frozenset({"a"})),  # type: ignore[arg-type]
        brain.delete_thought("."),
        brain.tick("../stats"),
        return_exceptions=True,
    )

    assert [request.url.raw_path.decode() for request in server.requests] == [
        "/v1/brain/list?tags=a",
        "/v1/thoughts/%2E",
        "/tick/..%2Fstats",
    ]


async def test_an_empty_id_is_refused_and_is_no_other_route() -> None:
    server = Server(lambda: httpx.Response(200, json={}))
    brain = server.client()
    for call in (brain.memory(""), brain.forget(""), brain.restore(""), brain.revoke_key(""), brain.tick("")):
        with pytest.raises(Invalid, match="an id or name is empty"):
            await call
    assert server.requests == []


async def test_an_answer_has_a_limit() -> None:
    server = Server(lambda: httpx.Response(200, content=b"x" * 2000))

    with pytest.raises(SetupError, match="above 1000 bytes"):
        await server.client(response_bytes=1000).memories()


@pytest.mark.parametrize("content", [b"<html>hello</html>", b"[]", b'{"memories": 5}'])
async def test_what_is_no_openbrain_is_told(content: bytes) -> None:
    server = Server(lambda: httpx.Response(200, content=content))

    with pytest.raises(SetupError, match="did not answer as an OpenBrain"):
        await server.client().memories()


@pytest.mark.parametrize(
    ("status", "kind"),
    [(302, SetupError), (400, Invalid), (413, Invalid), (404, NotFound), (500, TryLater), (502, TryLater)],
)
async def test_a_refusal_without_a_problem_in_it(status: int, kind: type[OpenBrainError]) -> None:
    server = Server(lambda: httpx.Response(status, content=b"<html>"))

    with pytest.raises(kind, match=str(status)):
        await server.client(attempts=1).memories()
