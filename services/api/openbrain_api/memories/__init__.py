"""Memories: group commit, chains, JSON, thoughts, context, export and import."""
