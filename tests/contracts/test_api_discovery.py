"""Search, tags and scopes through the API: both generations' shapes, pages, highlights, and who sees what."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.errors import TryLater
from openbrain.limits import QUERY_CHARS
from openbrain.ports.index import Checked, Count, Found, Span, TextQuery
from tests.api_support import Brain, brain, brain_database_url, http, refused, remembered

__all__ = ["brain", "brain_database_url"]

SEARCH, TAGS, SCOPES = "/v1/brain/search", "/v1/brain/tags", "/v1/brain/scopes"
FACETS = ["type", "tags", "org", "project", "agent_id", "source"]


@pytest.fixture
async def ada(brain: Brain) -> AsyncIterator[httpx.AsyncClient]:
    async with http(brain.app(), await brain.key()) as client:
        yield client


async def searched(client: httpx.AsyncClient, q: str, **asked: Any) -> Any:
    response = await client.get(SEARCH, params={"q": q, **asked})
    assert response.status_code == 200, response.text
    return response.json()


async def contents(client: httpx.AsyncClient, q: str, **asked: Any) -> list[str]:
    return [each["content"] for each in (await searched(client, q, **asked))["hits"]]


async def paged(client: httpx.AsyncClient, q: str, **asked: Any) -> list[str]:
    """Ids of all pages."""
    ids: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await searched(client, q, **asked, **({"cursor": cursor} if cursor else {}))
        ids += [each["id"] for each in page["hits"]]
        cursor = page["next_cursor"]
    return ids


async def test_the_answer_in_both_shapes(brain: Brain, ada: httpx.AsyncClient) -> None:
    ids = await remembered(ada, "ferry ticket to the island", "a ferry in some far harbour", "lunch is at noon")
    await brain.settle()

    body = await searched(ada, "ferry ticket")

    assert [each["id"] for each in body["hits"]] == ids[:2]
    assert body["hits"][0]["score"] == 1.0
    assert 0 < body["hits"][1]["score"] < 1
    assert body["hits"][0]["highlights"] is None
    assert (body["count"], body["total"], body["facets"]) == (2, 2, {})
    assert (body["next_cursor"], body["degraded"]) == (None, [])
    assert body["took_ms"] > 0
    assert body["data"] == {"memories": body["hits"], "count": 2}


async def test_phrases_typos_and_plain_quotes(brain: Brain, ada: httpx.AsyncClient) -> None:
    await remembered(ada, "kubernetes runs the blue boat", "a boat that is blue")
    await brain.settle()

    assert await contents(ada, '"blue boat"') == ["kubernetes runs the blue boat"]
    assert await contents(ada, "\u201cblue boat\u201d") == ["kubernetes runs the blue boat"]
    assert len(await contents(ada, '"blue boat"', phrases=False)) == 2
    assert await contents(ada, "kubarnetes") == []
    assert await contents(ada, "kubarnetes", fuzzy=True) == ["kubernetes runs the blue boat"]
    assert await contents(ada, '"kubarnetes"', fuzzy=True) == []


async def test_every_filter_narrows(brain: Brain, ada: httpx.AsyncClient) -> None:
    await remembered(ada, "ferry one", org="acme", project="web", tags=["a"], source="cli")
    await remembered(ada, "ferry two", type="plan", confidence=0.2, occurred_at="2020-01-01T00:00:00Z")
    await remembered(ada, "ferry three", memory_scope="session", session_id="s1")
    await brain.settle()

    for asked, expected in (
        ({}, {"ferry one", "ferry two"}),
        ({"org": "acme"}, {"ferry one"}),
        ({"project": "web"}, {"ferry one"}),
        ({"tags": ["a", "z"]}, {"ferry one"}),
        ({"tags[]": "a"}, {"ferry one"}),
        ({"source": "cli"}, {"ferry one"}),
        ({"type": ["plan", "bug"]}, {"ferry two"}),
        ({"min_confidence": 0.5}, {"ferry one"}),
        ({"until": "2021-01-01T00:00:00Z"}, {"ferry two"}),
        ({"since": "2021-01-01T00:00:00Z"}, {"ferry one"}),
        ({"agent_id": "bob"}, set()),
        ({"session_id": "s1"}, {"ferry one", "ferry two", "ferry three"}),
        ({"session_id": "s1", "include_scopes": "session"}, {"ferry three"}),
        ({"org": "", "project": "", "type": ""}, {"ferry one", "ferry two"}),
    ):
        assert set(await contents(ada, "ferry", **asked)) == expected, asked


async def test_facets_over_all_that_match(brain: Brain, ada: httpx.AsyncClient) -> None:
    await remembered(ada, "ferry one", "ferry two", org="acme", project="web", tags=["a", "b"])
    await remembered(ada, "ferry three", tags=["a"], type="bug")
    await remembered(ada, "no boat", tags=["hidden"])
    await brain.settle()

    body = await searched(ada, "ferry", limit=1, facets=[*FACETS, "tags"])

    assert (body["count"], body["total"]) == (1, 3)
    assert body["facets"] == {
        "type": [{"name": "fact", "count": 2}, {"name": "bug", "count": 1}],
        "tags": [{"name": "a", "count": 3}, {"name": "b", "count": 2}],
        "org": [{"name": "acme", "count": 2}, {"name": None, "count": 1}],
        "project": [{"name": "web", "count": 2}, {"name": None, "count": 1}],
        "agent_id": [{"name": "ada", "count": 3}],
        "source": [{"name": "manual", "count": 3}],
    }


async def test_highlights_are_pieces_of_the_content_as_it_is(brain: Brain, ada: httpx.AsyncClient) -> None:
    long = f"{'filler words here ' * 40}<b>the ferry</b> & 😀 ferries{' and more of it' * 40}"
    await remembered(ada, long)
    await remembered(ada, "nothing of the kind", tags=["ferry"])
    await brain.settle()

    by_content = {each["content"]: each for each in (await searched(ada, "ferry", highlights=True))["hits"]}

    (piece,) = by_content[long]["highlights"]
    assert piece["text"] == long[piece["start"] : piece["start"] + len(piece["text"])]
    assert [piece["text"][start:end] for start, end in piece["matches"]] == ["ferry", "ferries"]
    assert "<b>the ferry</b> & 😀 ferries" in piece["text"]
    assert len(piece["text"]) < 250
    assert by_content["nothing of the kind"]["highlights"] == []


async def test_pages_hold_every_hit_once(brain: Brain, ada: httpx.AsyncClient) -> None:
    ids = set(await remembered(ada, *(f"ferry number {number}" for number in range(23))))
    await brain.settle()

    whole = await paged(ada, "ferry", limit=100)

    assert set(whole) == ids
    for limit in (1, 5, 23):
        assert await paged(ada, "ferry", limit=limit, highlights=True) == whole


async def test_a_cursor_is_of_one_query_and_one_viewer(brain: Brain, ada: httpx.AsyncClient) -> None:
    await remembered(ada, "ferry one", "ferry two", "ferry three", org="acme")
    await brain.settle()
    cursor = (await searched(ada, "ferry", limit=1))["next_cursor"]
    assert cursor is not None

    assert (await searched(ada, "ferry", limit=2, cursor=cursor, facets=["type"]))["count"] == 2
    others: list[dict[str, Any]] = [
        {"q": "ferry one"},
        {"q": "Ferry"},
        {"q": "ferry", "fuzzy": True},
        {"q": "ferry", "phrases": False},
        {"q": "ferry", "org": "acme"},
        {"q": "ferry", "session_id": "s"},
        {"q": "ferry", "type": "fact"},
    ]
    for other in others:
        refused(await ada.get(SEARCH, params={**other, "cursor": cursor}), 422, "cursor")
    for key in (await brain.key("w2"), await brain.key(agent="bob"), await brain.key(orgs=("acme",))):
        async with http(brain.app(), key) as other_key:
            refused(await other_key.get(SEARCH, params={"q": "ferry", "cursor": cursor}), 422, "cursor")
    for junk in ("x", "=", "\u00fc", "A" * 401, cursor[:-4], cursor[3:]):
        refused(await ada.get(SEARCH, params={"q": "ferry", "cursor": junk}), 422, "cursor")


async def test_what_the_index_still_holds_and_the_truth_does_not_show(brain: Brain, ada: httpx.AsyncClient) -> None:
    """The index is behind: nothing gone is shown, pages are filled up, and no cursor names what was not shown."""
    ids = list(await remembered(ada, *(f"ferry number {number}" for number in range(30))))
    await brain.settle()
    order = await paged(ada, "ferry", limit=100)
    for gone in order[2:27]:
        assert (await ada.delete(f"/v1/brain/forget/{gone}")).status_code == 200
    changed = order[1]
    await ada.patch(f"/v1/brain/memories/{changed}", json={"content": "it is a boat now"})

    first = await searched(ada, "ferry", limit=4, highlights=True)
    rest = await paged(ada, "ferry", limit=4)

    assert [each["id"] for each in first["hits"]] == [order[0], order[1], order[27], order[28]]
    assert rest == [order[0], order[1], *order[27:]]
    assert first["total"] == 30
    assert {each["id"]: each["highlights"] for each in first["hits"]}[changed] == []
    assert "ferry" not in first["hits"][1]["content"]
    assert set(rest) <= set(ids)


ANY = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@ANY
@given(q=st.text(max_size=120), fuzzy=st.booleans(), highlights=st.booleans())
async def test_any_text_is_a_query(ada: httpx.AsyncClient, q: str, fuzzy: bool, highlights: bool) -> None:
    text = q.encode(errors="replace").decode()
    response = await ada.get(SEARCH, params={"q": text, "fuzzy": fuzzy, "highlights": highlights, "facets": "tags"})

    assert response.status_code in {200, 422}, response.text
    if response.status_code == 422:
        assert response.json()["field"] == "q"
        assert not text.strip() or not text.isprintable()


async def test_a_query_is_needed_and_has_its_limit(ada: httpx.AsyncClient) -> None:
    for params, field in (
        ({}, "q"),
        ({"q": "  "}, "q"),
        ({"q": "x" * (QUERY_CHARS + 1)}, "q"),
        ({"q": "nul \x00"}, "q"),
        ({"q": "x", "facets": "content"}, "facets"),
        ({"q": "x", "fuzzy": "perhaps"}, "fuzzy"),
        ({"q": "x", "limit": "0"}, "limit"),
        ({"q": "x", "limit": "101"}, "limit"),
        ({"q": "x", "since": "2026-01-01T00:00:00"}, "since"),
    ):
        refused(await ada.get(SEARCH, params=params), 422, field)
    refused(await ada.get(TAGS, params={"limit": 1001}), 422, "limit")
    refused(await ada.get(SCOPES, params={"limit": 201}), 422, "limit")


async def test_tags_and_scopes_in_both_shapes(brain: Brain, ada: httpx.AsyncClient) -> None:
    await remembered(ada, "one", "two", org="core", project="go", tags=["medium", "node"])
    await remembered(ada, "three", org="core", project="agent", tags=["medium"])
    await remembered(ada, "four", project="attic")
    await remembered(ada, "five")
    await brain.settle()

    tags, some = (await ada.get(TAGS)).json(), (await ada.get(TAGS, params={"project": "go", "limit": 1})).json()
    scopes, first = (await ada.get(SCOPES)).json(), (await ada.get(SCOPES, params={"limit": 1})).json()

    assert tags["tags"] == [{"name": "medium", "count": 3}, {"name": "node", "count": 2}]
    assert tags["data"] == {"medium": 3, "node": 2}
    assert (tags["count"], tags["more"], tags["degraded"]) == (2, False, [])
    assert (some["data"], some["more"]) == ({"medium": 2}, True)
    assert scopes["scopes"] == [
        {"org": "core", "count": 3, "projects": [{"name": "go", "count": 2}, {"name": "agent", "count": 1}]},
        {"org": None, "count": 2, "projects": [{"name": None, "count": 1}, {"name": "attic", "count": 1}]},
    ]
    assert scopes["data"] == {"core": {"go": 2, "agent": 1}, "": {"": 1, "attic": 1}}
    assert (scopes["count"], scopes["more"]) == (2, False)
    assert (first["data"], first["more"]) == ({"core": {"go": 2}}, True)


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
    """Byte for byte what they would be told if it had never been."""
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


async def plain(client: httpx.AsyncClient, path: str, params: dict[str, Any]) -> Any:
    response = await client.get(path, params=params)
    assert response.status_code == 200, response.text
    return {**response.json(), "took_ms": None}


async def test_another_org_is_refused_in_words(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(orgs=("beta",))) as client:
        for path, params in ((SEARCH, {"q": "x"}), (TAGS, {}), (SCOPES, {})):
            refused(await client.get(path, params={**params, "org": "alpha"}), 403)


class Down:
    """A text index that is down or hangs, which the real one can't be made to be at will."""

    builder = "faulty"

    def __init__(self, *, hangs: bool = False) -> None:
        self._hangs = hangs

    async def find(self, *_: Any) -> Found:
        raise await self._fault()

    async def counts(self, *_: Any) -> Sequence[Count]:
        raise await self._fault()

    async def check(self) -> Checked:
        raise await self._fault()

    async def marks(self, query: TextQuery, texts: Sequence[str]) -> Sequence[Sequence[Span]]:
        from openbrain.adapters.tantivy_text.marking import Marker

        return Marker().marks(query, texts)

    async def _fault(self) -> TryLater:
        if self._hangs:
            await asyncio.Event().wait()
        return TryLater("down for the test")


@pytest.mark.parametrize("hangs", [False, True])
async def test_without_the_text_index_the_truth_answers(brain: Brain, hangs: bool) -> None:
    recall = brain.settings.recall.model_copy(update={"index_timeout_s": 0.2})
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
