"""MCP: the tools of the brain, each a call of the typed client, over stdio and streamable HTTP."""
