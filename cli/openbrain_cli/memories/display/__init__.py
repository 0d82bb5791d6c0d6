"""Display of memories, counts and ids in a terminal."""

NOTHING = "nothing found: ask in other words, or see what is there: openbrain list"
NOTHING_CLOSE = "nothing close enough: ask in other words, or see what was found: --precision recall"
