"""Synthetic memories of about 200 characters, the same on every run."""

import random
from collections.abc import Sequence

WORDS = (
    "cache key tenant deploy rollback queue retry index shard vector backup restore schema migration latency budget "
    "timeout ledger invoice customer session token scope agent memory signal harbour lighthouse captain otter heron "
    "river bridge market window kitchen garden winter summer morning evening teacher student doctor engineer"
).split()
TYPES = ("fact", "decision", "observation", "convention", "bug", "procedure")


def texts(count: int, seed: int = 1) -> list[str]:
    """`count` different texts."""
    chance = random.Random(seed)
    return [f"Note {number}: {_sentence(chance)}" for number in range(count)]


def _sentence(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=28))


def questions(count: int, seed: int = 2) -> list[str]:
    """`count` different questions in the same words."""
    chance = random.Random(seed)
    return [f"what about the {' '.join(chance.sample(WORDS, k=6))}?" for _ in range(count)]


def spread(values: Sequence[str], number: int) -> str:
    """One of `values`, determined by the number, all equally often."""
    return values[number % len(values)]
