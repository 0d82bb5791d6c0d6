"""What the test of the document and the hooks of its program share: imported without the program."""

import json
from typing import Any

BORDERS = "OPENBRAIN_FUZZ_BORDERS"
"""How many border cases of each kind, valid and not, a route gets; unset: all."""
SEED = "OPENBRAIN_FUZZ_SEED"
TOLD = "OPENBRAIN_FUZZ_TOLD"
"""Where the counts of the calls of each route are written."""


def as_json(value: Any) -> bytes:
    """Of whatever is drawn, as clients write it that know no limits: long numbers, NaN, halves of surrogate pairs."""
    return json.dumps(value, default=str).encode()
