"""The edit distance of two words, in the edits that people make. Pure."""

from functools import lru_cache


def allowed(word: str) -> int:
    """Edits within which two words count as the same, by length: none to 2 letters, one to 5, two from 6 on."""
    return 0 if len(word) < 3 else 1 if len(word) < 6 else 2


@lru_cache(65_536)
def letters(word: str) -> int:
    """A bit a letter (some share one). An edit changes at most two of them."""
    mask = 0
    for letter in word:
        mask |= 1 << (ord(letter) & 63)
    return mask


def near(word: str, other: str, most: int) -> bool:
    """Whether `most` edits (a letter more, less or another, or two neighbours swapped) make one of the other."""
    if word == other:
        return True
    if abs(len(word) - len(other)) > most or (letters(word) ^ letters(other)).bit_count() > 2 * most:
        return False
    return _distance(word, other, most) <= most


def _distance(word: str, other: str, most: int) -> int:
    """Optimal string alignment; any number above `most` where it is further."""
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
