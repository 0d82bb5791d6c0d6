"""Coding agents and a generator that our side is tested with: npm packages, each installed once into a separate folder.

Tests run them; they are not part of what we ship. Claude Code is under its maker's own terms.
"""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.servers.availability import Available, Missing, State
from tests.servers.places import HOME
from tests.servers.steps import CantInstall, Step, tool

_ARCHITECTURE = "arm64" if platform.machine() in ("aarch64", "arm64") else "x64"


@dataclass(frozen=True)
class NpmClient:
    """A package, and the path of this platform's program in what npm installs."""

    package: str
    version: str
    inside: str
    beside: tuple[str, ...] = ()
    """Packages that are installed with it."""

    @property
    def folder(self) -> Path:
        return HOME / f"{self.package.rpartition('/')[2]}-{self.version}"

    @property
    def program(self) -> str:
        """The program's path; '' if it isn't installed."""
        return next((str(found) for found in self.folder.glob(f"node_modules/{self.inside}")), "")

    def state(self) -> State:
        if not self.program:
            return Missing("it isn't installed here yet: run `make servers`")
        return Available(self.version)


CLAUDE_CODE = NpmClient("@anthropic-ai/claude-code", "2.1.330", "@anthropic-ai/claude-code-*/claude")
CODEX = NpmClient("@openai/codex", "0.169.0", "@openai/codex-*/vendor/*/bin/codex")

GEMINI_CLI = NpmClient("@google/gemini-cli", "0.61.0", "@google/gemini-cli/bundle/gemini.js")
NODE = NpmClient(f"node-linux-{_ARCHITECTURE}", "26.10.0", "node-linux-*/bin/node")
"""Newer than the system's Node, for the two clients that need it."""
INSPECTOR = NpmClient(
    "@modelcontextprotocol/inspector",
    "2.12.0",
    "@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js",
)
OPENCLAW = NpmClient("openclaw", "2026.9.6", "openclaw/openclaw.mjs")

OPENAPI_TYPESCRIPT = NpmClient(
    "openapi-typescript",
    "7.13.0",
    "openapi-typescript/bin/cli.js",
    beside=("openapi-fetch@0.17.0", "typescript@5.9.3"),
)


def install(client: NpmClient, step: Step) -> None:
    npm = tool("npm", "install Node.js 20 or later")
    step.say(f"installing {client.package}@{client.version} with npm")
    beside = client.folder.with_name(f".{client.folder.name}-{os.getpid()}")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    # Without install scripts: the program is a file of the package, so none of its code runs during installation.
    options = ["--prefix", str(beside), "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    step.run([npm, "install", *options, f"{client.package}@{client.version}", *client.beside])
    shutil.rmtree(client.folder, ignore_errors=True)
    beside.rename(client.folder)
    if not client.program:
        raise CantInstall(f"{client.package} has no program for this machine")
