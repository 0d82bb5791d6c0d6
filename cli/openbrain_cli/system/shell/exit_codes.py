"""Exit codes for scripts. The page docs/reference/exit-codes.md says the same; a test compares."""

from openbrain.domain.errors import Forbidden, NotFound, OpenBrainError, SetupError, TryLater, Unauthorised

OK = 0
REFUSED = 1
USAGE = 2
UNREACHABLE = 3
NOT_FOUND = 4
NOT_ALLOWED = 5
SETUP = 6
INTERNAL = 70
INTERRUPTED = 130

MEANING = {
    OK: "Done. For `doctor`: nothing is red.",
    REFUSED: "Refused or failed: an input that a limit forbids, a conflict, a red line of `doctor`, a refused section "
    "or file, a difference that `verify` did not repair.",
    USAGE: "Wrong use: an unknown command or option, a missing argument.",
    UNREACHABLE: "The server, or something that it needs, is unreachable or busy: try again later.",
    NOT_FOUND: "There is no such memory, key or workspace, or this key may not see it.",
    NOT_ALLOWED: "No key, an invalid or expired key, or a key without the permission.",
    SETUP: "The settings are not usable: the message says what to change.",
    INTERNAL: "An error in OpenBrain itself: set OPENBRAIN_DEBUG=1 to see where.",
    INTERRUPTED: "Stopped with Ctrl-C.",
}

_BY_ERROR: tuple[tuple[type[OpenBrainError], int], ...] = (
    (TryLater, UNREACHABLE),
    (NotFound, NOT_FOUND),
    (Unauthorised, NOT_ALLOWED),
    (Forbidden, NOT_ALLOWED),
    (SetupError, SETUP),
)


def of(error: OpenBrainError) -> int:
    """The exit code of an error; `REFUSED` for errors not listed above."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), REFUSED)
