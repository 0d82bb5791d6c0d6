"""Configuration entries for each client: the MCP server, and hooks where the client supports them.

Formats as the clients document them: Claude Code (.claude.json, settings.json), Codex (config.toml, hooks.json), Cursor
(mcp.json, hooks.json), Gemini CLI (settings.json), OpenClaw (openclaw.json), agentihooks (the `env` of Claude Code's
settings).
"""

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from openbrain.domain.access.permissions import Permission
from openbrain_cli.agents.config_edits import Edit, Entry, JsonEdit, TomlBlock

SERVER: Final = "openbrain"
OPENCLAW_ENGINE: Final = "openclaw-openbrain-context"
HOOK_S: Final = 5
"""Seconds that a client waits for a hook at most; a hook gives up earlier."""
PERMISSIONS: Final = (
    Permission.BRAIN_READ,
    Permission.BRAIN_WRITE,
    Permission.SIGNAL_RAISE,
    Permission.SIGNAL_ACK,
    Permission.VAULT_READ,
)

_EVENTS: Final = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "file",
    "PreCompact": "compact",
    "Stop": "stop",
    "SubagentStart": "subagent-start",
    "SubagentStop": "subagent-stop",
}
"""Events of Claude Code, which Codex shares -> our names for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Locations of the clients' configuration; `project` is set when only that folder is connected."""

    home: Path
    claude: Path
    claude_json: Path
    codex: Path
    openclaw_json: Path
    project: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """The commands that a client runs to reach us, and what they need."""

    program: Path
    arguments: tuple[str, ...]
    """Command-line arguments that start the MCP server."""
    connection: Path
    """The connection's folder, which names the brain that hooks call."""
    url: str
    secret: str
    """For clients that can't read the key from a file."""
    context_engine: Path | None = None
    """Folder of the built plugin that stores a client's turns."""

    def server(self) -> dict[str, Any]:
        """The MCP server's entry, in the form that most clients take."""
        return {"command": str(self.program), "args": list(self.arguments)}

    def hook(self, event: str) -> str:
        """The command line of a hook, quoted for a shell."""
        return shlex.join([str(self.program), "hook", event, "--connection", str(self.connection)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client that can be connected."""

    name: str
    title: str
    edits: Callable[[Places, Bridge], tuple[Edit, ...]]
    next_step: str
    permissions: tuple[Permission, ...] = PERMISSIONS
    speaks_mcp: bool = True
    has_projects: bool = True


def _claude_code(places: Places, bridge: Bridge) -> tuple[Edit, ...]:
    here = places.project
    servers = places.claude_json if here is None else here / ".mcp.json"
    settings = places.claude / "settings.json" if here is None else here / ".claude" / "settings.local.json"
    hooks = _hooks(_EVENTS, "Read|Edit|MultiEdit|Write|NotebookEdit", bridge, HOOK_S)
    return (
        JsonEdit(str(servers), (Entry(("mcpServers", SERVER), {"type": "stdio", **bridge.server()}),)),
        JsonEdit(str(settings), tuple(hooks)),
    )


def _codex(places: Places, bridge: Bridge) -> tuple[Edit, ...]:
    folder = places.codex if places.project is None else places.project / ".codex"
    # A JSON string is a TOML string too.
    text = (
        f"[mcp_servers.{SERVER}]\ncommand = {json.dumps(str(bridge.program))}\n"
        f"args = {json.dumps(list(bridge.arguments))}\nstartup_timeout_sec = 30\n"
    )
    return (
        TomlBlock(str(folder / "config.toml"), text, ("mcp_servers", SERVER)),
        JsonEdit(str(folder / "hooks.json"), tuple(_hooks(_EVENTS, "apply_patch", bridge, HOOK_S))),
    )


def _gemini(places: Places, bridge: Bridge) -> tuple[Edit, ...]:
    file = (places.project or places.home) / ".gemini" / "settings.json"
    events = {
        "SessionStart": "session-start",
        "BeforeAgent": "prompt",
        # Only a hook after a tool, not before it, can add to what the model reads.
        "AfterTool": "file",
        "PreCompress": "compact",
        "AfterAgent": "stop",
    }
    server = Entry(("mcpServers", SERVER), {**bridge.server(), "timeout": 60_000})
    hooks = _hooks(events, "read_file|write_file|replace", bridge, HOOK_S * 1000)
    return (JsonEdit(str(file), (server, *hooks)),)


def _cursor(places: Places, bridge: Bridge) -> tuple[Edit, ...]:
    folder = (places.project or places.home) / ".cursor"
    # Cursor can't add text before a prompt or a file access; it reports the agent's messages one by one.
    events = {
        "sessionStart": "session-start",
        "afterAgentResponse": "stop",
        "preCompact": "compact",
        "stop": "stop",
    }
    hooks = [
        Entry(("hooks", name), {"command": bridge.hook(event), "timeout": HOOK_S}, in_list=True)
        for name, event in events.items()
    ]
    return (
        JsonEdit(str(folder / "mcp.json"), (Entry(("mcpServers", SERVER), bridge.server()),)),
        JsonEdit(str(folder / "hooks.json"), (Entry(("version",), 1), *hooks)),
    )


def _openclaw(places: Places, bridge: Bridge) -> tuple[Edit, ...]:
    entries = [Entry(("mcp", "servers", SERVER), bridge.server())]
    if bridge.context_engine is not None:
        config = {"baseUrl": bridge.url, "apiKey": bridge.secret}
        entries += [
            Entry(("plugins", "load", "paths"), str(bridge.context_engine), in_list=True),
            Entry(("plugins", "entries", OPENCLAW_ENGINE), {"enabled": True, "config": config}),
            Entry(("plugins", "slots", "contextEngine"), OPENCLAW_ENGINE),
        ]
    return (JsonEdit(str(places.openclaw_json), tuple(entries)),)


def _agentihooks(places: Places, bridge: Bridge) -> tuple[Edit, ...]:
    values = {
        "BRAIN_ENABLED": "true",
        "BRAIN_URL": bridge.url,
        "BRAIN_HTTP_TOKEN": bridge.secret,
        "AMYGDALA_ENABLED": "true",
        "AGENTIHOOKS_BASE_CHANNELS": "brain,amygdala",
    }
    entries = tuple(Entry(("env", name), value) for name, value in values.items())
    return (JsonEdit(str(places.claude / "settings.json"), entries),)


def _hooks(events: Mapping[str, str], file_tools: str, bridge: Bridge, timeout: int) -> Iterable[Entry]:
    """Yield the hook entries. `events`: client's name -> ours. `file_tools` matches the tools that trigger `file`."""
    for name, event in events.items():
        matcher = {"matcher": file_tools} if event == "file" else {}
        run = {"type": "command", "command": bridge.hook(event), "timeout": timeout}
        yield Entry(("hooks", name), {**matcher, "hooks": [run]}, in_list=True)


CLIENTS: Final[Mapping[str, Client]] = {
    client.name: client
    for client in (
        Client(
            name="claude-code",
            title="Claude Code",
            edits=_claude_code,
            next_step="start a new session; `claude mcp list` says whether it is connected",
        ),
        Client(
            name="codex",
            title="Codex",
            edits=_codex,
            next_step="start a new session, and trust the hooks with /hooks: Codex runs none until then",
        ),
        Client(
            name="cursor",
            title="Cursor",
            edits=_cursor,
            next_step="restart Cursor, and switch `openbrain` on in its list of MCP servers",
        ),
        Client(
            name="gemini",
            title="Gemini CLI",
            edits=_gemini,
            next_step="start a new session; `gemini mcp list` says whether it is connected",
        ),
        Client(
            name="openclaw",
            title="OpenClaw",
            edits=_openclaw,
            next_step="restart the gateway; `openclaw mcp list` shows it",
            has_projects=False,
        ),
        Client(
            name="agentihooks",
            title="agentihooks",
            edits=_agentihooks,
            next_step="start a new session: the brain's feed and alarms come with it",
            permissions=(*PERMISSIONS, Permission.VAULT_WRITE),
            speaks_mcp=False,
            has_projects=False,
        ),
    )
}
