"""Search, tags and scopes through the API: the response formats of both generations, pages, highlights."""

from typing import Any

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.domain.limits import QUERY_CHARS
from tests.support.api.brain import Brain, http, refused, remembered
from tests.support.api.discovery import FACETS, SCOPES, SEARCH, TAGS, contents, paged, searched
from tests.support.forms import examples


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
    """While the index is behind, nothing deleted is shown, pages are filled up, and no cursor names a hidden memory."""
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


ANY = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


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
