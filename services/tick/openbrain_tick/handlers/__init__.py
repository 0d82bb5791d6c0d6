"""Handlers of `tick.requested`."""
