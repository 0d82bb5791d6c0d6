"""Markers in a session's transcript, as writes to the API: lessons, decisions, milestones and signals.

A transcript is read only if the user allowed it, from the end of the last read on. It is parsed only if it may
contain a marker.
"""

import time
from collections.abc import Iterator, Mapping
from os import SEEK_END
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openbrain.adapters.local.transcript_consent import transcripts_allowed
from openbrain.domain.text.control_characters import cleaned
from openbrain_cli.agents.hooks.call import HookCall, warn
from openbrain_cli.agents.hooks.delivery import KEY
from openbrain_cli.agents.hooks.session import Session

if TYPE_CHECKING:
    from openbrain.client.outbox import Write
    from openbrain.vault.markers.session_marks import Harvested

PART_BYTES: Final = 8 * 1024 * 1024
"""Bytes of a transcript that are in memory at once, and of lines with markers that one hook parses at most."""
READ_S: Final = 0.5
"""After this time no further part is read: the next hook goes on there."""
_STRONGEST: Final = ("info", "warning", "critical")


def new_markers(call: HookCall, known: Session, record: Mapping[str, Any]) -> "Iterator[Write]":
    """Markers since the session's last hook, from the message that the client passes and from the transcript."""
    lines = _new_lines(call, known) if transcripts_allowed(Path(str(record["data"]))) else []
    if not (_may_hold_marker(call.last_message.encode()) or lines):
        return
    from openbrain.vault.markers.session_marks import MOST, harvest
    from openbrain.vault.markers.transcripts import Record, records

    last = Record(kind="assistant", text=call.last_message, cwd=call.cwd)
    harvested = harvest(call.session, (last, *records(lines)), most=MOST + len(known.markers))
    for marker in harvested.markers:
        if marker.key not in known.markers and len(known.markers) < MOST:
            known.markers.append(marker.key)
            yield _item(marker, call)


def _may_hold_marker(text: bytes) -> bool:
    return b"<!--" in text and b"@/" in text


def _new_lines(call: HookCall, known: Session) -> list[bytes]:
    """The lines with markers since the last hook. All others are skipped unparsed."""
    path, lines, until = call.transcript, list[bytes](), time.monotonic() + READ_S
    while path is not None:
        part, more = _new_part(path, known)
        if _may_hold_marker(part):
            lines += [line for line in part.splitlines(keepends=True) if _may_hold_marker(line)]
        if not more or time.monotonic() >= until or sum(map(len, lines)) >= PART_BYTES:
            break
    return lines


def _new_part(path: Path, known: Session) -> tuple[bytes, bool]:
    """Complete lines since the last read, and whether there may be more."""
    begins, raw, within = _part(path, known.read.get(str(path), 0))
    full, end = len(raw) == PART_BYTES, raw.rfind(b"\n") + 1
    # A line that fills the whole part would be in the way of all that follow, so it is skipped.
    skipped = raw[: raw.find(b"\n") + 1] if within and end else raw if full and not end else b""
    if _may_hold_marker(skipped):
        warn(f"a line of more than {PART_BYTES >> 20} MB in {path} was not read: a marker in it is not stored")
    known.read[str(path)] = begins + (end or len(skipped))
    return raw[len(skipped) : end], full


def _part(path: Path, begins: int) -> tuple[int, bytes, bool]:
    """Return the offset, up to `PART_BYTES` bytes from there, and whether they begin within a line; no bytes if the
    file can't be read. A file that became shorter was rewritten, and is read from its start."""
    try:
        with path.open("rb") as file:
            if begins > file.seek(0, SEEK_END):
                begins = 0
            file.seek(max(begins - 1, 0))
            within = begins > 0 and file.read(1) != b"\n"
            return begins, file.read(PART_BYTES), within
    except OSError:
        return begins, b"", False


def _item(marker: "Harvested", call: HookCall) -> "Write":
    from openbrain.client.outbox import Write
    from openbrain.vault.markers.kinds import CONFIDENCE, MEMORY_TYPES

    project, headers = marker.project or call.project, {KEY: marker.key}
    content = cleaned(marker.content)  # the agent quotes terminals, and no request can contain their escapes
    source = f"session:{marker.session_id}"[:200]
    if marker.type not in MEMORY_TYPES:
        severity = marker.attrs.get("severity", "").lower()
        title, _, rest = content.partition("\n")
        body = {
            "source": marker.attrs.get("source") or project or "session",
            # Text in a transcript must not halt the fleet, so `nuclear` becomes `critical`.
            "severity": severity if severity in _STRONGEST else "critical" if severity == "nuclear" else "warning",
            "title": title[:200],
            "content": rest.strip(),
            "dedup_key": marker.key,
        }
        return Write("POST", "/v1/amygdala/signals", body, headers=headers)
    memory: dict[str, Any] = {
        "content": content,
        "type": MEMORY_TYPES[marker.type].value,
        "project": project or None,
        "memory_scope": "project" if project else "shared",
        "tags": [marker.type],
        "metadata": {"marker": marker.type, "session": marker.session_id},
        "source": source,
        "confidence": CONFIDENCE,
    }
    given = {name: value for name, value in memory.items() if value is not None}
    return Write("POST", "/v1/brain/remember", given, headers=headers)
