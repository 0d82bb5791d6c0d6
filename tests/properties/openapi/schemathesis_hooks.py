"""Hooks for Schemathesis: NDJSON bodies, no waiting requests, a limited number of border cases."""

import atexit
import json
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis.generation.modes import GenerationMode
from schemathesis.specs.openapi.schemas import OpenApiSchema

from openbrain.domain.limits import WAIT_SECONDS
from tests.properties.openapi.fuzzing import BORDERS, SEED, TOLD, as_json

_DRAWN_FROM = 2
"""How many border cases are generated for each one kept: generating them all takes longer than sending a few."""
_WAITED = re.compile(r"(wait\s*=\s*\"?)\d+", re.IGNORECASE)
_calls: defaultdict[str, Counter[str]] = defaultdict(Counter)


@schemathesis.serializer("application/x-ndjson")
def records(_context: Any, value: Any) -> bytes:
    """One JSON value per line; text unchanged."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode(errors="replace")
    lines = value if isinstance(value, list) else [value]
    return b"".join(as_json(line) + b"\n" for line in lines)


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    """Remove waits from a request: endless streams and long polls end at once."""
    query = dict(case.query or {})
    if case.path.endswith("/stream") and _counts(query.get("seconds", 1), 86_400):
        case.query = {**query, "seconds": 0}
    elif _counts(query.get("wait"), WAIT_SECONDS):
        case.query = {**query, "wait": 0}
    for name, value in (case.headers or {}).items():
        if name.lower() == "prefer" and _WAITED.search(str(value)):
            case.headers[name] = _WAITED.sub(r"\g<1>0", str(value))
            break


def _counts(given: Any, most: int) -> bool:
    """True if the product would read the value as a number of seconds up to `most`."""
    try:
        return 0 < float(str(given[-1] if isinstance(given, list) and given else given)) <= most
    except ValueError:
        return False


@schemathesis.hook
def after_call(_context: Any, case: Any, _response: Any) -> None:
    if case.meta is not None:
        phase, mode = case.meta.phase.name.value, case.meta.generation.mode.value
        _calls[case.operation.label].update((mode, f"{phase}, {mode}"))


def _tell(file: Path) -> None:
    file.write_text(json.dumps(_calls))


def _some(many: Iterator[Any], count: int, chance: random.Random) -> list[Any]:
    drawn = list(islice(many, count * _DRAWN_FROM))
    return drawn if len(drawn) <= count else chance.sample(drawn, count)


def _leave_out_borders(count: int, seed: str) -> None:
    """Schemathesis has no setting for it: the phase generates and sends every case, thousands of them."""
    whole = OpenApiSchema.iter_coverage_cases

    def some(schema: Any, operation: Any, *, generation_modes: list[GenerationMode], **more: Any) -> Iterator[Any]:
        for mode in generation_modes:
            chance = random.Random(f"{seed} {operation.label} {mode.value}")
            yield from _some(whole(schema, operation, generation_modes=[mode], **more), count, chance)

    OpenApiSchema.iter_coverage_cases = some  # type: ignore[assignment, method-assign]


if TOLD in os.environ:
    atexit.register(_tell, Path(os.environ[TOLD]))
if BORDERS in os.environ:
    _leave_out_borders(int(os.environ[BORDERS]), os.environ[SEED])
