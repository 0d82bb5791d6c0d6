"""Operators' commands: workspaces, keys, operations, the database, indexes, streams."""
