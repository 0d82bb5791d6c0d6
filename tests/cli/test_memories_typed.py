"""recall, search, list and similar commands, as a person types them: the commands run here, the API behind a real
server."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from openbrain.domain.access.visibility import Criteria
from openbrain.domain.errors import Invalid, NotFound
from openbrain.ports.lifecycle import PolicyDocument
from openbrain.ports.store.transfer import Link
from openbrain_cli.main import app
from tests.support.api.brain import Brain
from tests.support.api.served import served

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-([0-9a-f]{12})")


class Terminal:
    """Runs commands against one API with one key."""

    def __init__(self, url: str, key_file: Path) -> None:
        self._to = ("--url", url, "--key-file", str(key_file))

    async def run(self, *words: str, columns: int = 120) -> tuple[str, str]:
        """Run a command to its end; return what it printed on both streams."""
        env = {"COLUMNS": str(columns)}
        done = await asyncio.to_thread(lambda: CliRunner().invoke(app, [*words, *self._to], env=env))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.stdout, done.stderr


@pytest.fixture
async def terminal(brain: Brain, tmp_path: Path) -> AsyncIterator[Terminal]:
    file = tmp_path / "key"
    file.write_text(await brain.key(), encoding="ascii")
    file.chmod(0o600)
    async with served(brain.app()) as url:
        yield Terminal(url, file)


async def test_words_need_no_quotes(terminal: Terminal, brain: Brain) -> None:
    out, _ = await terminal.run("remember", "The", "gate", "opens", "at", "dawn.", "--type", "fact", "--json")
    await brain.settle()
    recalled, _ = await terminal.run("recall", "when", "does", "the", "gate", "open", "-k", "1", "--json")
    searched, _ = await terminal.run("search", "gate", "dawn", "--json")

    assert "The gate opens at dawn." in (await terminal.run("show", orjson.loads(out)["id"]))[0]
    assert [each["content"] for each in orjson.loads(recalled)["memories"]] == ["The gate opens at dawn."]
    assert orjson.loads(searched)["total"] == 1


async def test_the_advice_is_what_was_not_asked_yet(terminal: Terminal) -> None:
    _, exact = await terminal.run("search", "gate")
    _, fuzzy = await terminal.run("search", "gate", "--fuzzy")

    assert exact.endswith("nothing found: try --fuzzy, or ask for the meaning: openbrain recall\n")
    assert fuzzy.endswith("nothing found: ask for the meaning: openbrain recall\n")


async def test_lists_take_the_same_letter_as_recall_and_rows_are_in_the_order_of_their_numbers(
    terminal: Terminal, brain: Brain
) -> None:
    for number in range(3):
        await terminal.run("remember", f"Lantern {number} hangs at the quay.", "--type", "fact")
    await brain.settle()
    listed, _ = await terminal.run("list", "-k", "2", "--json")
    found, _ = await terminal.run("search", "lantern", "-k", "2", "--json")
    shown, _ = await terminal.run("recall", "lantern")
    best, _ = await terminal.run("recall", "lantern", "--json")

    assert (orjson.loads(listed)["count"], orjson.loads(found)["count"]) == (2, 2)
    rows = re.findall(r"^ ?(\d+) +\d\.\d\d ", shown, re.MULTILINE)
    assert rows == ["1", "2", "3"]
    ids = [match.group() for match in ID.finditer(shown)]
    assert ids == [each["id"] for each in orjson.loads(best)["memories"]]


async def test_a_narrow_terminal_shows_the_end_of_an_id_which_commands_take(terminal: Terminal) -> None:
    out, _ = await terminal.run("remember", "A lantern hangs at the quay.", "--type", "fact", "--json")
    whole = orjson.loads(out)["id"]
    end = whole[-12:]
    wide, narrow = [(await terminal.run("list", columns=columns))[0] for columns in (100, 60)]

    assert whole in wide
    assert whole not in narrow
    assert f"…{end}" in narrow
    for typed in (end, f"…{end}"):
        assert "A lantern hangs" in (await terminal.run("show", typed))[0]
    assert "would be erased" in (await terminal.run("erase", f"…{end}", "--dry-run"))[0]
    assert (await terminal.run("forget", end))[0] == f"{whole}  forgotten\n"
    for command in ("show", "restore", "erase"):
        with pytest.raises(NotFound, match="give the full id"):
            await terminal.run(command, end)


async def test_what_is_about_one_person_is_exported_and_erased_after_a_preview(
    terminal: Terminal, tmp_path: Path
) -> None:
    kept, _ = await terminal.run("remember", "The quay is closed.", "--type", "fact", "--json")
    gone, _ = await terminal.run("remember", "Ask Anna Muster about the quay.", "--type", "fact", "--json")
    kept_id, gone_id = orjson.loads(kept)["id"], orjson.loads(gone)["id"]
    subject = ("--matching", "anna muster")

    looked, _ = await terminal.run("export", *subject, "--dry-run")
    written, _ = await terminal.run("export", str(tmp_path / "anna.ndjson"), *subject)
    would, _ = await terminal.run("erase", *subject, "--dry-run")

    assert looked == f"1 would be exported\n  {gone_id}\n"
    assert written.endswith("anna.ndjson: 1 memories, 0 lines of history\n")
    assert gone_id in (tmp_path / "anna.ndjson").read_text(encoding="utf-8")
    assert kept_id not in (tmp_path / "anna.ndjson").read_text(encoding="utf-8")
    assert would == f"1 would be erased\n  {gone_id}\n"
    for refused in (("erase",), ("erase", gone_id, *subject)):
        with pytest.raises(Invalid, match="give the ID of a memory, or --agent, --speaker, --matching"):
            await terminal.run(*refused)


@pytest.mark.parametrize(
    "typed",
    [
        ("forget", "--all-matching", "--type", "bug", "--project", ""),
        ("forget", "--all-matching", "--type", "bug", "--org", ""),
        ("forget", "--all-matching", "--type", "bug", "--session", "", "--erase"),
        ("erase", "--speaker", "Anna", "--matching", ""),
        ("prune", "--type", "bug", "--project", ""),
        ("prune", "--type", "bug", "--older-than", ""),
        ("clean", "--strip-pii", "--project", ""),
        ("refile", "--type", "bug", "--project", "", "--to-project", "b"),
        ("prune", "--type", "bug", "--unrecalled-for", ""),
        ("dead", "discard", "--group", "embedder", "--stream", ""),
        ("reindex", "--workspace", ""),
        ("reindex", "--stale", "--project", ""),
        ("replay", "memory.submitted", "--from", ""),
        ("replay", "memory.submitted", "--group", ""),
        ("keys", "create", "ci", "--agent", ""),
    ],
)
async def test_an_option_without_a_value_selects_no_more_than_was_meant(
    typed: tuple[str, ...], terminal: Terminal
) -> None:
    """As of an unset variable in a script."""
    option = typed[typed.index("") - 1]
    yes = () if typed[0] in {"refile", "reindex", "replay", "keys"} else ("--yes",)

    with pytest.raises(Invalid, match=f"{option}: (has no value|must be a number of days)"):
        await terminal.run(*typed, *yes)


async def test_an_export_of_no_subject_is_no_export_of_everything(terminal: Terminal, tmp_path: Path) -> None:
    for option in ("--matching", "--project"):
        with pytest.raises(Invalid, match=f"{option}: has no value"):
            await terminal.run("export", str(tmp_path / "anna.ndjson"), option, "")
    assert not [*tmp_path.glob("anna*")]


async def test_what_stays_after_an_erasure_is_named_before_it(terminal: Terminal, brain: Brain) -> None:
    """By a legal hold, or because a memory was merged into another one."""
    ids = []
    for text in ("Anna held.", "Anna says.", "Both say."):
        told, _ = await terminal.run("remember", text, "--type", "fact", "--tag", text.split()[-1], "--json")
        ids.append(orjson.loads(told)["id"])
    held, source, into = ids
    holds = (Criteria(tags=("held.",)),)
    await brain.store.policies.set_document(PolicyDocument(workspace_id="w1", given={}, holds=holds))
    await brain.store.transfer.load("w1", [Link(child_id=into, parent_id=source, kind="merged", created_at=1)])

    exported, _ = await terminal.run("export", "--matching", "anna", "--dry-run")
    would, _ = await terminal.run("erase", "--matching", "anna", "--dry-run")
    one, _ = await terminal.run("erase", source, "--dry-run")
    erased, said = await terminal.run("erase", source, "--yes")
    nothing, _ = await terminal.run("erase", "--matching", "anna", "--yes")

    assert exported.startswith("2 would be exported\n")
    merged = f"1 more, which some of them were merged into, may hold their words; --merged erases them:\n  {into}\n"
    assert would == f"1 would be erased\n1 more match, but stay: a legal hold covers them\n  {source}\n{merged}"
    assert one.endswith(f"these replaced it and may hold its words: {into}\n")
    assert erased == f"{source}  erased\n"
    assert f"it was merged into these, which may hold its words; erase them too if these must go: {into}\n" in said
    assert nothing == "0 erased: a legal hold covers all 1 that match\n"
    assert held not in would
