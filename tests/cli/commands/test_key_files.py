"""The file for a key's secret, which is shown once: a key is made only if there is room for it."""

import errno
import os
from pathlib import Path

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import SetupError
from openbrain_cli.system.shell import exit_codes
from tests.support.api.brain import Brain
from tests.support.cli.typed_json import Terminal, terminal

__all__ = ["terminal"]

KEYS = ("keys", "create", "ci", "--permission", "brain.read")


async def test_the_file_holds_the_secret_and_nothing_else(brain: Brain, terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    await terminal.typed(await brain.key(permissions=frozenset(Permission)), *KEYS, "--write", str(file))
    secret = file.read_bytes()

    assert secret.startswith(b"ob_")
    assert secret.endswith(b"\n")
    assert secret.isascii()
    assert b"\0" not in secret
    assert file.stat().st_mode & 0o777 == 0o600


async def test_no_key_is_made_if_its_secret_has_no_room(
    brain: Brain, terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    admin = await brain.key(permissions=frozenset(Permission))
    file = tmp_path / "secret"
    _, before, _ = await terminal.run(admin, "keys", "list")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(SetupError, match=r"secret can't be written \(No space left on device\): choose another"):
            await terminal.typed(admin, *KEYS, "--write", str(file))

    assert not file.exists()
    assert await terminal.run(admin, "keys", "list") == (0, before, "")


async def test_an_unset_variable_makes_no_key_of_another_workspace(brain: Brain, terminal: Terminal) -> None:
    """Without a name, the workspace would be the key's own, which is another tenant's."""
    admin = await brain.key("system", permissions=frozenset(Permission))
    _, before, _ = await terminal.run(admin, "keys", "list")
    refused = await terminal.typed(admin, *KEYS, "--workspace", "")

    assert (refused.exit_code, refused.stdout) == (exit_codes.USAGE, "")
    assert "--workspace" in refused.stderr
    assert await terminal.run(admin, "keys", "list") == (0, before, "")
