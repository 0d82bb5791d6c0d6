"""A content policy that is open: everything passes as it is."""


class OpenContentPolicy:
    """`ContentPolicy` that refuses and masks nothing."""

    def admit(self, content: str) -> str:
        """The content, unchanged."""
        return content
