"""Handlers of /v1/admin."""
