"""Cursor of an operation's walk through partitions."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from openbrain.ports.lifecycle import Partition, Place


@dataclass(frozen=True, slots=True)
class Cursor:
    """A position after a partition, or within the block that follows it."""

    after: Partition | None = None
    """The last partition done."""
    block: tuple[Partition, Partition] | None = None
    """First and last of the partitions in work; None: the block after `after` is not chosen yet."""
    large: bool = False
    """Whether the block is one large partition, walked through by age."""
    steps: int = 0
    """Steps of the block done so far. A process without the block in memory repeats them first."""
    read: int = 0
    """Memories of the block counted as seen."""
    place: Place | None = None
    """The oldest memory of the last cluster returned; in a large partition, the last memory looked at."""

    @classmethod
    def of(cls, value: Any) -> Self:
        """Parse the JSON value; anything that is not an object means the beginning."""
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
