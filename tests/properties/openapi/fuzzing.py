"""Shared by the test of the OpenAPI document and its Schemathesis hooks; importable without Schemathesis."""

import json
from typing import Any

BORDERS = "OPENBRAIN_FUZZ_BORDERS"
"""The number of border cases of each kind, valid and invalid, per route; unset: all."""
SEED = "OPENBRAIN_FUZZ_SEED"
TOLD = "OPENBRAIN_FUZZ_TOLD"
"""The file that the call counts of each route are written to."""


def as_json(value: Any) -> bytes:
    """Any drawn value as JSON, as careless clients write it: long numbers, NaN, halves of surrogate pairs."""
    return json.dumps(value, default=str).encode()
