"""Long thoughts of other stores become parts; the server masks each part alone, so no secret is cut."""

import hashlib
import json
from pathlib import Path

import pytest

from openbrain.adapters.local.secret_detector import SecretDetector
from openbrain.domain import limits
from openbrain.usecases.content.policy import DetectingPolicy
from openbrain_cli.memories.transfer.foreign.conversion import convert
from openbrain_cli.memories.transfer.foreign.locations import table_in

LINES = [hashlib.sha512(bytes([number])).hexdigest()[:64] for number in range(25)]
PRIVATE = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *LINES, "-----END RSA PRIVATE KEY-----", ""])
TOKEN = "kQ7vX2mZ9pL4tR8wB3nY6cJ1"
CUT = limits.CONTENT_CHARS


@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        ("words of a log\n" * (CUT // 15 - 20), PRIVATE, "more\n" * CUT),
        ("words " * (CUT // 6 - 2), f"access_token = {TOKEN}", " more" * CUT),
        ("x" * (CUT - 9), f" token: '{TOKEN}'", ", more" * CUT),
        ("words\n" * (CUT // 6 - 3), f"api_key:\n  {TOKEN}\n", "more\n" * CUT),
    ],
)
def test_no_secret_is_cut(before: str, secret: str, after: str, tmp_path: Path) -> None:
    path, target = tmp_path / "thoughts.ndjson", tmp_path / "converted.ndjson"
    row = {"id": "8", "content": before + secret + after, "source": "x", "metadata": {}, "created_at": "2026-03-01"}
    path.write_text(json.dumps(row), encoding="utf-8")
    table = table_in(path)
    assert table
    done = convert(table, target, agent="ada", progress=lambda _: None)
    lines = [json.loads(line) for line in target.read_bytes().splitlines()]
    parts = [line["content"] for line in lines if line["kind"] == "memory"]
    policy = DetectingPolicy(SecretDetector()).of("w1")
    masked = [policy.admit([("content", part)]).texts[0] for part in parts]

    assert done.refused == 0
    assert "".join(parts) == before + secret + after
    assert not [line for line in (*LINES, TOKEN) if line in "\n".join(masked)]
    assert "[redacted: " in "".join(masked)
