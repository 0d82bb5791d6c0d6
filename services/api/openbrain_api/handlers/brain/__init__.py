"""Handlers of /v1/brain."""
