"""Position of an operation's walk through partitions."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from openbrain.ports.lifecycle import Partition, Place


@dataclass(frozen=True, slots=True)
class Cursor:
    """A position after a partition, or within the block that follows it."""

    after: Partition | None = None
    """The last partition that is done."""
    block: tuple[Partition, Partition] | None = None
    """First and last of the partitions in progress; None: the next block has not been chosen."""
    large: bool = False
    """Whether the block is one large partition, which is walked by age."""
    steps: int = 0
    """Steps done on the block. A process that does not have the block in memory repeats them first, so that every call
    makes progress."""
    read: int = 0
    """Memories of the block already counted as seen."""
    place: Place | None = None
    """The oldest memory of the last cluster returned; in a large partition the last memory looked at."""

    @classmethod
    def of(cls, value: Any) -> Self:
        """From its JSON value; any other value means the beginning."""
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
