"""The vault on the command line, as a person types it: the commands in this process, the API behind a real server."""

import asyncio
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from openbrain.domain.errors import NotFound
from openbrain_cli.main import app
from tests.support.api.brain import Brain
from tests.support.api.served import served


async def test_a_vault_from_a_post_to_a_local_copy(brain: Brain, tmp_path: Path) -> None:
    vault = brain.settings.vaults.folders["w1"]
    (vault / "brain-feed").mkdir()
    (vault / "brain-feed" / "a.md").write_text("---\ntitle: Hot\x1b[2J\n---\nwhat is hot\n", encoding="utf-8")
    (vault / "brain-feed" / "b.md").write_text("---\ntitle: Also\n---\nwhat is not\x1b[2J\n", encoding="utf-8")
    (vault / "odd.md").write_text("clear\x1b[2J the screen\n", encoding="utf-8")
    (tmp_path / "key").write_text(await brain.key(), encoding="ascii")
    (tmp_path / "key").chmod(0o600)
    copy = tmp_path / "copy"
    async with served(brain.app()) as url:
        to = ("--url", url, "--key-file", str(tmp_path / "key"))

        async def typed(*words: str, stdin: str = "") -> str:
            done = await asyncio.to_thread(lambda: CliRunner().invoke(app, [*words, *to], input=stdin))
            if done.exception is not None:
                raise done.exception
            return done.stdout

        made = await typed("brain", "post", "lesson", "Look at the logs.", "--source", "shop")
        again = orjson.loads(await typed("brain", "post", "lesson", "-", "--source", "shop", "--json", stdin="Other"))
        read = await typed("brain", "read", made.split()[1])
        odd = await typed("brain", "read", "odd.md")
        found = await typed("brain", "search", "logs look")
        feed = await typed("brain", "feed")
        would = await typed("brain", "sync", str(copy), "--dry-run")
        did = await typed("brain", "sync", str(copy))
        try:
            await typed("brain", "read", "none.md")
        except NotFound as error:
            missing = str(error)

    assert made.startswith("created")
    assert again["action"] == "appended"
    assert "Look at the logs." in read
    assert odd == "clear\\x1b[2J the screen\n"
    assert made.split()[1] in found.replace("\n", "")
    assert "what is not" in feed
    assert "\x1b" not in feed
    assert would == "would write a.md\nwould write b.md\n"
    assert did == "write a.md\nwrite b.md\n"
    assert (copy / "b.md").read_bytes() == (vault / "brain-feed" / "b.md").read_bytes()
    assert "no such file" in missing


async def test_a_copy_waits_for_a_system_that_does_not_run_now(
    brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`openbrain stop` removes the address, and `openbrain up` writes it again."""
    feed = brain.settings.vaults.folders["w1"] / "brain-feed"
    feed.mkdir()
    (feed / "a.md").write_text("---\ntitle: Hot\n---\nwhat is hot\n", encoding="utf-8")
    data = tmp_path / "data"
    data.mkdir()
    (data / "key").write_text(await brain.key(), encoding="ascii")
    (data / "key").chmod(0o600)
    async with served(brain.app()) as url:

        def started(_: float) -> None:
            if (data / "url").exists():
                raise KeyboardInterrupt
            (data / "url").write_text(url, encoding="ascii")

        monkeypatch.setattr("openbrain_cli.vault.brain.time.sleep", started)
        words = ("brain", "sync", str(tmp_path / "copy"), "--every", "1", "--data", str(data))
        done = await asyncio.to_thread(lambda: CliRunner().invoke(app, words))

    assert "no OpenBrain runs" in done.stderr
    assert (tmp_path / "copy" / "a.md").exists()
