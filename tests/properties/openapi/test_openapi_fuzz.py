"""Schemathesis against a running system: examples, borders, random and stateful calls of every route of the document.

The short form sends each route some borders, drawn by the seed, and a few random calls, valid ones and others, in one
run with both keys. `OPENBRAIN_TEST_LONG=1`, or how many examples as in `OPENBRAIN_FUZZ_EXAMPLES=200`, asks for the long
one: all borders, examples, many random calls and stateful ones. `OPENBRAIN_FUZZ_SEED=7` repeats what a run told.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from openbrain_cli.profile import ADMIN_KEY_FILE, KEY_FILE
from tests.properties.openapi.fuzzing import BORDERS, SEED, TOLD, as_json
from tests.support.cli.terminal import Terminal, up, wait_until
from tests.support.forms import long_form
from tests.support.waiting import PATIENCE_S

LONG = long_form() or "OPENBRAIN_FUZZ_EXAMPLES" in os.environ
EXAMPLES = os.environ.get("OPENBRAIN_FUZZ_EXAMPLES", "200" if LONG else "2")
FEW = 1
"""Border cases of each kind per route in the short form, drawn by the seed."""

pytestmark = pytest.mark.timeout(6 * 3600 if LONG else 1800)
PROGRAM = Path(sys.executable).with_name("schemathesis")
ROOT = Path(__file__).parents[3]
HOOKS = Path(__file__).with_name("schemathesis_hooks.py")
OPERATORS = "^/v1/admin/(workspaces|reindex|generations|models|verify|streams|replay|dead|groups)"
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
)


@dataclass(frozen=True)
class Run:
    """One run of the program."""

    phases: str
    key: str = KEY_FILE
    only: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    """Other keys for paths that match a pattern."""
    borders: int | None = None


# The operators' run comes last, because it may stop groups, change the model and delete workspaces.
RUNS = {
    "all": Run("examples,coverage,fuzzing,stateful"),
    "operators": Run("examples,coverage,fuzzing", key=ADMIN_KEY_FILE, only=("--include-path-regex", OPERATORS)),
}
SHORT = {"short": Run("coverage,fuzzing", keys={OPERATORS: ADMIN_KEY_FILE}, borders=FEW)}


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home = tmp_path_factory.mktemp("fuzz")
    unlimited = {"OPENBRAIN_SERVER__RATE_PER_MINUTE": "0", "OPENBRAIN_SERVER__WRONG_KEYS_PER_MINUTE": "0"}
    with up(Terminal(home, home / "data", unlimited)) as running:
        yield running


def fuzz(terminal: Terminal, run: Run) -> Mapping[str, Mapping[str, int]]:
    """Run Schemathesis, which must find nothing; return the calls of each route, by kind."""

    def bearer(file: str) -> str:
        return f"Bearer {(terminal.data / file).read_text().strip()}"

    seed = os.environ.get(SEED) or str(random.SystemRandom().randrange(10**6))
    asked = f"OPENBRAIN_FUZZ_EXAMPLES={EXAMPLES} " if LONG else ""
    again = f"again: {SEED}={seed} {asked}pytest tests/properties/openapi/{Path(__file__).name}"
    print(again)  # noqa: T201 - in the report of a run that finds nothing, too
    told, settings = terminal.home / "told.json", terminal.home / "schemathesis.toml"
    settings.write_text("".join(_other_key(pattern, bearer(file)) for pattern, file in run.keys.items()))
    done = subprocess.run(
        [
            *(str(PROGRAM), "--config-file", str(settings)),
            *("run", f"{_url(terminal)}/openapi.json"),
            *("--header", f"Authorization: {bearer(run.key)}"),
            *("--phases", run.phases, "--max-examples", EXAMPLES, "--seed", seed, "--checks", ",".join(CHECKS)),
            *("--continue-on-failure", "--generation-database", "none", "--warnings", "off", *run.only),
            *("--request-timeout", str(PATIENCE_S)),  # a busy machine is slow
        ],
        cwd=terminal.home,
        env={
            **{name: value for name, value in os.environ.items() if name != BORDERS},
            **({} if run.borders is None else {BORDERS: str(run.borders)}),
            "SCHEMATHESIS_HOOKS": str(HOOKS),
            "PYTHONPATH": str(ROOT),
            SEED: seed,
            TOLD: str(told),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{again}\n{done.stdout[-8000:]}{done.stderr[-2000:]}"
    print(done.stdout[done.stdout.rfind(" SUMMARY ") :])  # noqa: T201
    calls: Mapping[str, Mapping[str, int]] = orjson.loads(told.read_bytes())
    return calls


def _url(terminal: Terminal) -> str:
    return (terminal.data / "url").read_text().strip()


def _other_key(paths: str, key: str) -> str:
    return (
        f"[[operations]]\ninclude-path-regex = {json.dumps(paths)}\nheaders = {{ Authorization = {json.dumps(key)} }}\n"
    )


@pytest.mark.slow("some hundred requests, each drawn, sent and judged by a program of its own")
@pytest.mark.parametrize("name", RUNS if LONG else SHORT)
def test_every_answer_is_as_the_document_says(terminal: Terminal, name: str) -> None:
    run = {**RUNS, **SHORT}[name]
    if run.only:
        wait_until(lambda: terminal.run("doctor", "--json").code == 0)  # index earlier writes first
    calls = fuzz(terminal, run)

    for route, kinds in calls.items():
        assert kinds["positive"], route
        assert kinds["negative"], route
        if run.borders is not None:
            assert all(kinds.get(f"coverage, {mode}", 0) <= run.borders for mode in ("positive", "negative")), route
    if not run.only:
        paths = httpx.get(f"{_url(terminal)}/openapi.json").json()["paths"]
        routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
        assert calls.keys() == routes - {"GET /openapi.json"}  # which the program has read anyway


@pytest.mark.parametrize(
    "value", [10**30, -(10**30), float("nan"), "\ud800", {"\ud800": [2**64]}, {1: b"\xff"}, None, [None, {}], "ab\n"]
)
def test_any_value_can_be_sent_as_a_line(value: Any) -> None:
    """Every generated value can be serialised, so that it reaches the product."""
    line = as_json(value)

    assert b"\n" not in line
    json.loads(line)
