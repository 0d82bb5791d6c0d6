"""N numbered operations over M slots, by seed. A slot holds at most one memory at a time; a later one may replace
it."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

WORDS = (
    "anchor basket candle delta ember fabric garden harbour island jacket kettle lantern meadow needle orchard pepper "
    "quarry ribbon saddle timber umbrella velvet willow yarrow zephyr amber bridge copper dragon engine"
).split()

CHANGES = {
    "update": 0.22,
    "retag": 0.12,
    "supersede": 0.20,
    "forget": 0.14,
    "expire": 0.05,
    "duplicate": 0.09,
    "same content": 0.05,
    "race": 0.06,
    "soon": 0.04,
    "erase": 0.03,
}
"""Operations on an active memory, and the weight of each."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a producer."""

    number: int
    slot: int
    kind: str
    stream: bool
    """True: by XADD; False: by the API."""
    content: str = ""
    tags: tuple[str, ...] = ()
    embed: bool = True
    twin: bool = False
    """True if another memory may have the same content: then only the idempotency key identifies a repeated request."""


def operations(
    chance: random.Random, count: int, slots: int, *, ends_soon: bool = True, long: bool = True
) -> list[Operation]:
    """Return operations in the order of their numbers. `ends_soon`: some memories expire during the run. `long`: some
    contents have several passages."""
    standing: dict[int, str] = {}
    made: list[Operation] = []
    while len(made) < count:
        number, slot = len(made), chance.randrange(slots)
        kind = _kind(chance, standing.get(slot, "none"))
        if kind in {"expire", "soon"} and not ends_soon:
            continue
        by_stream = kind in {"remember", "supersede", "duplicate"} and chance.random() < 0.4
        tags = tuple(chance.sample(WORDS, chance.randint(0, 3)))
        embed = chance.random() > 0.1
        twin = chance.random() < 0.15
        made.append(Operation(number, slot, kind, by_stream, content(chance, number, long=long), tags, embed, twin))
        standing[slot] = {"forget": "forgotten", "expire": "none", "erase": "none"}.get(kind, "alive")
    return made


def content(chance: random.Random, number: int, *, long: bool) -> str:
    """Return unique content, sometimes long enough for several passages."""
    length = chance.choice((4, 9, 15, 25, 25, 600, 1400) if long else (4, 9, 15, 25))
    return f"operation {number} token{chance.getrandbits(40):x} " + " ".join(chance.choices(WORDS, k=length))


def of_producer(all_of_them: list[Operation], producer: int, producers: int) -> Iterator[Operation]:
    """Yield the operations of one producer; no other producer uses its slots."""
    return (each for each in all_of_them if each.slot % producers == producer)


def _kind(chance: random.Random, standing: str) -> str:
    if standing == "none":
        return "remember"
    if standing == "forgotten":
        return chance.choice(("restore", "remember"))
    return chance.choices(list(CHANGES), weights=list(CHANGES.values()))[0]
