"""The HTTP server of `up`, `run` and `mcp`."""
