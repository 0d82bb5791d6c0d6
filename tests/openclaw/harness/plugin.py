"""The context engine as installed: built, with only its declared dependencies next to it."""

import os
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from tests.servers.places import HOME
from tests.servers.plugin import need
from tests.servers.tools.npm_clients import NODE
from tests.support.processes.finished import finished

SOURCES = Path(__file__).parents[3] / "integrations" / "openclaw"
NPM_S = 300


async def built_plugin(folder: Path) -> Path:
    need("node")
    need("openclaw")
    built = folder / "plugin"
    shutil.copytree(SOURCES, built, ignore=shutil.ignore_patterns("node_modules", "dist"))
    # A folder of links, so that the host can be added to it for a while.
    (built / "node_modules").mkdir()
    for module in (await _modules()).iterdir():
        (built / "node_modules" / module.name).symlink_to(module)
    await npm(built, "run", "build")
    return built


async def _modules() -> Path:
    """Install the packages of the lock file, once; return their folder."""
    lock = SOURCES / "package-lock.json"
    kept = HOME / f"context-engine-{sha256(lock.read_bytes()).hexdigest()[:16]}"
    if not kept.exists():
        unfinished = kept.with_name(f".{kept.name}-{os.getpid()}")
        unfinished.mkdir(parents=True)
        for name in ("package.json", lock.name):
            shutil.copy(SOURCES / name, unfinished)
        await npm(unfinished, "ci", "--ignore-scripts", "--omit=peer", "--no-audit", "--no-fund", "--prefer-offline")
        try:
            unfinished.rename(kept)
        except OSError:  # another worker was faster
            shutil.rmtree(unfinished)
    return kept / "node_modules"


async def npm(folder: Path, *words: str) -> str:
    """Run npm with the registry and certificates of this machine."""
    environment: Mapping[str, str] = {**os.environ, "PATH": f"{Path(NODE.program).parent}:/usr/bin:/bin"}
    return await finished([shutil.which("npm") or "npm", *words], folder, NPM_S, **environment)
