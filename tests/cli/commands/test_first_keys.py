"""The key files that the first start writes."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.access.credentials import read_key
from openbrain_cli.system.embedded import pipeline
from tests.support.api.brain import Brain


async def test_a_start_that_could_not_write_a_key_leaves_the_next_one_to_do_so(
    brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, *_args: Any, **_more: Any) -> Any:
        os.close(descriptor)
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdopen", full)
        with pytest.raises(OSError, match="no space"):
            await pipeline._bootstrap_keys(brain, tmp_path)  # type: ignore[arg-type]
    await pipeline._bootstrap_keys(brain, tmp_path)  # type: ignore[arg-type]

    assert read_key(tmp_path / "key").startswith("ob_")
    assert read_key(tmp_path / "admin-key").startswith("ob_")
    assert sorted(path.name for path in tmp_path.iterdir() if "key" in path.name) == ["admin-key", "key"]
