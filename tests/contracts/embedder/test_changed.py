"""A model whose weights change under its name, on a fake server and on a real one."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from openbrain.adapters.embedding.ollama import Ollama
from openbrain.domain.errors import ModelChanged
from tests.servers.processes.process import ServerProcess
from tests.support.embedder.fake_ollama import NAME, Answer, fake_ollama, ones

MODEL = "all-minilm"
CONTENT = "the launch code is 4711"

Starter = Callable[[str], ServerProcess]


@asynccontextmanager
async def ollama(url: str, name: str = NAME) -> AsyncIterator[Ollama]:
    opened = Ollama(url, name)
    try:
        yield opened
    finally:
        await opened.close()


async def test_no_vector_of_other_weights_is_given_under_the_old_name() -> None:
    """Also if the name comes to mean other weights while a request is in progress."""
    digest, pulled = ["d" * 64], [False]

    def answer(texts: list[str]) -> Answer:
        digest[0] = "e" * 64 if pulled[0] else digest[0]
        return ones(texts)

    with fake_ollama(answer, digest=lambda: digest[0]) as url:
        async with ollama(url) as embedder:
            before = await embedder.identity()
            assert await embedder.unchanged()
            await embedder.embed([CONTENT])
            pulled[0] = True

            for call in (embedder.embed, embedder.embed_queries):
                with pytest.raises(ModelChanged, match=f"openbrain models change {NAME}"):
                    await call([CONTENT])
            assert not await embedder.unchanged()
            assert (await embedder.identity()) == before, "it keeps the identity it was opened with"
            assert "pulled again" in (await embedder.check()).problems[0]

        async with ollama(url) as embedder:
            assert (await embedder.identity()).digest == "e" * 64


@pytest.mark.servers("ollama")
async def test_other_weights_of_a_real_server_are_noticed(private_server: Starter) -> None:
    server = private_server("ollama")
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client, ollama(server.url, "mine") as embedder:
        await client.post("/api/copy", json={"source": MODEL, "destination": "mine"})
        await embedder.embed([CONTENT])

        made = {"model": "mine", "from": MODEL, "parameters": {"num_ctx": 128}, "stream": False}
        (await client.post("/api/create", json=made)).raise_for_status()

        with pytest.raises(ModelChanged, match="openbrain models change mine"):
            await embedder.embed([CONTENT])
