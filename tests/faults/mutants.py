"""Ways to break the pipeline on purpose, put into the room processes by the launcher."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change that must not survive the harness."""

    about: str
    apply: Callable[[], None]


MUTANTS: Mapping[str, Mutant] = {}
