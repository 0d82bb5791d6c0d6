"""`openbrain hook EVENT --connection DIR`: handles one event of a client, and never blocks the client."""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from openbrain.domain.errors import OpenBrainError
from openbrain_cli.agents.hooks import session
from openbrain_cli.agents.hooks.call import read_call

INPUT_BYTES: Final = 16 * 1024 * 1024
HELP: Final = """Usage: openbrain hook EVENT --connection DIR

  Handle one event of a coding agent, given as JSON on stdin. `openbrain connect` writes this command into the agent's
  configuration. The exit code is 0 within two seconds, even after an error: a session never waits for the brain.

  EVENT: session-start, prompt, file, compact, stop, subagent-start, subagent-stop

Examples:
  openbrain hook session-start --connection ~/.openbrain/agents/claude-code < event.json
"""


def run(arguments: Sequence[str]) -> int:
    """Return the exit code: 0, or 2 if the arguments are wrong."""
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(HELP)
        return 0
    from openbrain_cli.agents.hooks.events import EVENTS

    if len(arguments) != 3 or arguments[1] != "--connection" or arguments[0] not in EVENTS:
        sys.stderr.write(HELP)
        return 2
    try:
        answer = answered(arguments[0], Path(arguments[2]), sys.stdin.buffer.read(INPUT_BYTES))
    except Exception as error:  # noqa: BLE001 - our errors must not stop a session
        sys.stderr.write(f"openbrain hook: internal error ({type(error).__name__})\n")
        return 0
    if answer:
        sys.stdout.write(f"{answer}\n")
    return 0


def answered(event: str, folder: Path, raw: bytes) -> str:
    """Return the text for the client; '' if there is none, or no server."""
    from openbrain_cli.agents.hooks.brain import brain_of
    from openbrain_cli.agents.hooks.events import EVENTS, Hook

    record = _record(folder)
    if record is None:
        return ""
    call = read_call(raw)
    known = session.load(folder, call.session)
    hook = Hook(
        call=call,
        folder=folder,
        record=record,
        known=known,
        brain=cache(lambda: brain_of(folder, record)),
    )
    try:
        return EVENTS[event](hook) or call.silence
    except OpenBrainError:
        return call.silence  # writes that were not delivered wait in the outbox
    finally:
        with suppress(OSError):
            session.save(folder, call.session, known)


def _record(folder: Path) -> dict[str, Any] | None:
    try:
        parsed = json.loads((folder / "connection.json").read_bytes())
    except (OSError, ValueError):
        return None  # no longer connected
    return parsed if isinstance(parsed, dict) else None
