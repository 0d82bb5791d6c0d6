"""The model that was fetched and built gives the vectors of the reference implementation."""

from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from openbrain.adapters.embedding.mpnet import MPNet
from tests.contracts.embedder.test_embedder import cosine

REFERENCE = Path(__file__).parents[2] / "samples" / "mpnet" / "reference.json"


@pytest.fixture
async def mpnet(mpnet_models: Path) -> AsyncIterator[MPNet]:
    opened = MPNet(mpnet_models / "all-mpnet-base-v2")
    yield opened
    await opened.close()


async def test_vectors_are_those_of_the_reference(mpnet: MPNet) -> None:
    samples = orjson.loads(REFERENCE.read_bytes())
    vectors = await mpnet.embed([sample["text"] for sample in samples])

    for sample, vector in zip(samples, vectors, strict=True):
        # Entries are about 0.036; 8 bits cost most where a text is one word hundreds of times.
        assert list(vector[:16]) == pytest.approx(sample["vector"], abs=0.012), sample["text"][:40]


async def test_a_question_has_no_prompt(mpnet: MPNet) -> None:
    text = "Who owns the billing service?"

    assert cosine(await mpnet.embed_query(text), (await mpnet.embed([text]))[0]) > 0.9999
    assert mpnet.passages(text, "") == [text]
