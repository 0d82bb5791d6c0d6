"""The tools that agents call, a file a group, and the text they answer with."""

from openbrain_mcp.tools import agents, discovery, memories, signals, thoughts, vault
from openbrain_mcp.tools.spec import ToolSpec

TOOLS: tuple[ToolSpec, ...] = (
    *(*memories.TOOLS, *discovery.TOOLS, *agents.TOOLS),
    *(*signals.TOOLS, *vault.TOOLS, *thoughts.TOOLS),
)
"""In the order in which they are listed."""
