"""Memories, counts and ids as people read them in a terminal."""

NOTHING = "nothing found: ask in other words, or see what is there: openbrain list"
