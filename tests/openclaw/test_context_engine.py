"""The context engine on the real OpenClaw, offline, with a scripted model: each turn is stored once and can be read
back."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.openclaw.harness.brains import embedded_brain, thoughts
from tests.openclaw.harness.gateway import Gateway
from tests.openclaw.harness.plugin import npm
from tests.openclaw.harness.talker import Talker
from tests.openclaw.harness.verifying import (
    pairs_whole,
    stable_shares,
    stored_once_in_order,
    transcript,
    within_window,
)
from tests.servers.tools.npm_clients import OPENCLAW
from tests.support.api.served import served

pytestmark = [pytest.mark.servers("node", "openclaw"), pytest.mark.timeout(900)]
SLOW = "starts two processes of a host that takes a quarter of a minute each"
LIST = 'CALL {"name": "ls", "args": {"path": "."}}'
KEY = "agent:main:t1"


@pytest.mark.slow("compiler, linter and tests go through the engine, the compiler through the host's types too")
async def test_the_engine_passes_its_own_checks_and_those_of_the_hosts_types(plugin: Path) -> None:
    await npm(plugin, "run", "check")
    await npm(plugin, "test")
    host = plugin / "node_modules" / "openclaw"
    host.symlink_to(Path(OPENCLAW.program).parent)
    try:
        await npm(plugin, "run", "check:host")
    finally:
        host.unlink()


async def test_the_package_holds_what_is_built_and_nothing_else(plugin: Path) -> None:
    (packed,) = json.loads(await npm(plugin, "pack", "--dry-run", "--json"))
    paths = {file["path"] for file in packed["files"]}
    assert {"README.md", "openclaw.plugin.json", "package.json", "dist/index.js", "dist/src/engine.js"} <= paths
    assert all(path.startswith("dist/") or "/" not in path for path in paths)
    assert not [path for path in paths if "test" in path or path.endswith("package-lock.json")]


@pytest.mark.long("compactions, other processes, an absent server: the engine's own tests, on the host's types, above")
@pytest.mark.slow(SLOW)
async def test_eight_turns_survive_a_compaction_and_the_end_of_both_processes(plugin: Path, tmp_path: Path) -> None:
    model = Talker()
    async with served(model.app()) as model_url, embedded_brain(tmp_path / "brain") as brain:
        host = Gateway(tmp_path / "home", model_url, plugin)
        host.configure(brain.url, brain.key)
        try:
            await host.start()
            await host.says("[t1 #1] The code of the depot is 4711.")
            for turn in (2, 3):
                await host.says(f"[t1 #{turn}] The road to village {turn} is closed. " + "It snows. " * 900)
            await host.says(f"[t1 #4] What lies here? {LIST}")
            assert len(await thoughts(brain, KEY, "summary")) == 1, "by its size"
            await host.says(f"[t1 #5] And now? {LIST}")
            assert "Compacted session" in await host.compact()
            assert len(await thoughts(brain, KEY, "summary")) == 2, "by command"

            cut = asyncio.create_task(host.says("[t1 #6] HOLD this turn: nobody hears of it."))
            await model.held.wait()
            brain.kill()
            host.kill()
            await asyncio.gather(cut, return_exceptions=True)
            await host.start()
            await host.says("[t1 #7] OpenBrain is away: bring a lamp.")
            await brain.start()
            await host.says("[t1 #8] Both are back.")
            turns = transcript(host.transcript(), KEY)
            stored_once_in_order(turns, await thoughts(brain, KEY))
            assert len(turns) == 7
            for asked in model.asked:
                within_window(asked)
                pairs_whole(asked)
            (share,) = stable_shares([each for each in model.asked if each.turn == 5])
            assert share > 0.98, "between the tools of a turn all is the same but for what the host puts at its end"

            await host.says("[t2 #1] What is the code of the depot?", session="t2")
            assert "4711" in model.of("t2")[-1].text
        finally:
            await host.ended()
        assert "degraded to legacy" not in host.log
