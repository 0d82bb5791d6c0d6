"""A number that says how similar a hit is, and no hits if nothing is similar."""

from typing import Any

import httpx

from openbrain.contract.brain.recall import Recalled
from openbrain.domain.times import to_iso
from tests.support.api.brain import Brain, http, remembered

RECALL = "/v1/brain/recall"


async def asked(client: httpx.AsyncClient, query: str, **more: Any) -> Recalled:
    response = await client.post(RECALL, json={"query": query, **more})
    assert response.status_code == 200, response.text
    return Recalled.model_validate(response.json())


async def test_nobody_knows_is_an_answer(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        notes = (f"The {word} is repainted in spring" for word in ("gate", "shed", "boat", "fence", "porch", "mill"))
        deploy, *others = await remembered(ada, "We deploy on Thursdays with podman", *notes)
        await brain.settle()
        known = await asked(ada, "When do we deploy?")
        unknown = await asked(ada, "Who won the whaling museum's cello contest?")
        whatever = await asked(ada, "Who won the whaling museum's cello contest?", precision="recall")
        floor = await asked(ada, "When do we deploy?", min_similarity=1)

    assert (known.memories[0].id, known.nothing_close) == (deploy, False)
    assert known.memories[0].similarity is not None
    assert (unknown.memories, unknown.count, unknown.nothing_close) == ((), 0, True)
    assert len(whatever.memories) == 1 + len(others)
    assert max(each.similarity or 0 for each in whatever.memories) < known.memories[0].similarity
    assert (floor.memories, floor.nothing_close) == ((), True)


async def test_the_number_hangs_on_memory_and_question_alone(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        (deploy,) = await remembered(ada, "We deploy on Thursdays with podman")
        await brain.settle()
        alone = await asked(ada, "podman deploys")
        await remembered(ada, "Podman is what we deploy with", "Deploys need two reviews", "podman, podman")
        await brain.settle()
        beside = await asked(ada, "podman deploys", precision="recall")

    before, after = (
        next(each.similarity for each in answer.memories if each.id == deploy) for answer in (alone, beside)
    )
    assert before == after


async def test_exact_names_and_tags_are_near(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        error = await remembered(ada, "Seen after the upgrade: ERR-4711 in svc-blue")
        await ada.post("/v1/brain/remember", json={"content": "Mondays are quiet", "type": "fact", "tags": ["kestrel"]})
        await brain.settle()
        by_id, by_tag = await asked(ada, "ERR-4711", precision="exact"), await asked(ada, "kestrel")

    assert [each.id for each in by_id.memories] == error
    assert ("kestrel",) in [each.tags for each in by_tag.memories]
    assert not by_tag.nothing_close


async def test_what_only_its_name_says_is_near(brain: Brain) -> None:
    notes = (f"The {word} is repainted in spring" for word in ("gate", "shed", "boat", "fence", "porch", "mill"))
    async with http(brain.app(), await brain.key()) as ada:
        await remembered(ada, *notes)
        (named,) = await remembered(ada, "Filed in the cellar", title="Zanzibar ledger", aliases=["Quetzal papers"])
        await brain.settle()
        answers = [await asked(ada, query, top_k=1) for query in ("Where is Zanzibar?", "papers")]
        past = await asked(ada, "zanzibar", as_of=to_iso(brain.clock.now()))

    assert [[each.id for each in answer.memories] for answer in (*answers, past)] == [[named]] * 3
    assert not any(answer.nothing_close for answer in answers)


async def test_where_not_all_is_known_nothing_is_held_back(brain: Brain) -> None:
    async with http(brain.app(token_encoder=None), await brain.key()) as ada:
        await remembered(ada, "We deploy on Thursdays with podman")
        await brain.settle()
        found = await asked(ada, "Who won the whaling museum's cello contest?")

    assert (found.count, found.nothing_close) == (1, False)


async def test_a_paraphrase_is_found_among_few(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        (cache,) = await remembered(ada, "The cache key must hold the tenant, or answers leak.")
        await remembered(ada, "We deploy on Thursdays with podman", "Deploys need two reviews")
        await brain.settle()
        found = await asked(ada, "why did customers see foreign answers?")

    assert cache in [each.id for each in found.memories]
    scores = [each.score or 0 for each in found.memories]
    assert scores == sorted(scores, reverse=True)
