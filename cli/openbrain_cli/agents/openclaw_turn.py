"""Check that OpenClaw's turns are stored: run one turn with OpenClaw, look it up in the brain, and erase it."""

import secrets
import shutil
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from openbrain.domain.errors import SetupError

if TYPE_CHECKING:
    from openbrain_cli.profile import Profile

WITHIN_S: Final = 180.0
ASKS_S: Final = 10
_PROMPT: Final = "This proves that turns are kept. Answer with the word OK."


def host_program() -> str | None:
    """Path of the host's command, or None if it is not on the PATH."""
    return shutil.which("openclaw")


async def turn_is_kept(program: str, profile: "Profile", secret: str) -> int:
    """Run one turn and return the number of messages stored for it. Raise `SetupError` if there are none."""
    from openbrain.client import OpenBrain

    session = f"agent:main:openbrain-check-{secrets.token_hex(4)}"
    command = [program, "agent", "--local", "--agent", "main", "--session-key", session, "-m", _PROMPT, "--json"]
    printed = _run(command)
    async with OpenBrain(profile.url, secret, allow_http=profile.allows_http, timeout_s=ASKS_S) as brain:
        kept = await brain.recent_thoughts(metadata={"sessionId": session})
        if kept:
            await brain.delete_thoughts(metadata={"sessionId": session}, erase=True)
    if not kept:
        raise SetupError(f"OpenClaw ran a turn, but nothing of it was stored: {_last_line(printed)}")
    return len(kept)


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"OpenClaw could not run a turn: {error}") from None
    printed = done.stdout.decode(errors="replace")
    if done.returncode:
        raise SetupError(f"OpenClaw could not run a turn, and exited with {done.returncode}: {_last_line(printed)}")
    return printed


def _last_line(printed: str) -> str:
    """The last line about our plugin, else the last line of all."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    own = [line for line in lines if "openclaw-openbrain-context" in line]
    return (own or lines or ["it said nothing"])[-1][:300]
