"""A tick that asks a real language model, which is so small that most of its answer is wrong; the tick must cope."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from openbrain.adapters.network.chat_reasoner import ChatReasoner
from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain_tick.ports import Ports
from openbrain_tick.tick import tick
from tests.servers import ollama_server
from tests.servers.availability import required
from tests.servers.plugin import need
from tests.servers.processes.process import ServerError, ServerProcess
from tests.servers.steps import CantInstall
from tests.servers.tools import chat_model
from tests.support.store.fixtures import FakeClock, clock, database
from tests.support.vault.pages import Vault as Pages
from tests.support.vault.ticking import database_url, job, pages, ports, settled, vault_of
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.servers("ollama")
__all__ = ["clock", "database", "database_url", "pages", "ports"]

TOKENS = 80
"""Such a model does not stop by itself; at some ten tokens per second on a loaded machine this takes a while."""


@pytest.fixture
def store(database: Database, clock: FakeClock) -> SqlStore:
    return SqlStore(database, clock)


@pytest.fixture
async def reasoner() -> AsyncIterator[ChatReasoner]:
    """The reasoner, on Ollama's chat completions."""
    need("ollama")
    try:
        models = await asyncio.to_thread(chat_model.installed)
    except (CantInstall, ServerError, subprocess.SubprocessError, OSError) as error:
        if "ollama" in required():
            raise
        pytest.skip(f"{chat_model.MODEL} can't be installed here: {error}")
    with ServerProcess(ollama_server.recipe(models)) as server:
        asked = ChatReasoner(f"{server.url}/v1", chat_model.MODEL, answer_tokens=TOKENS, timeout_s=2 * PATIENCE_S)
        try:
            yield asked
        finally:
            await asked.close()


@pytest.mark.slow("a language model writes its answer, token by token, on one core")
async def test_what_a_bad_model_says_is_judged_item_by_item(reasoner: ChatReasoner, ports: Ports, pages: Pages) -> None:
    assert (await reasoner.check()).problems == ()

    report = await tick(job(), vault_of(pages), replace(ports, reasoner=reasoner, prompt_chars=2400))
    after = settled(pages.tree())
    again = await tick(job(ai=False), vault_of(pages), ports)

    ai, result = report["phases"]["ai"], report["phases"]["apply"]["result"]
    assert ai["model"] == chat_model.MODEL
    assert ai["tokens_in"] > 300
    assert 0 < ai["tokens_out"] <= TOKENS
    assert ai["duration_ms"] > 0
    # Whatever it answered: each item is accepted, or refused with a reason, and accepted items are on disk.
    refused = {each["item"]: each["reason"] for each in result["refused"]}
    assert ai["cut"] == ("answer" in refused)
    assert result["done"] or refused
    assert all(refused.values())
    assert not refused.keys() & {*result["done"]}
    assert report["phases"]["verify"]["stats"] == {"looked_for": len(result["done"]), "missing": []}
    assert "signals.md" in str(report["changes"]["paths"])
    assert again["changes"]["written"] == 0
    assert settled(pages.tree()) == after
