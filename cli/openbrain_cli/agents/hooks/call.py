"""A hook's input (JSON on stdin) and its output, in each client's format."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

CONTEXT_CHARS: Final = 9_000
"""Maximum number of characters that a client adds to the context for one hook."""
_MARK_CHARS: Final = 300
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_PATHS: Final = ("file_path", "absolute_path", "path", "notebook_path")
_WRITES: Final = frozenset({"Write", "Edit", "MultiEdit", "write_file", "replace"})


@dataclass(frozen=True, slots=True)
class HookCall:
    """One event, with the fields that Claude Code, Codex and Gemini CLI share, or those of Cursor."""

    given: Mapping[str, Any]

    @property
    def event(self) -> str:
        """The client's own name of the event."""
        return self._text("hook_event_name")

    @property
    def session(self) -> str:
        return (self._text("session_id") or self._text("conversation_id"))[:200]

    @property
    def cwd(self) -> str:
        roots = self.given.get("workspace_roots")
        first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
        return self._text("cwd") or first

    @property
    def prompt(self) -> str:
        return self._text("prompt")

    @property
    def last_message(self) -> str:
        """The agent's last message, if the client passes it."""
        names = ("last_assistant_message", "prompt_response", "text")
        return next((text for name in names if (text := self._text(name))), "")

    @property
    def project(self) -> str:
        """Name of the folder that the agent works in."""
        return re.split(r"[/\\]", self.cwd.rstrip("/\\"))[-1][:255]

    @property
    def transcript(self) -> Path | None:
        """The transcript's file; for a sub-agent its own, if it has one."""
        path = self._text("agent_transcript_path") or self._text("transcript_path")
        return Path(path) if path else None

    @property
    def files(self) -> tuple[str, ...]:
        """Files that the tool call reads or changes."""
        given = self._tool
        named = [str(given[name]) for name in _PATHS if isinstance(given.get(name), str) and given[name]]
        patched = [path.strip() for text in _texts(given) for path in _PATCHED.findall(text)]
        return tuple(dict.fromkeys([*named, *patched]))

    @property
    def written(self) -> str:
        """The text that the tool is about to write; '' for a tool that writes none."""
        if self._text("tool_name") not in _WRITES:
            return ""
        return next((given for name in ("content", "new_string") if isinstance(given := self._tool.get(name), str)), "")

    def relative(self, file: str) -> str:
        """The file's path relative to the agent's working folder, or unchanged if it is outside."""
        path = Path(file)
        return str(path.relative_to(self.cwd)) if self.cwd and path.is_relative_to(self.cwd) else file

    def adding(self, text: str) -> str:
        """The output that adds text to the model's context."""
        if self._cursor and text:
            return json.dumps({"additional_context": _shortened(text)}, ensure_ascii=False)
        specific = {"hookEventName": self.event, "additionalContext": _shortened(text)}
        return json.dumps({"hookSpecificOutput": specific}, ensure_ascii=False) if text else ""

    def refusing(self, reason: str) -> str:
        """The output that blocks the tool call, with the reason."""
        if self.event != "PreToolUse":  # Gemini CLI's form
            return json.dumps({"decision": "deny", "reason": reason})
        decided = {"permissionDecision": "deny", "permissionDecisionReason": reason}
        return json.dumps({"hookSpecificOutput": {"hookEventName": self.event, **decided}})

    @property
    def silence(self) -> str:
        """The output when there is nothing to add. Cursor treats empty output as a failure."""
        return "{}" if self._cursor else ""

    @property
    def _cursor(self) -> bool:
        return bool(self._text("cursor_version"))

    @property
    def _tool(self) -> Mapping[str, Any]:
        given = self.given.get("tool_input")
        return given if isinstance(given, Mapping) else {}

    def _text(self, name: str) -> str:
        value = self.given.get(name)
        return value if isinstance(value, str) else ""


def warn(text: str) -> None:
    """Tell the user, not the model: clients show it in their log, or with their verbose output."""
    sys.stderr.write(f"openbrain hook: {text}\n")


def read_call(raw: bytes) -> HookCall:
    """Parse the input; anything but a JSON object counts as an empty object. Half of a surrogate pair, as of an emoji
    that was cut, becomes a question mark: no request can contain it."""
    try:
        parsed = json.loads(raw)
        if b"\\ud" in raw.lower():
            parsed = json.loads(json.dumps(parsed, ensure_ascii=False).encode(errors="replace"))
    except ValueError:
        parsed = None
    return HookCall(parsed if isinstance(parsed, dict) else {})


def _shortened(text: str) -> str:
    """The text within the client's limit. Its last line stays: it is the mark that ends stored text."""
    if len(text) <= CONTEXT_CHARS:
        return text
    _, _, last = text.rstrip().rpartition("\n")
    end = f"\n[shortened]\n{last[:_MARK_CHARS]}"
    return text[: CONTEXT_CHARS - len(end)] + end


def _texts(given: Mapping[str, Any]) -> Iterator[str]:
    for name in ("command", "input", "patch"):
        value = given.get(name)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (part for part in value if isinstance(part, str))
