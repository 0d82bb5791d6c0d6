"""Ids of stream entries."""

LAST = f"{2**64 - 1}-{2**64 - 1}"
"""The highest that there can be."""


def behind(entry: str) -> str | None:
    """The start of a range that leaves out this entry and all before it; None where nothing can come, which the server
    takes for a mistake."""
    return None if entry == LAST else f"({entry}"


def first_part(entry: bytes | str) -> int:
    """The time at which the server added it, milliseconds since 1970; of a broadcast its number."""
    text = entry.decode() if isinstance(entry, bytes) else entry
    return int(text.partition("-")[0])


def in_order(entry: str) -> tuple[int, int]:
    """To compare two ids by."""
    milliseconds, _, sequence = entry.partition("-")
    return int(milliseconds), int(sequence or 0)


def after_number(number: int) -> str:
    """The id behind which XREAD goes on where entries are numbered `<number>-0`: what somebody put between two numbers
    would else come again and again."""
    return f"{number}-{2**64 - 1}"
