"""Where the walk of an operation through partitions goes on."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from openbrain.ports.lifecycle import Partition, Place


@dataclass(frozen=True, slots=True)
class Cursor:
    """Behind a partition, or within those that follow it."""

    after: Partition | None = None
    """The last one that is done."""
    block: tuple[Partition, Partition] | None = None
    """The partitions that are worked on, from the first to the last; None: those that follow."""
    large: bool = False
    """Whether it is one that is walked through by age."""
    steps: int = 0
    """Steps that are done of what a block takes. Whoever has not done them does them first, so that each goes on."""
    read: int = 0
    """Memories that were counted as looked at."""
    place: Place | None = None
    """The oldest of the last cluster that was given out; of a large partition the last memory looked at."""

    @classmethod
    def of(cls, value: Any) -> Self:
        """From its JSON value; anything else stands for the beginning."""
        if not isinstance(value, Mapping):
            return cls()
        after, block, place = value["after"], value["block"], value["place"]
        return cls(
            after and Partition(*after),
            block and (Partition(*block[0]), Partition(*block[1])),
            value["large"],
            value["steps"],
            value["read"],
            place and (int(place[0]), str(place[1])),
        )

    def value(self) -> dict[str, Any]:
        block = self.block and [list(item) for item in self.block]
        return {**asdict(self), "after": self.after and list(self.after), "block": block}
