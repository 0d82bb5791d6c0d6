"""Handlers of `memory.embedded`: matches of standing queries."""
