"""Handlers of operations, one file a kind or resource: each does a bounded step."""
