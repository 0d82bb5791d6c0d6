"""Who sees what in searches and counts, and what answers while the text index is down."""

from typing import Any

import httpx
import pytest

from openbrain.settings.tuning import RecallTuning
from tests.support.api.brain import Brain, http, refused, remembered
from tests.support.api.discovery import FACETS, SCOPES, SEARCH, TAGS, Down, contents, paged, plain, searched

HIDDEN: dict[str, Any] = {"org": "hush", "project": "attic", "tags": ["hushtag"], "source": "hushsource"}


@pytest.mark.parametrize(
    ("own", "key"),
    [
        ({}, {"workspace": "w2"}),
        ({}, {"workspace": "w2", "agent": "bob", "act_as": ("*",)}),
        ({}, {"orgs": ("beta",), "without_org": False}),
        ({"memory_scope": "agent"}, {"agent": "bob"}),
        ({"memory_scope": "agent"}, {"agent": ""}),
        ({"memory_scope": "session", "session_id": "s1"}, {}),
    ],
)
@pytest.mark.parametrize("up", [True, False])
async def test_no_count_facet_or_highlight_of_what_is_not_theirs(
    brain: Brain, ada: httpx.AsyncClient, own: dict[str, Any], key: dict[str, Any], up: bool
) -> None:
    """The answers equal, byte for byte, those given if the hidden memory had never existed."""
    asks = [
        (SEARCH, {"q": q, "facets": FACETS, "highlights": True, "fuzzy": fuzzy, "project": project})
        for q in ("zebra secretword", '"zebra secretword"', "zebro")
        for fuzzy in (False, True)
        for project in ("", "attic")
    ]
    asks += [(path, {"project": project}) for path in (TAGS, SCOPES) for project in ("", "attic")]
    app = brain.app() if up else brain.app(text=Down())
    async with http(app, await brain.key(**key)) as other:
        await brain.settle()
        before = [await plain(other, path, params) for path, params in asks]
        (hidden,) = await remembered(ada, "zebra secretword", **{**HIDDEN, **own})
        await brain.settle()
        after = [await plain(other, path, params) for path, params in asks]
        mine = [(await ada.get(path, params={**params, "session_id": "s1"})).text for path, params in asks]

    assert after == before
    assert all(hidden not in str(each) and "hush" not in str(each) for each in after)
    assert any(hidden in each for each in mine)
    assert "hushtag" in mine[-4]
    assert "hush" in mine[-2]


async def test_another_org_is_refused_in_words(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(orgs=("beta",))) as client:
        for path, params in ((SEARCH, {"q": "x"}), (TAGS, {}), (SCOPES, {})):
            refused(await client.get(path, params={**params, "org": "alpha"}), 403)


@pytest.mark.parametrize("hangs", [False, True])
async def test_without_the_text_index_the_truth_answers(brain: Brain, hangs: bool) -> None:
    recall = brain.settings.recall.model_copy(update={"tuning": RecallTuning(index_timeout_s=0.2)})
    app = brain.app(text=Down(hangs=hangs), settings=brain.settings.model_copy(update={"recall": recall}))
    async with http(app, await brain.key()) as client:
        await remembered(client, "the blue  boat and a ferry", "a boat that is blue", tags=["a"], org="acme")
        await remembered(client, "another blue one", type="plan", tags=["b"])
        body = await searched(client, "blue boat", facets=["type", "tags"], highlights=True)
        phrase = await searched(client, '"blue boat" ferry', highlights=True)
        plans = await searched(client, "blue", type="plan")
        nothing = await searched(client, "?!")
        whole = await paged(client, "blue", limit=100)
        singly = await paged(client, "blue", limit=1)
        tags, scopes = (await client.get(TAGS)).json(), (await client.get(SCOPES)).json()

    assert (body["total"], body["degraded"]) == (3, ["text"])
    assert body["facets"]["type"] == [{"name": "fact", "count": 2}, {"name": "plan", "count": 1}]
    assert body["hits"][0]["highlights"][0]["matches"]
    assert [each["content"] for each in phrase["hits"]] == ["the blue  boat and a ferry"]
    assert [each["content"] for each in plans["hits"]] == ["another blue one"]
    assert (nothing["hits"], nothing["total"]) == ([], 0)
    assert len(whole) == 3
    assert singly == whole
    assert (tags["data"], tags["degraded"]) == ({"a": 2, "b": 1}, ["text"])
    assert (scopes["data"], scopes["degraded"]) == ({"acme": {"": 2}, "": {"": 1}}, ["text"])


@pytest.mark.parametrize("query", ["zanzibar", '"Zanzibar  ledger"', "Quetzal", "walrus", "哪个端口?"])
async def test_the_truth_looks_into_all_texts(brain: Brain, query: str) -> None:
    async with http(brain.app(text=Down()), await brain.key()) as client:
        texts = {"title": "Zanzibar ledger", "aliases": ["Quetzal"], "tags": ["walrus"]}
        named, _ = [
            *await remembered(client, "支付服务的端口是八", **texts),
            *await remembered(client, "a boat that is blue"),
        ]

        assert [each["id"] for each in (await searched(client, query))["hits"]] == [named]


async def test_pages_are_ended_by_whom_they_were_begun(brain: Brain, ada: httpx.AsyncClient) -> None:
    await remembered(ada, *(f"ferry number {number}" for number in range(5)))
    await brain.settle()
    async with http(brain.app(text=Down()), await brain.key()) as down:
        of_index = (await searched(ada, "ferry", limit=2))["next_cursor"]
        of_truth = await searched(down, "ferry", limit=2)
        refusal = await down.get(SEARCH, params={"q": "ferry", "cursor": of_index})
        went_on = await searched(ada, "ferry", cursor=of_truth["next_cursor"])

    assert "without the cursor" in refused(refusal, 503)["message"]
    assert went_on["degraded"] == ["text"]
    assert len({each["id"] for each in (*of_truth["hits"], *went_on["hits"])}) == 5


async def test_before_any_indexer_ran_the_truth_answers(ada: httpx.AsyncClient) -> None:
    await remembered(ada, "the very first memory", tags=["t"])

    assert await contents(ada, "first") == ["the very first memory"]
    assert (await ada.get(TAGS)).json()["data"] == {"t": 1}
