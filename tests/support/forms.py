"""How much a test does: a short form for daily runs, a long one for nightly runs."""

import os

LONG = "OPENBRAIN_TEST_LONG"
RINGS_RUN = "OPENBRAIN_TEST_RINGS"
_SHARES = {"embedded": 0.25, "servers": 0.1, "faults": 0.1}
_FEWEST = 5


def long_form() -> bool:
    """Whether this run uses the long form."""
    return os.environ.get(LONG) == "1"


def examples(usual: int) -> int:
    """Return how many examples Hypothesis draws: few in rings that use servers, many in the long form."""
    if long_form():
        return usual * 5
    share = min(_SHARES.get(ring, 0.4) for ring in os.environ.get(RINGS_RUN, "").split(","))
    return min(usual, max(_FEWEST, round(usual * share)))
