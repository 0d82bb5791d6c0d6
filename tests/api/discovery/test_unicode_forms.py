"""Letters with marks: composed (NFC) or not (NFD), every search finds both."""

import unicodedata
from typing import Any

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Criteria, everything, matches
from openbrain.domain.limits import QUERY_CHARS
from tests.api.memories.test_ending import at_work
from tests.support.api.brain import Brain, http, refused, remembered
from tests.support.store.fixtures import memory

SAID = "Die Präsidentin öffnet das Café."


def form(name: Any, text: str) -> str:
    return unicodedata.normalize(name, text)


@pytest.mark.parametrize(("stored", "asked"), [("NFC", "NFD"), ("NFD", "NFC"), ("NFD", "NFD")])
async def test_both_forms_are_found(brain: Brain, stored: str, asked: str) -> None:
    async with http(brain.app(), await brain.key(permissions=frozenset(Permission))) as client:
        given = {"title": form(stored, "Zoë"), "tags": [form(stored, "größe")]}
        (stored_id,) = await remembered(client, form(stored, SAID), **given)
        await remembered(client, "The quay is closed.")
        await brain.settle()

        async def found(path: str, **query: Any) -> list[str]:
            answer = (await client.get(f"/v1/brain/{path}", params=query)).json()
            return [each["id"] for each in answer.get("hits", answer.get("memories"))]

        for word in ("Präsidentin", "Zoë", "größe"):
            assert await found("search", q=form(asked, word)) == [stored_id], word
        assert await found("list", tags=form(asked, "größe")) == [stored_id]
        query = {"query": "who?", "keywords": [form(asked, "Präsidentin")], "explain": True}
        recalled = (await client.post("/v1/brain/recall", json=query)).json()
        assert recalled["explained"][stored_id]["boosted"] >= 0.3
        named = (await client.post("/v1/brain/recall", json={"query": form(asked, "Zoë"), "match": "names"})).json()
        assert [each["id"] for each in named["memories"]] == [stored_id]
        for text in ("präsidentin", "Zoë"):
            body = {"matching": form(asked, text), "dry_run": True}
            assert (await client.post("/v1/brain/forget", json=body)).json()["sample"] == [stored_id], text


def test_tags_that_were_stored_as_given_are_found() -> None:
    old = memory(tags=(form("NFD", "größe"),))
    for name in ("NFC", "NFD"):
        assert matches(everything(old.workspace_id, Criteria(tags=(form(name, "größe"),))), old)


async def test_an_erasure_of_a_text_covers_both_forms_in_messages(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(permissions=frozenset(Permission), agent="root")) as admin:
        for name in ("NFC", "NFD"):
            message = {"to": "root", "subject": "", "content": f"{name}: {form(name, 'Zoë Präsident')}"}
            assert (await admin.post("/v1/messages/send", json=message)).is_success
        body = {"matching": form("NFD", "zoë"), "whole": True, "erase": True, "dry_run": False}
        looked = (await admin.post("/v1/brain/forget", json={**body, "dry_run": True})).json()
        async with at_work(brain):
            begun = await admin.post("/v1/brain/forget", json=body, headers={"prefer": "wait=20"})
        inbox = (await admin.get("/v1/messages/inbox")).text

    assert looked["beside"] == 2
    assert begun.json()["operation"]["status"] == "done", begun.text
    assert "Zo" not in inbox


async def test_a_question_that_is_too_long_when_composed_is_refused(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        refused(await client.get("/v1/brain/search", params={"q": "\u0958" * QUERY_CHARS}), 422)
