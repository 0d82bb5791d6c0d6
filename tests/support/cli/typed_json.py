"""Commands as a person runs them, with a given key, with --json or without, and the API behind a real server."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from openbrain_cli.main import app
from tests.support.api.brain import Brain
from tests.support.api.served import served


class Terminal:
    """A place to run commands with a given key."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self._folder = folder

    async def run(self, key: str, *words: str, **env: str) -> tuple[int, dict[str, Any], str]:
        """Run a command with --json; return its exit code, the JSON that it printed, and its standard error."""
        done = await self.typed(key, *words, "--json", **env)
        return done.exit_code, json.loads(done.stdout) if done.stdout else {}, done.stderr

    async def typed(self, key: str, *words: str, **env: str) -> Result:
        """Run a command; return its result as a person reads it. Raise the command's own exception."""
        file = self._folder / "key"
        file.write_text(key, encoding="ascii")
        file.chmod(0o600)
        typed = [*words, "--url", self.url, "--key-file", str(file)]
        done = await asyncio.to_thread(lambda: CliRunner().invoke(app, typed, env=env))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done


@asynccontextmanager
async def served_terminal(brain: Brain, folder: Path) -> AsyncIterator[Terminal]:
    """Serve the API with the brain's current settings; yield a terminal."""
    async with served(brain.app()) as url:
        yield Terminal(url, folder)


@pytest.fixture
async def terminal(brain: Brain, tmp_path: Path) -> AsyncIterator[Terminal]:
    async with served_terminal(brain, tmp_path) as typing:
        yield typing
