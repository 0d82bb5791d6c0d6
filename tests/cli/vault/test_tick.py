"""`openbrain tick`, as a person types it, against an API, with the tick service's handler running."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.errors import SetupError, TryLater
from openbrain.ports.store.vault import TickJob
from openbrain_tick.handlers.tick_requested import handle
from openbrain_tick.ports import Ports
from openbrain_tick.tick import tick
from tests.support.api.brain import Brain
from tests.support.api.served import served
from tests.support.cli.terminal import Done, Terminal
from tests.support.vault.pages import Vault as Pages
from tests.support.vault.ticking import job, ports_of, vault_of
from tests.tick.test_requests import requested

__all__ = ["job"]


@contextlib.asynccontextmanager
async def ticked(
    brain: Brain, ports: Ports, work: Any, again: Callable[[], bool] = lambda: True
) -> AsyncIterator[None]:
    """Run requested ticks as the service does; those put off run once `again` is true."""

    async def take() -> None:
        while True:
            for entry in await brain.store.outbox.take(10):
                await brain.store.outbox.delete([entry.id])
            for each in await brain.store.ticks.ticks("w1", 10):
                if not each.state.ended and (not each.put_off or again()):
                    known = {"slot": each.job.slot or each.job.id, "job_id": each.job.id}
                    event = requested(ai=each.job.ai, dry_run=each.job.dry_run, **known)
                    await handle(event, ticks=ports.store.ticks, clock=ports.clock, work=work, holder="room", hold_s=30)
            await asyncio.sleep(0.02)

    task = asyncio.create_task(take())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def kept(brain: Brain, pages: Pages) -> Brain:
    vaults = brain.settings.vaults.model_copy(update={"folders": {"w1": pages.root}})
    return dataclasses.replace(brain, settings=brain.settings.model_copy(update={"vaults": vaults}))


async def test_a_person_sees_the_diff_the_deed_and_the_failure(kept: Brain, pages: Pages, tmp_path: Path) -> None:
    ports = ports_of(kept.store, kept.clock)
    broken: list[Exception] = []

    async def work(given: TickJob) -> dict[str, Any]:
        if broken:
            raise broken[0]
        return await tick(given, vault_of(pages), ports)

    key = await kept.key("w1")
    async with served(kept.app()) as url, ticked(kept, ports, work):
        typed = Terminal(tmp_path, tmp_path / "none", {"OPENBRAIN_URL": url, "OPENBRAIN_API_KEY": key})

        async def run(*words: str) -> Done:
            return await asyncio.to_thread(typed.run, "tick", *words)

        before = pages.tree()
        shown = await run("--dry-run")
        assert pages.tree() == before
        done = await run()
        again = await run("--no-ai", "--json")
        broken.append(SetupError("the vault is another's"))
        failed = await run()

    assert (shown.code, done.code, again.code, failed.code) == (0, 0, 0, 1), (shown, done, again, failed)
    assert "+++ brain-feed/signals.md" in shown.out
    assert "files to write: " in shown.err
    assert "files written: " in done.err
    assert (again.json["status"], again.json["report"]["phases"]["ai"]) == ("completed", {"skipped": "not asked for"})
    assert "the tick failed: the vault is another's" in failed.err


async def test_a_person_hears_that_a_tick_was_put_off(kept: Brain, pages: Pages, tmp_path: Path) -> None:
    ports = ports_of(kept.store, kept.clock)
    tries: list[int] = []
    looks: list[str] = []
    app = kept.app()

    async def counting(scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)
        looks.extend(path for path in [scope.get("path", "")] if path.startswith("/tick/"))

    async def work(given: TickJob) -> dict[str, Any]:
        tries.append(len(looks))
        if len(tries) == 1:
            raise TryLater("the vault's folder can't be opened: is it mounted?")
        return await tick(given, vault_of(pages), ports)

    async with served(counting) as url, ticked(kept, ports, work, lambda: len(looks) > tries[0]):
        typed = Terminal(tmp_path, tmp_path / "none", {"OPENBRAIN_URL": url, "OPENBRAIN_API_KEY": await kept.key("w1")})
        done = await asyncio.to_thread(typed.run, "tick")

    assert done.code == 0, done
    assert done.err.count("tried again for an hour (Ctrl-C leaves it to the server): the vault's folder can't be") == 1
