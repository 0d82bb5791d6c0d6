"""Memories, counts and ids as people read them in a terminal."""

NOTHING = "nothing found: ask in other words, or see what is there: openbrain list"
NOTHING_CLOSE = "nothing that is near: ask in other words, or see what was found: --precision recall"
