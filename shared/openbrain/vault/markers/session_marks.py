"""Markers that an agent wrote in its session: lessons, milestones, signals and decisions, without duplicates.

Only blocks in the assistant's own text count; tool results and text from people do not.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from openbrain.domain import limits
from openbrain.vault.markers.markers import parse, without_markers
from openbrain.vault.markers.posted_markers import TYPES
from openbrain.vault.markers.redaction import redacted
from openbrain.vault.markers.transcripts import Record, project_of
from openbrain.vault.values import Problem

CONTENT_CHARS: Final = 4096
MOST: Final = 5
"""Maximum number of markers from one session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvested:
    """One marker of a session."""

    type: str
    content: str
    attrs: Mapping[str, str]
    session_id: str
    cwd: str = ""

    @property
    def project(self) -> str:
        """The project of the session; '' if unknown."""
        return "" if not self.cwd else project_of(self.cwd)[: limits.PROJECT_CHARS]

    @property
    def key(self) -> str:
        """Stable key of this marker in its session, the same each time it is read. The original's clients compute the
        same key."""
        return uuid.uuid5(uuid.NAMESPACE_URL, f"{self.session_id}-{self.type}-{self.content}").hex


@dataclass(frozen=True, slots=True)
class Harvest:
    """The markers in the order of the session, and what was skipped."""

    markers: tuple[Harvested, ...]
    problems: tuple[Problem, ...]


def harvest(session_id: str, records: Iterable[Record], *, most: int = MOST) -> Harvest:
    """The markers of a finished session. A problem's line is relative to its message; its path is the session id."""
    harvested: dict[str, Harvested] = {}
    problems: list[Problem] = []
    left = 0
    cwd = ""
    for record in records:
        cwd = cwd or record.cwd
        if record.kind != "assistant" or "<!--" not in record.text:
            continue
        parsed = parse(record.text, session_id)
        problems += parsed.problems
        for marker in parsed.markers:
            content = redacted(without_markers(marker.content)).strip()
            if marker.type not in TYPES or not marker.block or not content:
                continue
            if len(content) > CONTENT_CHARS:
                problems.append(
                    Problem(session_id, marker.line_start, f"@{marker.type} is longer than {CONTENT_CHARS} characters")
                )
                continue
            made = Harvested(
                type=marker.type,
                content=content,
                attrs={name: redacted(value) for name, value in marker.attrs.items()},
                session_id=session_id,
                cwd=cwd,
            )
            if made.key in harvested:
                continue
            if len(harvested) == most:
                left += 1
            else:
                harvested[made.key] = made
    if left:
        problems.append(Problem(session_id, 0, f"{left} more markers were skipped: at most {most} per session"))
    return Harvest(tuple(harvested.values()), tuple(problems))
