"""Memories, counts and ids as people read them in a terminal."""
