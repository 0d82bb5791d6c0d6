"""Operators' methods: keys and workspaces, indexes, models, streams."""
