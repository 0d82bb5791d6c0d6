"""The embedding model as operators see it: which one serves, and how to change it."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from openbrain.adapters.embedding.minilm import IDENTITY
from openbrain.domain.access.permissions import Permission
from openbrain.ports.store.generations import MODEL_CHANGE, Generation, GenerationStatus, IndexKind
from openbrain.ports.store.operations import OperationStatus
from openbrain.usecases.auth import OPERATORS
from tests.support.api.brain import Brain, http, refused, remembered
from tests.support.embedder.second_model import SECOND, Second, named

CHANGE = "/v1/admin/models:change"
FIRST = {"model": IDENTITY.name, "model_identity": IDENTITY.key, "dimensions": 384}
OTHER = {"model": "second", "model_identity": SECOND.key, "dimensions": 384}


@pytest.fixture
async def operator(brain: Brain) -> AsyncIterator[httpx.AsyncClient]:
    second = Second()
    app = brain.app(embedders=named({IDENTITY.name: brain.embedder, "second": second}, IDENTITY.name))
    key = await brain.key(OPERATORS, permissions=frozenset(Permission))
    async with http(app, key) as client:
        yield client
    await second.close()


async def _filled(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        await remembered(client, "one", "two", "three")
    await brain.settle()


async def _asked(client: httpx.AsyncClient, status: int = 202, **body: Any) -> dict[str, Any]:
    answer = await client.post(CHANGE, json=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_the_model_that_serves_is_told_beside_the_setting(brain: Brain, operator: httpx.AsyncClient) -> None:
    empty = (await operator.get("/v1/admin/models")).json()
    await _filled(brain)
    told = (await operator.get("/v1/admin/models")).json()

    assert (empty["serving"], empty["written"], empty["problem"]) == (None, [], None)
    assert (told["serving"], told["written"], told["setting"]) == (FIRST, [FIRST], IDENTITY.name)


async def test_a_dry_run_tells_what_it_takes_and_begins_nothing(brain: Brain, operator: httpx.AsyncClient) -> None:
    await _filled(brain)

    told = await _asked(operator, 200, model="second", dry_run=True)
    again = await _asked(operator, 200, model=IDENTITY.name, re_embed=True, dry_run=True)

    assert {name: told[name] for name in ("how", "to", "serving", "total", "cached", "operation")} == {
        "how": "embed",
        "to": OTHER,
        "serving": FIRST,
        "total": 3,
        "cached": 0,
        "operation": None,
    }
    assert (again["how"], again["cached"]) == ("embed", 3)
    assert await brain.store.operations.operations(OPERATORS, 10) == []


async def test_the_model_that_serves_needs_no_change(brain: Brain, operator: httpx.AsyncClient) -> None:
    await _filled(brain)

    told = await _asked(operator, 200, model=IDENTITY.name)

    assert (told["how"], told["operation"]) == ("nothing", None)


async def test_a_change_is_one_operation_however_often_it_is_asked_for(
    brain: Brain, operator: httpx.AsyncClient
) -> None:
    await _filled(brain)

    begun = await _asked(operator, model="second", rate=5)
    again = await _asked(operator, model="second")
    busy = await operator.post(CHANGE, json={"model": IDENTITY.name, "re_embed": True})

    assert begun["operation"]["id"] == again["operation"]["id"]
    assert begun["operation"]["request"] == {
        "index": "vector",
        "model": SECOND.key,
        "model_name": "second",
        "dimensions": 384,
        "rate": 5,
    }
    assert begun["operation"]["id"] in refused(busy, 409)["message"]
    (queued,) = await brain.store.operations.operations(OPERATORS, 10, kinds={MODEL_CHANGE})
    assert queued.status is OperationStatus.QUEUED


async def test_an_index_that_was_kept_serves_at_once(brain: Brain, operator: httpx.AsyncClient) -> None:
    await _filled(brain)
    first = await brain.store.generations.serving(IndexKind.VECTOR)
    assert first is not None
    kept = Generation(
        kind=IndexKind.VECTOR,
        name="v-second",
        model=SECOND.key,
        model_name="second",
        dimensions=384,
        builder=first.builder,
        status=GenerationStatus.BUILDING,
    )
    await brain.store.generations.begin(kept)
    await brain.store.generations.swap(IndexKind.VECTOR, kept.name)

    look = await _asked(operator, 200, model=IDENTITY.name, dry_run=True)
    assert (await brain.store.generations.serving(IndexKind.VECTOR) or first).name == kept.name
    done = await _asked(operator, 200, model=IDENTITY.name)

    assert [(each["how"], each["operation"]) for each in (look, done)] == [("switch", None)] * 2
    serving, other = await brain.store.generations.written(IndexKind.VECTOR)
    assert (serving.name, other.name, other.status) == (first.name, kept.name, GenerationStatus.KEPT)


async def test_a_model_that_is_not_there_is_told(brain: Brain, operator: httpx.AsyncClient) -> None:
    await _filled(brain)

    answer = await operator.post(CHANGE, json={"model": "third"})

    assert "there is no model third" in refused(answer, 422, "model")["message"]


async def test_before_anything_is_indexed_the_setting_decides(operator: httpx.AsyncClient) -> None:
    assert "settings" in refused(await operator.post(CHANGE, json={"model": "second"}), 409)["message"]


async def test_it_is_for_operators(brain: Brain) -> None:
    key = await brain.key("w1", permissions=frozenset(Permission))
    async with http(brain.app(), key) as client:
        refused(await client.get("/v1/admin/models"), 403)
        refused(await client.post(CHANGE, json={"model": "all-minilm"}), 403)
