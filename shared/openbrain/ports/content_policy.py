"""What stands before every write: the place where secrets are refused or masked."""

from typing import Protocol


class WriteGate(Protocol):
    """Looks at what is about to be stored."""

    def admit(self, content: str) -> str:
        """The content to store (perhaps masked), or `Invalid` when it must not be stored."""
