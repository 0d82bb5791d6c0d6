"""What can go wrong, in the words that the person who meets it needs.

Two branches tell the stream layer what to do: `TryLater` costs an entry nothing, `NeverRetry` sends it to
the dead letters at once. Every other exception is a failed attempt.
"""


class OpenBrainError(Exception):
    """Base of all errors of this project: the message says what to do next."""

    code = "service_error"


class TryLater(OpenBrainError):
    """A dependency is down or busy: wait, then do the same again."""


class NeverRetry(OpenBrainError):
    """The same input will always be refused."""


class Invalid(NeverRetry):
    """An input that a limit or a rule forbids. Names the field."""

    code = "validation_error"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field


class NotFound(NeverRetry):
    """Unknown here: the same words for an id that is another tenant's and for one that never was."""

    code = "not_found"


class Conflict(NeverRetry):
    """The state moved on. `head` names the memory that now stands at the end of the chain."""

    code = "conflict"

    def __init__(self, message: str, *, head: str | None = None) -> None:
        super().__init__(message)
        self.head = head


class Unauthorised(NeverRetry):
    """No key, or one that is unknown, expired or revoked: one answer for all."""

    code = "unauthorised"


class Forbidden(NeverRetry):
    """The key is good, but not for this."""

    code = "forbidden"


class SetupError(OpenBrainError):
    """The settings can't work: told at start, with what to change."""

    code = "setup_error"
