"""The context engine as it is installed: built, with nothing else beside it than it asks for."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

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
    await npm(built, "ci", "--ignore-scripts", "--omit=peer", "--no-audit", "--no-fund", "--prefer-offline")
    await npm(built, "run", "build")
    return built


async def npm(folder: Path, *words: str) -> str:
    """The registry and its certificates are the machine's."""
    environment: Mapping[str, str] = {**os.environ, "PATH": f"{Path(NODE.program).parent}:/usr/bin:/bin"}
    return await finished([shutil.which("npm") or "npm", *words], folder, NPM_S, **environment)
