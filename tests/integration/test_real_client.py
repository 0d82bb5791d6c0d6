"""The agents' own published client reads our feed from a folder and from our API, and posts into our vault.

Its driver and the generator of vaults are next to this repository; without them, or without a package index, the test
can't run.
"""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from openbrain.adapters.local.clock import SystemClock
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.events.data import SignalRaised
from openbrain.domain.signals.rules import checked
from openbrain.domain.signals.values import Severity
from openbrain.vault.pages.alarm import alarm
from tests.servers.plugin import need
from tests.servers.tools.python_clients import AGENTIHOOKS
from tests.support.api.brain import Brain, brain, brain_database_url
from tests.support.api.served import served
from tests.support.vault.pages import Vault

pytestmark = pytest.mark.servers("agentihooks")
__all__ = ["brain", "brain_database_url"]

COMPAT = Path(__file__).parents[3] / "shared" / "compat"
DRIVER, MAKER = COMPAT / "feed_client.py", COMPAT / "gen_vault.py"


async def driven(*arguments: str) -> str:
    """Return what the driver prints; all its checks have passed."""
    python, out = str(AGENTIHOOKS.folder / "bin" / "python"), asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(
        python, str(DRIVER), *arguments, stdout=out, stderr=asyncio.subprocess.STDOUT
    )
    text = (await running.communicate())[0].decode()
    assert running.returncode == 0, text
    assert "FAIL" not in text
    assert "ALL OK" in text
    return text


@pytest.mark.timeout(600)
async def test_every_check_of_the_real_client_passes(brain: Brain) -> None:
    if not (DRIVER.exists() and MAKER.exists()):
        pytest.skip("the client's driver is not beside this repository")
    need("agentihooks")
    root = brain.settings.vaults.folders["w1"]
    root.rmdir()
    now = SystemClock().now()
    today = datetime.fromtimestamp(now / 1_000_000, UTC).date().isoformat()
    making = [sys.executable, str(MAKER), str(root), "120", "--today", today]
    await asyncio.to_thread(subprocess.run, making, check=True, capture_output=True)
    await brain.workspace()
    said = SignalRaised(workspace_id="w1", source="db-1", severity=Severity.NUCLEAR, title="All writes fail")
    await brain.store.signals.raise_signals([checked(said, actor="test", at=now)])
    present = await brain.store.signals.present(Viewer(workspace_id="w1", agent_id=""), 100)
    Vault(root).tick(now, alarm=alarm(present.signals, present.halts))

    from_files = await driven(str(root / "brain-feed"), "--edit")
    async with served(brain.app()) as url:
        over_http = await driven("--http", url, await brain.key())

    for text in (from_files, over_http):
        assert "id=hot-arcs-" in text
        assert "sev=warning  id=signals" in text
        assert "All writes fail" in text
    assert "sev=nuclear" in from_files
    assert "AMYGDALA" in over_http
    lessons = list((root / "left" / "reference").glob("lessons-*.md"))
    assert [page.read_text(encoding="utf-8").count("compat lesson") for page in lessons] == [1]
