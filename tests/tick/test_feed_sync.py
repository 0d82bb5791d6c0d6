"""A local copy of the feed follows the API's, deletions included."""

from pathlib import Path

import httpx
import pytest

from openbrain.client import OpenBrain
from openbrain.domain.errors import Conflict, NotFound, TryLater
from openbrain_cli.vault.feed_sync import MARK, Synced, sync
from tests.support.api.brain import Brain


@pytest.fixture
def feed(brain: Brain) -> Path:
    """The folder that the tick writes."""
    folder = brain.settings.vaults.folders["w1"] / "brain-feed"
    (folder / "ticks").mkdir(parents=True)
    (folder / "ticks" / "raw.md").write_text("not for sessions", encoding="utf-8")
    (folder / "a.md").write_text("---\nid: a\n---\r\none\n", encoding="utf-8", newline="")
    (folder / "health.jsonl").write_text("{}\n", encoding="utf-8")
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != MARK}


async def client(brain: Brain, workspace: str = "w1") -> OpenBrain:
    return OpenBrain("http://brain", await brain.key(workspace), transport=httpx.ASGITransport(brain.app()))


async def test_a_copy_follows_the_feed(brain: Brain, feed: Path, tmp_path: Path) -> None:
    here = tmp_path / "copy"
    async with await client(brain) as asking:
        assert await sync(asking, here, dry_run=True) == Synced(("a.md", "health.jsonl"), (), 0)
        assert not here.exists()
        assert await sync(asking, here) == Synced(("a.md", "health.jsonl"), (), 0)
        assert files(here) == files(feed)
        assert await sync(asking, here) == Synced((), (), 2)
        (feed / "a.md").unlink()
        (feed / "b.md").write_text("new", encoding="utf-8")
        (feed / "health.jsonl").write_text("{}\n{}\n", encoding="utf-8")
        (here / "stray.md").write_text("reaches every session", encoding="utf-8")
        assert (await sync(asking, here, dry_run=True)).removed == ("a.md", "stray.md")
        assert await sync(asking, here) == Synced(("b.md", "health.jsonl"), ("a.md", "stray.md"), 0)
        assert files(here) == files(feed)
        (here / "b.md").write_text("edited here", encoding="utf-8")
        assert (await sync(asking, here)).written == ("b.md",)

    assert files(here) == files(feed)


async def test_a_folder_with_other_files_is_not_taken_unasked(brain: Brain, feed: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.md").write_text("mine", encoding="utf-8")
    async with await client(brain) as asking:
        with pytest.raises(Conflict, match="--adopt"):
            await sync(asking, tmp_path / "notes")
        assert files(tmp_path / "notes") == {"mine.md": b"mine"}
        await sync(asking, tmp_path / "notes", adopt=True)

    assert files(tmp_path / "notes") == files(feed)


async def test_a_vault_that_is_away_removes_nothing(brain: Brain, feed: Path, tmp_path: Path) -> None:
    here = tmp_path / "copy"
    async with await client(brain) as asking:
        await sync(asking, here)
        before = files(here)
        feed.parent.rename(feed.parent.with_name("away"))
        with pytest.raises(TryLater):
            await sync(asking, here)
    async with await client(brain, "w2") as stranger:
        with pytest.raises(NotFound):
            await sync(stranger, here)

    assert files(here) == before
