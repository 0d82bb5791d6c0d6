"""If a question names a time, memories of that time rank higher."""

from typing import Any

import pytest

from openbrain.contract.brain.recall import Recalled
from tests.support.api.brain import Brain, http, remembered

NEWER, OLDER = "2026-05-19T08:00:00Z", "2026-03-02T08:00:00Z"
SAME = "The checkout failed on the payment of a guest"


async def test_of_two_alike_the_one_of_that_time_comes_first(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        older, newer = [
            (await remembered(ada, f"{SAME} in {city}", occurred_at=at))[0]
            for city, at in (("Rome", OLDER), ("Bern", NEWER))
        ]
        await brain.settle()

        async def asked(**more: Any) -> Recalled:
            body = {"query": "Why did the checkout fail eleven weeks ago?", "explain": True, "asked_at": NEWER, **more}
            return Recalled.model_validate((await ada.post("/v1/brain/recall", json=body)).raise_for_status().json())

        lifted, plain = await asked(), await asked(time_words=False)
        later = await asked(query="Why did the checkout fail yesterday", asked_at="2026-05-20T08:00:00Z")

    assert [each.id for each in lifted.memories] == [older, newer]
    assert lifted.times is not None
    assert lifted.explained is not None
    assert [(each.words, each.since.month, each.until.month) for each in lifted.times] == [("eleven weeks ago", 3, 3)]
    assert (lifted.explained[older].time, lifted.explained[newer].time) == (0.1, 0)
    assert plain.times == ()
    assert plain.explained is not None
    assert lifted.explained[older].boosted == pytest.approx(plain.explained[older].boosted + 0.1)
    assert later.memories[0].id == newer
