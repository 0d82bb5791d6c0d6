"""MCP: the tools of the brain, each one call of the typed client, over stdio and streamable HTTP."""
