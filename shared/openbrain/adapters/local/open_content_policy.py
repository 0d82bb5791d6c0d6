"""A gate that stands open: everything passes as it is."""


class OpenGate:
    """`WriteGate` that refuses and masks nothing."""

    def admit(self, content: str) -> str:
        """The content, unchanged."""
        return content
