"""Coding agents, run in a script as their users do, with our tools and a model's API on this machine.

Each has an empty home: it reads and writes nothing of the user who runs the tests.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

import orjson

from tests.servers.tools.npm_clients import CLAUDE_CODE, CODEX
from tests.support.cli.coding_agents.scripted_model import MODEL
from tests.support.processes.finished import finished

Agent = Callable[[Path, str, str, str], Awaitable[str]]
"""Run an agent with an empty home, the URL of a brain, its key and the URL of a model; return what it prints."""


async def claude_code(home: Path, brain: str, key: str, model: str) -> str:
    headers = {"Authorization": f"Bearer {key}"}
    servers = {"openbrain": {"type": "http", "url": f"{brain}/mcp", "headers": headers}}
    (home / "mcp.json").write_bytes(orjson.dumps({"mcpServers": servers}))
    command = [CLAUDE_CODE.program, "--print", "go", "--model", MODEL, "--no-session-persistence", "--tools", ""]
    command += ["--mcp-config", "mcp.json", "--strict-mcp-config", "--allowedTools", "mcp__openbrain"]
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    return await finished(command, home, ANTHROPIC_BASE_URL=model, ANTHROPIC_API_KEY="none", **quiet)


async def codex(home: Path, brain: str, key: str, model: str) -> str:
    (home / "config.toml").write_text(f"""
model = "{MODEL}"
model_provider = "scripted"
approval_policy = "never"
[model_providers.scripted]
name = "scripted"
base_url = "{model}/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
[mcp_servers.openbrain]
url = "{brain}/mcp"
bearer_token_env_var = "OPENBRAIN_API_KEY"
default_tools_approval_mode = "approve"
""")
    command = [CODEX.program, "exec", "--skip-git-repo-check", "--ephemeral", "--sandbox", "read-only", "go"]
    return await finished(command, home, CODEX_HOME=str(home), MODEL_KEY="none", OPENBRAIN_API_KEY=key)
