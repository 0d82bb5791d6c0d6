"""A content policy that is open: everything passes as it is."""

from collections.abc import Sequence

from openbrain.ports.store.writes import NamedText


class OpenContentPolicy:
    """`ContentPolicy` that refuses and masks nothing."""

    def start(self) -> None:
        """Nothing is to be loaded."""

    async def ready(self) -> None:
        """At once."""

    def passes(self, texts: Sequence[NamedText]) -> bool:  # noqa: ARG002 - whatever they are
        """They do."""
        return True

    def admit(self, texts: Sequence[NamedText], *, refusing: bool = True) -> Sequence[str]:  # noqa: ARG002 - as in the port
        """The texts, unchanged."""
        return [text for _, text in texts]
