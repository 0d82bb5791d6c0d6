"""A tick over a folder, a store and a model with a fixed answer."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openbrain.adapters.network.chat_reasoner import ChatReasoner
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.values import Step
from openbrain.ports.models import Question, Thought
from openbrain.ports.store.signals import SignalChange, SignalFilter
from openbrain.usecases.vault_lock import VaultBusy, vault_writer
from openbrain.vault.files.changes import Change
from openbrain.vault.files.folder import Folder
from openbrain.vault.files.lock import FolderLock
from openbrain.vault.pages import journal
from openbrain_tick.ports import Ports
from openbrain_tick.tick import tick
from tests.support.embedder.fake_chat import MODEL, fake_chat, says
from tests.support.store.fixtures import FakeClock
from tests.support.vault.pages import Vault as Pages
from tests.support.vault.pages import page, signal
from tests.support.vault.ticking import ALL, DAY, NEW, database_url, job, settled, vault_of

__all__ = ["database_url"]

ANSWER = {
    "edges": [
        {"source": "a", "type": "parent", "target": "b", "reason": "r"},
        {"source": "a", "type": "x", "target": "b"},
    ],
    "merges": [{"keep": "b", "absorb": "c", "title": "B and C"}],
    "signals": [{"op": "clear", "source": "auth-broker", "reason": "key rotated"}],
    "summaries": [{"arc": "a", "text": "It ships."}],
    "intent": {"text": "ships the release", "evidence": ["a"]},
    "health": {"score": 6, "reason": "sparse"},
}


async def with_model(text: str, ports: Ports, pages: Pages, **more: Any) -> dict[str, Any]:
    with fake_chat(lambda _: says(text, usage={"prompt_tokens": 9, "completion_tokens": 4})) as chat:
        reasoner = ChatReasoner(chat.url, MODEL)
        try:
            return await tick(job(**more), vault_of(pages), replace(ports, reasoner=reasoner))
        finally:
            await reasoner.close()


async def test_a_tick_without_a_model_keeps_the_vault_once(ports: Ports, pages: Pages) -> None:
    first = await tick(job(), vault_of(pages), ports)
    after = pages.tree()
    again = await tick(job(), vault_of(pages), ports)

    assert pages.tree() == after
    assert first["phases"]["ai"]["skipped"] == "no reasoner is set"
    assert first["phases"]["deterministic"]["stats"]["arcs_scanned"] == 3
    assert first["changes"]["written"] > 3
    assert again["changes"] == {"written": 0, "removed": 0, "paths": []}
    assert "bans rise" in pages.body("signals.md")
    assert "| a |" in pages.body("hot-arcs.md") or "[[a]]" in pages.body("hot-arcs.md")


async def test_an_answer_is_judged_written_and_looked_for(ports: Ports, pages: Pages, store: SqlStore) -> None:
    report = await with_model(json.dumps(ANSWER), ports, pages)

    phases = report["phases"]
    done = ["edges[0]", "signals[0]", "merges[0]", "summaries[0]"]
    assert phases["apply"]["result"]["done"] == done
    assert [each["item"] for each in phases["apply"]["result"]["refused"]] == ["edges[1]"]
    assert phases["verify"]["stats"] == {"looked_for": 4, "missing": []}
    assert (phases["ai"]["tokens_in"], phases["ai"]["tokens_out"], phases["ai"]["model"]) == (9, 4, MODEL)
    assert "target=b" in pages.read(f"{DAY}/a.md")
    assert (pages.root / DAY / "c.merged.md").exists()
    assert pages.body("signals.md") == "No active signals."
    (ended,) = await store.signals.signals(ALL, SignalFilter(), 10)
    assert (ended.state, ended.ended_by, ended.note) == ("resolved", "tick", "key rotated")
    assert pages.body("intent.md").endswith("ships the release")
    assert "Edges added: 1" in pages.body("last-tick-diff.md")
    row = json.loads(pages.read("brain-feed/health.jsonl").splitlines()[-1])
    assert (row["score"], row["reason"], row["arcs"]) == (6, "sparse", 2)


async def test_the_same_answer_again_changes_nothing(ports: Ports, pages: Pages) -> None:
    await with_model(json.dumps(ANSWER), ports, pages)
    before = settled(pages.tree())

    again = await with_model(json.dumps(ANSWER), ports, pages)

    assert again["phases"]["apply"]["result"]["done"] == []
    assert not [path for path in pages.tree() if path.startswith("amygdala/")]
    changed = {path for path, data in settled(pages.tree()).items() if before.get(path) != data}
    assert changed == {"brain-feed/last-tick-diff.md"}


async def test_a_dry_run_shows_the_diff_and_touches_nothing(ports: Ports, pages: Pages, store: SqlStore) -> None:
    before = pages.tree()

    report = await with_model(json.dumps(ANSWER), ports, pages, dry_run=True, slot=None)

    assert pages.tree() == before
    assert not (pages.root / ".openbrain").exists()
    assert "+<!-- @edge type=parent target=b -->" in report["diff"]
    assert f"--- {DAY}/c.md\n+++ /dev/null" in report["diff"]
    assert "verify" not in report["phases"]
    assert await store.signals.signals(ALL, SignalFilter(), 10) == []
    assert await store.vault.vault_memories("w1") == []
    real = await with_model(json.dumps(ANSWER), ports, pages)
    alarm = "brain-feed/amygdala-active.md"  # a dry run raises nothing
    assert set(real["changes"]["paths"]) - {alarm} == set(report["changes"]["paths"])
    assert not (pages.root / alarm).exists()


@pytest.mark.parametrize("text", ["I would rather not.", '{"edges": 3', ""])
async def test_a_model_that_talks_costs_the_tick_nothing_else(text: str, ports: Ports, pages: Pages) -> None:
    report = await with_model(text, ports, pages)

    assert "neither JSON" in report["phases"]["ai"]["error"]
    assert pages.body("signals.md").startswith("## Signals")


class Edits:
    """A slow model: meanwhile somebody edits the vault."""

    def __init__(self, edit: Callable[[], object], answer: Mapping[str, Any]) -> None:
        self._edit, self._answer = edit, answer

    async def reason(self, question: Question) -> Thought:
        assert question.prompt
        self._edit()
        return Thought(text=json.dumps(self._answer), model="m")

    async def check(self) -> Any:
        raise AssertionError("a tick does not ask")

    async def close(self) -> None:
        """Nothing to close."""


async def test_what_was_edited_during_the_model_call_stays(ports: Ports, pages: Pages) -> None:
    def edit() -> None:
        pages.write(f"{DAY}/a.md", pages.read(f"{DAY}/a.md").replace("# a", "# a\n\nwritten by hand"))
        (pages.root / DAY / "c.md").unlink()

    report = await tick(job(), vault_of(pages), replace(ports, reasoner=Edits(edit, ANSWER)))

    text = pages.read(f"{DAY}/a.md")
    assert "written by hand" in text
    assert "target=b" in text
    assert report["phases"]["apply"]["result"]["done"] == ["edges[0]", "signals[0]", "summaries[0]"]
    reasons = {each["item"]: each["reason"] for each in report["phases"]["apply"]["result"]["refused"]}
    assert reasons["merges[0]"] == "no arc has the id 'c'"


async def test_the_model_is_asked_without_the_lease(ports: Ports, pages: Pages, store: SqlStore) -> None:
    taken: list[bool] = []

    class Looks(Edits):
        async def reason(self, question: Question) -> Thought:
            async with vault_writer(store.leases, "w1", Folder(pages.root), wait_s=0):
                taken.append(True)
            return await super().reason(question)

    await tick(job(), vault_of(pages), replace(ports, reasoner=Looks(lambda: None, {})))

    assert taken == [True]


async def test_another_writer_is_waited_for_and_then_told(ports: Ports, pages: Pages, store: SqlStore) -> None:
    before = pages.tree()
    async with vault_writer(store.leases, "w1", Folder(pages.root)):
        with pytest.raises(VaultBusy):
            await tick(job(), vault_of(pages, wait_s=0), ports)

    assert pages.tree() == before


async def test_a_command_that_writes_to_the_folder_is_waited_for_too(ports: Ports, pages: Pages) -> None:
    before, command = pages.tree(), FolderLock(pages.folder)
    assert command.acquire()
    with pytest.raises(VaultBusy):
        await tick(job(), vault_of(pages, wait_s=0), ports)
    assert pages.tree() == before
    command.release()
    await tick(job(), vault_of(pages, wait_s=0), ports)

    assert pages.tree() != before


async def test_what_a_killed_writer_left_is_finished_first(ports: Ports, pages: Pages) -> None:
    folder = Folder(pages.root)

    class Killed(BaseException):
        pass

    def die(step: str) -> None:
        if step.endswith("two.md"):
            raise Killed

    new = [Change(f"{DAY}/{name}.md", None, page(name, created=NEW).encode()) for name in ("one", "two")]
    with pytest.raises(Killed):
        journal.apply(folder, new, at_step=die)

    report = await tick(job(), vault_of(pages), ports)

    assert report["phases"]["deterministic"]["stats"]["arcs_scanned"] == 5
    assert folder.digest(journal.JOURNAL) is None
    after = pages.tree()
    await tick(job(), vault_of(pages), ports)
    assert pages.tree() == after


async def test_signals_of_pages_are_raised_once_and_end_where_the_truth_says(
    ports: Ports, pages: Pages, store: SqlStore, clock: FakeClock
) -> None:
    for _ in range(2):
        await tick(job(), vault_of(pages), ports)
    (raised,) = await store.signals.signals(ALL, SignalFilter(), 10)
    assert (raised.source, raised.content, raised.count) == ("auth-broker", "bans rise", 1)

    await store.signals.change_signal(
        SignalChange(
            workspace_id="w1", step=Step.RESOLVED, viewer=ALL, actor="ada", signal_id=raised.id, note="key rotated"
        )
    )
    clock.advance(MICROSECONDS)
    await tick(job(), vault_of(pages), ports)

    assert "severity=resolved" in pages.read(f"{DAY}/a.md")
    assert "(CLEARED: key rotated)" in pages.read(f"{DAY}/a.md")
    assert pages.body("signals.md") == "No active signals."
    assert len(await store.signals.signals(ALL, SignalFilter(), 10)) == 1


async def test_a_signal_is_raised_whatever_its_page_colours_it_with(
    ports: Ports, pages: Pages, store: SqlStore
) -> None:
    said = signal("\x1b[31mdisk \x9bfull", source="nas", severity="critical")
    pages.write(f"{DAY}/p.md", page("p", said, created=NEW))

    await tick(job(), vault_of(pages), ports)

    found = await store.signals.signals(ALL, SignalFilter(), 10)
    assert "[31mdisk full" in {each.title for each in found}


async def test_defect_01_a_probe_is_declared_or_it_is_not_asked(ports: Ports, pages: Pages, tmp_path: Path) -> None:
    pages.write(f"{DAY}/p.md", page("p", signal("one", source="x", verify="flag"), created=NEW))
    pages.write(f"{DAY}/q.md", page("q", signal("two", source="y", verify=f"touch {tmp_path}/ran"), created=NEW))
    flag = tmp_path / "flag"
    declared = replace(ports, probes={"flag": flag.as_uri()})

    await tick(job(), vault_of(pages), declared)
    assert "one" in pages.body("signals.md")
    flag.touch()
    report = await tick(job(), vault_of(pages), declared)

    assert "one" not in pages.body("signals.md")
    assert "two" in pages.body("signals.md")
    assert not (tmp_path / "ran").exists()
    assert any("names no probe" in each["reason"] for each in report["problems"])


async def test_lessons_become_memories_once(ports: Ports, pages: Pages, store: SqlStore) -> None:
    first = await tick(job(), vault_of(pages), ports)
    again = await tick(job(), vault_of(pages), ports)

    assert first["phases"]["memories"]["stats"] == {"submitted": 1}
    assert again["phases"]["memories"]["stats"] == {}
    (row,) = await store.vault.vault_memories("w1")
    assert (await store.memories.rows([row.memory_id]))[row.memory_id].content == "Ask first."


async def test_new_transcripts_become_arcs_where_extraction_is_asked_for(
    ports: Ports, pages: Pages, clock: FakeClock, tmp_path: Path
) -> None:
    folder = tmp_path / "projects" / "shop"
    folder.mkdir(parents=True)
    lines = [
        {
            "timestamp": f"2027-01-15T07:{minute:02}:00Z",
            "cwd": "/srv/shop",
            "type": "user",
            "message": {"content": "please mend the broken basket of the shop"},
        }
        for minute in range(6)
    ]
    (folder / "s-1.jsonl").write_text("\n".join(map(json.dumps, lines)))
    os.utime(folder / "s-1.jsonl", (clock.now() / 1e6, clock.now() / 1e6))
    extracting = replace(ports, transcripts=folder.parent)

    without = await tick(job(), vault_of(pages), extracting)
    report = await tick(job(extract=True), vault_of(pages), extracting)
    again = await tick(job(extract=True), vault_of(pages), extracting)

    assert "extract" not in without["phases"]
    assert report["phases"]["extract"] == {**report["phases"]["extract"], "sessions": 1, "scanned": 1, "unreadable": 0}
    (made,) = (path for path in report["changes"]["paths"] if path.startswith("clusters/2027-01-15/2027-01-15-please"))
    assert "s-1" in pages.read(made)
    assert again["changes"]["written"] == 0
