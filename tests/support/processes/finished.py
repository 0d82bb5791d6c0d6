"""Programs that run to their end in a folder that is their home."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.support.waiting import PATIENCE_S


async def finished(command: Sequence[str], home: Path, patience_s: float = PATIENCE_S, /, **environment: str) -> str:
    """Run the program, assert that its exit code is 0, and return its output and errors."""
    running = await asyncio.create_subprocess_exec(
        *command,
        cwd=home,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"} | environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        printed = (await asyncio.wait_for(running.communicate(), patience_s))[0].decode()
    finally:
        if running.returncode is None:
            running.kill()
    assert running.returncode == 0, printed
    return printed
