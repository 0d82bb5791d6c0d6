"""Every bad value gets one 422 that names the field; nothing of it is stored or logged."""

import json

import httpx
import pytest

from openbrain_api.handlers import ROUTES
from tests.support.api.brain import Caller, refused
from tests.support.api.inputs.bad_inputs import BAD, FULL, QUERIES, SECRET, Bad


def test_the_cases_reach_every_route_that_takes_a_body() -> None:
    takers = {(route.method, route.path) for route in ROUTES if route.body.model_fields}

    assert {(method, path) for method, path, _ in BAD} == takers
    assert FULL.keys() == {path for _, path in takers}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("method", "path", "bads"), BAD, ids=[f"{method} {path}" for method, path, _ in BAD])
async def test_a_bad_value_is_named(
    caller: Caller, capsys: pytest.CaptureFixture[str], method: str, path: str, bads: list[Bad]
) -> None:
    before = await caller.counts()
    for name, value, field in bads:
        body = {key: each for key, each in {**FULL[path], name: value}.items() if each is not None}
        text = json.dumps(body)  # json.dumps writes NaN and Infinity, as careless producers do
        response = await caller.send(method, path, content=text, headers={"content-type": "application/json"})

        assert response.status_code == 422, f"{name}={str(value)[:50]}: {response.text}"
        assert refused(response, 422, field)["error"] == "validation_error"
        assert SECRET not in response.text
    assert await caller.counts() == before
    printed = capsys.readouterr()
    assert SECRET not in printed.out + printed.err


@pytest.mark.asyncio(loop_scope="module")
async def test_a_refusal_of_length_names_the_limit(caller: Caller) -> None:
    response = await caller.send("POST", "/v1/brain/remember", json={"content": "x" * 50_001, "type": "fact"})

    assert "50000" in refused(response, 422, "content")["message"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_bad_query_string_is_named(caller: Caller) -> None:
    for name, value, field in QUERIES:
        refused(await caller.send("GET", "/v1/brain/list", params={name: value}), 422, field)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_query_string_that_is_no_text_or_endless(caller: Caller) -> None:
    for query in (b"org=%ff%fe", b"a=1&" * 300):
        url = httpx.URL("http://brain/v1/brain/list", query=query)
        refused(await caller.client.get(url), 422, "query")
