"""A new arc from a group of sessions: its name, region, heat, and page. The formulas are the original's.

Text that people typed is quoted in it: redacted, and unable to begin a marker.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from openbrain.vault.front_matter.rendering import spelt
from openbrain.vault.markers.redaction import quotable, quotable_line, quotable_title
from openbrain_tick.plan.extract import Session

TITLE_CHARS: Final = 60
IGNITION_CHARS: Final = 280
SLUG_CHARS: Final = 40
MAX_HEAT: Final = 10
_HOUR = timedelta(hours=1)
_COUNTED = (
    re.compile(r"- Duration: (?P<hours>\d{1,9}\.\d)h across (?P<sessions>\d{1,9}) session\(s\)", re.ASCII),
    re.compile(
        r"- Turns: (?P<user>\d{1,9}) user / (?P<assistant>\d{1,9}) assistant / (?P<tools>\d{1,9}) tool", re.ASCII
    ),
    re.compile(r"- Error markers: (?P<errors>\d{1,9}) \| Joy markers: (?P<joy>\d{1,9})", re.ASCII),
)

_PREAMBLES = ("caveat:", "[request interrupted", "this session is being continued", "[image")
_PATH = re.compile(r"[~.]?/?(?:[\w.@+-]+[/\\])+[\w.@+-]*|[A-Za-z]:\\\S*")
_CREATIVE = re.compile(r"\b(?:ideas?|creative|design|vision|strategy|publisher|draft|blog|post)\b", re.IGNORECASE)
_TECHNICAL = re.compile(r"\b(?:fix|feat|chore|refactor|ci|infra|deploy|hotfix|bug|test)\b", re.IGNORECASE)

BULLET: Final = re.compile(r"- home-bridge://sessions/(.+) \(\d+ turns, \d+\.\dh, branch=.*\)")
"""A line under Source sessions as written by `bullet`; its capture group is the session's id."""


@dataclass(frozen=True, slots=True)
class Group:
    """Sessions that belong together, by start time. Never empty."""

    sessions: tuple[Session, ...]

    @property
    def latest(self) -> datetime:
        return max(session.end for session in self.sessions)

    @property
    def title(self) -> str:
        """The title: from the first prompt, or the last one, or else the project and branch."""
        return quotable_title(self._line, TITLE_CHARS)

    @property
    def _line(self) -> str:
        first, last = self.sessions[0], self.sessions[-1]
        for prompt in (first.first_user_prompt, last.last_user_prompt):
            line = prompt.strip().partition("\n")[0]
            if not _is_junk(line):
                return line
        if first.project in {"", "unknown"}:
            return "Untitled session"
        branch = f" ({first.git_branch})" if first.git_branch else ""
        return f"{first.project} session{branch}"

    @property
    def cluster_id(self) -> str:
        """Day, title and a hash of the session ids; the same sessions have the same id."""
        ids = "\n".join(sorted({session.session_id for session in self.sessions}))
        digest = hashlib.sha1(ids.encode(), usedforsecurity=False).hexdigest()[:12]
        # The same part of the line as in the original, so that the same sessions get the same id there.
        words = re.sub(r"[^a-z0-9]+", "-", quotable_line(self._line, TITLE_CHARS).lower()).strip("-")
        return f"{self.sessions[0].start.date().isoformat()}-{words[:SLUG_CHARS] or 'untitled'}-{digest}"

    @property
    def region(self) -> str:
        """The region of the brain that it belongs to, by the first rule that applies."""
        count = counts(self.sessions)
        errors, joy = count["errors"], count["joy"]
        if max(session.error_markers for session in self.sessions) >= 10 and errors > 2 * joy:
            return "amygdala"
        if joy >= 5 and errors < joy:
            return "pineal"
        places = " ".join(f"{session.git_branch} {session.cwd}" for session in self.sessions)
        return "right-hemisphere" if _CREATIVE.search(places) and not _TECHNICAL.search(places) else "left-hemisphere"

    def status(self, now: datetime) -> str:
        return status_of(self.latest, now)

    def heat(self, now: datetime) -> int:
        """Heat of the new arc, 0 to 10; later ticks recompute it."""
        quiet, count = now - self.latest, counts(self.sessions)
        recent = 3 if quiet <= 24 * _HOUR else 1 if quiet <= 72 * _HOUR else 0
        tools = min(4, 2 * int(count["tools"] // 1000))
        return min(MAX_HEAT, recent + tools + min(3, len(self.sessions) - 1) + (count["joy"] > 0))


def status_of(last_end: datetime, now: datetime) -> str:
    """active up to 6 hours after the last session's end, stalled after more than 48 hours, complete in between."""
    quiet = now - last_end
    return "active" if quiet <= 6 * _HOUR else "stalled" if quiet > 48 * _HOUR else "complete"


def _is_junk(line: str) -> bool:
    words = [word for word in re.split(r"\W+", line) if len(word) > 2]
    return (
        len(line) < 12
        or line.startswith(("<", "#"))
        or line.lower().startswith(_PREAMBLES)
        or _PATH.fullmatch(line) is not None
        or len(words) < 3
    )


def page(group: Group, now: datetime, siblings: Sequence[str] = ()) -> str:
    """The page of a new arc, with empty sections for the reasoner and people to fill."""
    count = counts(group.sessions)
    signals = ", ".join(f"{name}: {count[name]:.0f}" for name in ("errors", "joy", "tools"))
    front = [
        f"cluster_id: {group.cluster_id}",
        f"title: {spelt(group.title, inside=False)}",
        f"region: {group.region}",
        f"status: {group.status(now)}",
        f"heat: {group.heat(now)}",
        "source_sessions:",
        *(f"  - {spelt(session.session_id, inside=False)}" for session in group.sessions),
        f"project: {spelt(quotable_line(group.sessions[0].project, 255), inside=False)}",
        f"created: {now.isoformat()}",
        f"signals: {{{signals}}}",
        f"edges: {json.dumps([{'sibling': sibling} for sibling in siblings])}",
        "synthesized: false",
    ]
    prompt = quotable(group.sessions[0].first_user_prompt[:IGNITION_CHARS].strip())
    blocks = [
        "\n".join(["---", *front, "---"]),
        f"# {group.title}",
        "## Ignition",
        "\n".join(f"> {line}".rstrip() for line in prompt.splitlines() or [""]),
        "## Signals",
        "\n".join(counted_lines(count)),
        "## Timeline",
        "<!-- synthesized: false -->",
        "### Completed",
        "### Errors / learning",
        "### Resolution",
        "## Lessons to reproduce",
        "<!-- synthesized: false -->",
        "## Edges",
        "<!-- parent / child / sibling / related / unblocks / supersedes -->",
        "## Source sessions",
        "\n".join(bullet(session) for session in group.sessions),
    ]
    return "\n\n".join(blocks) + "\n"


def counts(sessions: Sequence[Session]) -> dict[str, float]:
    """The counts of sessions that a page shows, by the names used in `counted_lines`."""
    return {
        "hours": sum(session.duration_minutes for session in sessions) / 60,
        "sessions": len(sessions),
        "user": sum(session.num_user_turns for session in sessions),
        "assistant": sum(session.num_assistant_turns for session in sessions),
        "tools": sum(session.num_tool_calls for session in sessions),
        "errors": sum(session.error_markers for session in sessions),
        "joy": sum(session.joy_markers for session in sessions),
    }


def counted_lines(count: Mapping[str, float]) -> list[str]:
    """The lines of the section Signals."""
    return [
        f"- Duration: {count['hours']:.1f}h across {count['sessions']:.0f} session(s)",
        f"- Turns: {count['user']:.0f} user / {count['assistant']:.0f} assistant / {count['tools']:.0f} tool",
        f"- Error markers: {count['errors']:.0f} | Joy markers: {count['joy']:.0f}",
    ]


def read_counts(lines: Sequence[str]) -> tuple[int, dict[str, float]] | None:
    """Index of the first of these lines, and their counts; None if they are missing or edited."""
    for at in range(len(lines) - len(_COUNTED) + 1):
        matches = [pattern.fullmatch(lines[at + number]) for number, pattern in enumerate(_COUNTED)]
        if all(matches):
            scores = {name: float(value) for item in matches if item for name, value in item.groupdict().items()}
            return at, scores
    return None


def bullet(session: Session) -> str:
    """A session's line under Source sessions."""
    name, branch = quotable_line(session.session_id, 255), quotable_line(session.git_branch, 100)
    hours = session.duration_minutes / 60
    return f"- home-bridge://sessions/{name} ({session.num_user_turns} turns, {hours:.1f}h, branch={branch})"
