"""Ids of stream entries."""

from openbrain.domain.memory import MICROSECONDS

LAST = f"{2**64 - 1}-{2**64 - 1}"
"""The highest possible id."""


def behind(entry: str) -> str | None:
    """Return the start of a range after this entry; None if no id can follow, which the server would refuse."""
    return None if entry == LAST else f"({entry}"


def first_part(entry: bytes | str) -> int:
    """Return the first part of an id: when the server added the entry, in milliseconds since 1970; for a broadcast its
    number."""
    text = entry.decode() if isinstance(entry, bytes) else entry
    return int(text.partition("-")[0])


def age_s(entry: bytes | str, now: int) -> float:
    """Return the age of an entry in seconds. `now`: the server's clock, in microseconds."""
    return max(0.0, now / MICROSECONDS - first_part(entry) / 1000)


def in_order(entry: str) -> tuple[int, int]:
    """Return an id in comparable form."""
    milliseconds, _, sequence = entry.partition("-")
    return int(milliseconds), int(sequence or 0)


def after_number(number: int) -> str:
    """Return the id after which XREAD continues if entries are numbered `<number>-0`. It skips entries added between
    two numbers, which would otherwise be returned again and again."""
    return f"{number}-{2**64 - 1}"
