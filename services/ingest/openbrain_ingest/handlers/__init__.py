"""Handlers of `memory.submitted`."""
