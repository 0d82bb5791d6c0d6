"""The MCP tools, each one call of the typed client, over stdio and streamable HTTP."""
