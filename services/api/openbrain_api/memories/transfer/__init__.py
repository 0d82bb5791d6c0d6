"""Whole workspaces on their way out and in."""
