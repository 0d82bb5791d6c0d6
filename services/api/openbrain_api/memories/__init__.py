"""Memories: commits of all requests together, waiting for the indexes, chains, and their JSON."""
