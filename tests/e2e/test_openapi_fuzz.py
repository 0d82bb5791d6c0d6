"""Schemathesis against a running system: examples, borders, random and stateful calls of every route of the document.

`OPENBRAIN_FUZZ_EXAMPLES=200 OPENBRAIN_FUZZ_SEED=7 pytest tests/e2e/test_openapi_fuzz.py` is the long form.
"""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openbrain_cli.system import ADMIN_KEY_FILE, KEY_FILE
from tests.support.cli.terminal import Terminal, up, wait_until
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.timeout(1800)
PROGRAM = Path(sys.executable).with_name("schemathesis")
HOOKS = Path(__file__).with_name("schemathesis_hooks.py")
EXAMPLES = os.environ.get("OPENBRAIN_FUZZ_EXAMPLES", "12")
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


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home = tmp_path_factory.mktemp("fuzz")
    unlimited = {"OPENBRAIN_SERVER__RATE_PER_MINUTE": "0", "OPENBRAIN_SERVER__WRONG_KEYS_PER_MINUTE": "0"}
    with up(Terminal(home, home / "data", unlimited)) as running:
        yield running


def fuzz(terminal: Terminal, key_file: str, *more: str) -> str:
    """What the program says, after it found nothing."""
    seed = os.environ.get("OPENBRAIN_FUZZ_SEED") or str(random.SystemRandom().randrange(10**6))
    done = subprocess.run(
        [
            *(str(PROGRAM), "run", f"{(terminal.data / 'url').read_text().strip()}/openapi.json"),
            *("--header", f"Authorization: Bearer {(terminal.data / key_file).read_text().strip()}"),
            *("--max-examples", EXAMPLES, "--seed", seed, "--checks", ",".join(CHECKS)),
            *("--continue-on-failure", "--generation-database", "none", *more),
            # A request may wait until something is indexed, for half a minute, and a busy machine is slow.
            *("--request-timeout", str(PATIENCE_S)),
        ],
        cwd=terminal.home,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS)},
        capture_output=True,
        text=True,
        check=False,
    )
    again = f"run again: OPENBRAIN_FUZZ_SEED={seed} OPENBRAIN_FUZZ_EXAMPLES={EXAMPLES} pytest {Path(__file__).name}"
    assert done.returncode == 0, f"{again}\n{done.stdout[-8000:]}{done.stderr[-2000:]}"
    return done.stdout


def test_every_answer_is_as_the_document_says(terminal: Terminal) -> None:
    said = fuzz(terminal, KEY_FILE, "--phases", "examples,coverage,fuzzing,stateful")
    assert "Stateful" in said
    wait_until(lambda: terminal.run("doctor", "--json").code == 0)  # what was written above is indexed first


def test_so_is_every_answer_to_operators(terminal: Terminal) -> None:
    """After the other: it may stop groups, change the model and delete workspaces."""
    operators = "^/v1/admin/(workspaces|reindex|generations|models|verify|streams|replay|dead|groups)"
    fuzz(terminal, ADMIN_KEY_FILE, "--phases", "examples,coverage,fuzzing", "--include-path-regex", operators)
