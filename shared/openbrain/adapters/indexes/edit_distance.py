"""The edit distance of two words, counting the typos that people make. Pure."""

from functools import lru_cache


def allowed(word: str) -> int:
    """Return the number of edits within which two words count as equal, by length: 0 up to 2 letters, 1 up to 5, else
    2."""
    return 0 if len(word) < 3 else 1 if len(word) < 6 else 2


@lru_cache(65_536)
def letters(word: str) -> int:
    """Return a bit mask of the word's letters (some share a bit). An edit changes at most two bits."""
    mask = 0
    for letter in word:
        mask |= 1 << (ord(letter) & 63)
    return mask


def near(word: str, other: str, most: int) -> bool:
    """True if at most `most` edits (a letter added, removed or replaced, or two neighbours swapped) turn one into the
    other."""
    if word == other:
        return True
    if abs(len(word) - len(other)) > most or (letters(word) ^ letters(other)).bit_count() > 2 * most:
        return False
    return _distance(word, other, most) <= most


def _distance(word: str, other: str, most: int) -> int:
    """Return the optimal string alignment distance; any number above `most` if it is larger."""
    before: list[int] = []
    above = list(range(len(other) + 1))
    for row, letter in enumerate(word, 1):
        here = [row]
        for column, their in enumerate(other, 1):
            cost = min(above[column] + 1, here[-1] + 1, above[column - 1] + (letter != their))
            if row > 1 and column > 1 and letter == other[column - 2] and word[row - 2] == their:
                cost = min(cost, before[column - 2] + 1)
            here.append(cost)
        if min(here) > most:
            return most + 1
        before, above = above, here
    return above[-1]
