"""Answers of servers that can't be run here: too old, red, another product, other credentials."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from openbrain.adapters.elasticsearch.connection import connect
from openbrain.adapters.elasticsearch.text import ElasticsearchText
from openbrain.domain.access.visibility import AllOf
from openbrain.domain.errors import NeverRetry, OpenBrainError, SetupError, TryLater
from tests.servers.places import free_port

PRODUCT = {"X-Elastic-Product": "Elasticsearch"}
Answer = tuple[int, dict[str, Any]]


def version(number: str) -> Answer:
    return 200, {"version": {"number": number}}


def error(status: int, kind: str) -> Answer:
    return status, {"error": {"type": kind, "reason": "secret words of a memory"}, "status": status}


class Impostor:
    """Gives a fixed answer for each path, and records the credentials sent."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.headers = PRODUCT
        self.authorization = ""
        self.port = free_port()

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        self.authorization = request.headers.get("Authorization", "")
        status, body = self.answers.get(request.path) or self.answers["*"]
        return web.json_response(body, status=status, headers=self.headers)


@pytest.fixture
async def impostor() -> AsyncIterator[Impostor]:
    impostor = Impostor()
    runner = web.ServerRunner(web.Server(impostor))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", impostor.port).start()
    yield impostor
    await runner.cleanup()


@pytest.fixture
async def text(impostor: Impostor) -> AsyncIterator[ElasticsearchText]:
    url = f"http://user:pass@127.0.0.1:{impostor.port}"
    text = ElasticsearchText(url, "test", 20, verify_tls=True, timeout_s=60)
    yield text
    await text.close()


async def test_the_credentials_of_the_url_are_used(impostor: Impostor, text: ElasticsearchText) -> None:
    impostor.answers = {"/": version("9.1.0"), "*": (200, {"status": "yellow"})}

    assert (await text.check()).problems == ()

    assert impostor.authorization == "Basic dXNlcjpwYXNz"


@pytest.mark.parametrize(
    ("number", "health", "problem"),
    [("8.18.9", "green", "8.19"), ("7.17.0", "yellow", "8.19"), ("8.19.0", "red", "red")],
)
async def test_what_is_wrong_with_a_server_is_told(
    impostor: Impostor, text: ElasticsearchText, number: str, health: str, problem: str
) -> None:
    impostor.answers = {"/": version(number), "*": (200, {"status": health})}

    checked = await text.check()

    assert (checked.product, checked.version) == ("Elasticsearch", number)
    assert len(checked.problems) == 1
    assert problem in checked.problems[0]


@pytest.mark.parametrize(
    ("answer", "expected", "words"),
    [
        (error(401, "security_exception"), SetupError, "credentials"),
        (error(403, "security_exception"), SetupError, "credentials"),
        (error(400, "media_type_header_exception"), SetupError, "elasticsearch"),
        (error(403, "cluster_block_exception"), TryLater, "busy"),
        (error(429, "es_rejected_execution_exception"), TryLater, "429"),
        (error(503, "no_shard_available_action_exception"), TryLater, "503"),
        (error(404, "index_not_found_exception"), TryLater, "is missing: a running housekeeper recreates"),
        (error(400, "parsing_exception"), NeverRetry, "400"),
    ],
)
async def test_each_refusal_says_what_to_do(
    impostor: Impostor, text: ElasticsearchText, answer: Answer, expected: type[OpenBrainError], words: str
) -> None:
    impostor.answers = {"*": answer}
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: text.search("first", "ferry", AllOf(()), 1),
        lambda: text.read("first", ["x"]),
    ]

    for call in calls:
        with pytest.raises(expected, match=words) as told:
            await call()
        assert "secret" not in str(told.value)


async def test_another_product_at_the_address(impostor: Impostor, text: ElasticsearchText) -> None:
    impostor.headers = {}
    impostor.answers = {"*": version("9.1.0")}

    with pytest.raises(SetupError, match="not as Elasticsearch"):
        await text.check()


@pytest.mark.parametrize("url", ["localhost:9200", "ftp://host:1", "http://", ""])
def test_an_address_that_can_t_be_one(url: str) -> None:
    with pytest.raises(SetupError, match="http://host:9200"):
        connect(url, verify_tls=True, timeout_s=1)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://host", "http://host:9200"),
        ("https://host/es", "https://host:443/es"),
        ("https://user:pass@host", "https://host:443"),
        ("http://[::1]:80", "http://[::1]:80"),
    ],
)
async def test_an_address_without_a_port_gets_the_usual_one(url: str, expected: str) -> None:
    client = connect(url, verify_tls=False, timeout_s=1)

    assert [node.base_url for node in client.transport.node_pool.all()] == [expected]
    await client.close()
