"""Output of commands without --json, as people see it."""

import asyncio
import resource
from pathlib import Path

import orjson
import pytest
import typer
from typer.testing import CliRunner, Result

from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Invalid
from openbrain.domain.memory import DAY
from openbrain.ports.store.webhooks import WebhookDeadLetter
from openbrain.settings.tuning import WebhookTuning
from openbrain.settings.webhooks import Webhooks
from openbrain_cli.main import app
from tests.api.signals.test_subscriptions import delivered
from tests.cli.test_lifecycle import housekeeper
from tests.support.api.brain import Brain, client_of, http, remembered
from tests.support.cli.typed_json import Terminal, served_terminal, terminal
from tests.support.waiting import until

__all__ = ["terminal"]


@pytest.fixture
async def key(brain: Brain) -> str:
    return await brain.key(permissions=frozenset(Permission))


async def test_a_job_shows_its_counts_and_reasons_and_how_it_is_undone(
    brain: Brain, terminal: Terminal, key: str
) -> None:
    prune = ("prune", "--min-confidence", "0.3")
    async with http(brain.app(), key) as client:
        (unsure,) = await remembered(client, "unsure", confidence=0.2)
        brain.clock.advance(10 * DAY)
        none = await terminal.typed(key, "operations", "list")
        async with housekeeper(brain):
            looked = await terminal.typed(key, *prune)
            done = await terminal.typed(key, *prune, "--yes")
            nothing = await terminal.typed(key, *prune, "--yes")
            idle = await terminal.typed(key, *prune)
        begun = await terminal.typed(key, *prune, "--yes", "--detach")
        waiting = begun.stdout.split()[0]
        listed = await terminal.typed(key, "operations", "list", "--status", "queued")
        shown = await terminal.typed(key, "operations", "show", waiting)
        ended = await terminal.typed(key, "operations", "cancel", waiting)
        newest = await terminal.typed(key, "operations", "list", "--limit", "1")
        next_page = newest.stderr.rpartition(" ")[2].strip()
        rest = await terminal.typed(key, "operations", "list", "--cursor", next_page)

    assert "there are no operations here" in none.stderr
    assert "1 would be archived, of 1 looked at" in looked.stdout
    assert unsure in looked.stdout
    assert "nothing was changed: add --yes to do it" in looked.stderr
    assert done.stdout.startswith("1 archived, of 1 looked at")
    assert "openbrain undo" in done.stderr
    assert nothing.stdout == "nothing changed, of 0 looked at\n"
    assert (idle.stdout, "--yes" in idle.stderr) == ("nothing would be changed, of 0 looked at\n", False)
    assert begun.stdout == f"{waiting}  queued\n"
    assert "queued" in listed.stdout
    assert (waiting in listed.stdout, waiting in shown.stdout) == (True, True), (
        "in one piece on 80 columns, to be copied"
    )
    assert '"min_confidence":0.3' in shown.stdout.replace(" ", "")
    assert ended.stdout == f"{waiting}  cancelled\n"
    assert newest.stderr.startswith("there are more: --cursor ")
    assert (newest.stdout.count("prune"), rest.stdout.count("prune"), rest.stderr) == (1, 4, "")


async def test_a_brief_is_shown_in_parts(brain: Brain, terminal: Terminal, key: str) -> None:
    async with http(brain.app(), key) as client:
        for number in range(3):
            await remembered(client, f"We take door {number}.", type="decision", project="shop")
    shown = await terminal.typed(key, "brief", "--limit", "2")

    assert shown.stdout.startswith("since ")
    assert shown.stdout.count("We take door") == 2
    assert ": nothing\n" in shown.stdout
    assert "raise --limit" in shown.stderr


async def test_workspaces_are_shown_with_what_they_hold(brain: Brain, terminal: Terminal) -> None:
    key = await brain.key("system", permissions=frozenset({Permission.ADMIN}))
    made = await terminal.typed(key, "workspaces", "create", "acme", "--max-memories", "9")
    changed = await terminal.typed(key, "workspaces", "change", "acme", "--personal-data", "mask")
    free = await terminal.typed(key, "workspaces", "change", "acme", "--no-quota")
    listed = await terminal.typed(key, "workspaces", "list")
    looked = await terminal.typed(key, "workspaces", "delete", "acme", "--dry-run")

    assert "next: openbrain keys create NAME --workspace acme" in made.stdout
    assert changed.stdout == "acme  0 of 9 memories, personal data: mask\n"
    assert free.stdout == "acme  has no quota, personal data: mask\n"
    assert "acme" in listed.stdout
    assert "acme holds nothing" in looked.stdout


@pytest.mark.parametrize("where", ["memories.forget", "operators.workspaces"])
async def test_with_json_what_a_question_is_about_is_not_on_stdout(
    where: str, brain: Brain, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await brain.key("system", permissions=frozenset(Permission))
    await terminal.run(key, "workspaces", "create", "acme")
    await terminal.run(key, "remember", "The gate is locked.", "--type", "fact", "--agent", "ada")

    def refuse(_question: str) -> None:
        raise typer.Abort

    monkeypatch.setattr(f"openbrain_cli.{where}.confirmed", refuse)
    asked, preview = {
        "memories.forget": (("forget", "--all-matching", "--type", "fact"), "1 would be forgotten"),
        "operators.workspaces": (("workspaces", "delete", "acme"), "acme holds nothing"),
    }[where]
    code, printed, told = await terminal.run(key, *asked)

    assert (code, printed) == (1, {})
    assert preview in told


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        (("workspaces", "create", "A B"), "have only letters, digits, - and _"),
        (("streams", "--stream", "nosuch"), "must be the name of a stream, such as memory.stored"),
    ],
)
async def test_a_name_that_can_not_be_is_refused_in_words(
    typed: tuple[str, ...], why: str, brain: Brain, terminal: Terminal
) -> None:
    key = await brain.key("system", permissions=frozenset({Permission.ADMIN}))
    with pytest.raises(Invalid, match=why):
        await terminal.typed(key, *typed)


async def test_with_json_nothing_to_forget_is_json_too(terminal: Terminal, key: str) -> None:
    code, printed, _ = await terminal.run(key, "forget", "--all-matching", "--type", "fact")

    assert (code, printed["count"]) == (0, 0)


async def test_policies_and_retention_are_shown(brain: Brain, terminal: Terminal, key: str, tmp_path: Path) -> None:
    file, editor = tmp_path / "policy.json", tmp_path / "editor"
    file.write_text('{"legal_hold": [{"project": "trial"}]}')
    editor.write_text("#!/bin/sh\n")
    editor.chmod(0o700)
    nothing = await terminal.typed(key, "policy", "show")
    edited = await terminal.typed(key, "policy", "edit", "--file", str(file))
    same = await terminal.typed(key, "policy", "edit", VISUAL=str(editor))
    shown = await terminal.typed(key, "policy", "show")
    kept = await terminal.typed(key, "retention")

    assert "no job is scheduled here" in nothing.stderr
    assert edited.stdout == "0 policies, 1 legal holds\n"
    assert "nothing was changed" in same.stderr
    assert orjson.loads(shown.stdout)["legal_hold"] == [{"project": "trial"}]
    assert "by ada, " in shown.stderr
    assert "forgotten" in kept.stdout
    assert "a legal hold is active" in kept.stderr


async def test_a_webhook_is_shown_from_its_making_to_its_end(brain: Brain, tmp_path: Path) -> None:
    chosen = Webhooks(enabled=True, hosts=("hooks.example.org",), tuning=WebhookTuning(most=3))
    brain.settings = brain.settings.model_copy(update={"webhooks": chosen})
    async with served_terminal(brain, tmp_path) as terminal:
        key = await brain.key(permissions=frozenset(Permission))
        none = await terminal.typed(key, "webhooks", "list")
        made = await terminal.typed(key, "webhooks", "add", "https://hooks.example.org/in")
        found, secret = made.stdout.split()
        letter = WebhookDeadLetter(
            webhook_id=found, workspace_id="w1", seq=1, body=b"{}", attempts=5, error="503", at=5
        )
        await brain.store.webhooks.webhook_given_up(letter)
        listed = await terminal.typed(key, "webhooks", "list")
        off = await terminal.typed(key, "webhooks", "disable", found)
        on = await terminal.typed(key, "webhooks", "enable", found)
        dead = await terminal.typed(key, "webhooks", "dead", found)
        would = await terminal.typed(key, "webhooks", "replay", found, "--dry-run")
        again = await terminal.typed(key, "webhooks", "replay", found, "1")
        looked = await terminal.typed(key, "webhooks", "remove", found, "--dry-run")
        gone = await terminal.typed(key, "webhooks", "remove", found)

    assert "there are no webhooks here" in none.stderr
    assert secret.startswith("whsec_")
    assert "it is shown only now" in made.stderr
    assert found in listed.stdout
    assert secret not in listed.stdout
    assert (off.stdout, on.stdout) == (f"{found}  off\n", f"{found}  on\n")
    assert [item["seq"] for item in orjson.loads(dead.stdout)["dead_letters"]] == [1]
    assert would.stdout == "1 would be posted again\n"
    assert again.stdout == "1 are posted again\n"
    assert looked.stdout.startswith(f"{found}  would be removed")
    assert gone.stdout.startswith(f"{found}  removed")


async def test_new_memories_are_shown_as_they_come(brain: Brain, terminal: Terminal, key: str) -> None:
    """A subscription is created for that and removed; an existing one with the same query is used, and stays."""
    seen = []
    async with client_of(brain.app(), key) as ada:

        async def made() -> bool:
            return bool((await ada.subscriptions()).subscriptions)

        for options in ((), ("--json",)):
            watching = asyncio.create_task(terminal.typed(key, "watch", "--tag", "a", "--seconds", "2", *options))
            await until(made)
            own = (await ada.subscriptions()).subscriptions[0].id
            memory = await ada.remember({"content": f"The quay is closed. {options}", "type": "fact"})
            await delivered(brain, ada, own, memory.id)
            seen.append((own, memory.id, await watching))
            assert not await made()
        stands = await ada.subscribe_query("quays", include_own=True)
        same = await terminal.typed(key, "watch", "quays", "--seconds", "0")
        left = [each.id for each in (await ada.subscriptions()).subscriptions]

    (own, first, shown), (_, second, lines) = seen
    assert f"watching by subscription {own}" in shown.stderr
    assert "The quay is closed." in shown.stdout
    assert shown.stdout.rstrip().endswith(first)
    assert [orjson.loads(line)["match"]["memory_id"] for line in lines.stdout.splitlines()] == [second]
    assert f"watching by subscription {stands.id}" in same.stderr
    assert left == [stands.id]


def test_the_users_of_a_stream_server_are_shown_and_written(tmp_path: Path) -> None:
    def acl(*words: str) -> Result:
        return CliRunner().invoke(app, ["acl", "--workspace", "team-a", *words])

    file = tmp_path / "redis" / "passwords"
    shown, fields = acl(), acl("--json")
    written = acl("--write", str(file.parent))
    before = file.read_text().splitlines()
    acl("--write", str(file.parent), "--workspace", "team-b")
    after = file.read_text().splitlines()
    file.write_text("only-a-user\n")
    broken, misplaced = acl("--write", str(file.parent)), acl("--write", str(file))

    names = [line.split()[1] for line in shown.stdout.splitlines()]
    assert names == [user["user"] for user in orjson.loads(fields.stdout)]
    assert f"has {len(names)} users" in written.stderr
    assert set(before) < set(after), "existing passwords are kept"
    assert acl("--reference").stdout.startswith("# ")
    assert "each line is a user and a password" in str(broken.exception)
    assert "can't be used" in str(misplaced.exception)


def test_users_of_a_workspace_stay_until_its_passwords_are_removed(tmp_path: Path) -> None:
    """Else its producers, and the services' rights on its streams, would end with the next `ACL LOAD`."""

    def users(*words: str) -> set[str]:
        CliRunner().invoke(app, ["acl", "--write", str(tmp_path), *words])
        lines = (tmp_path / "users.acl").read_text().splitlines()
        return {line.split()[1].partition("-")[2] for line in lines if " producer-" in line}

    file = tmp_path / "passwords"
    first, second, third = users("--workspace", "team-a"), users("--workspace", "team-b"), users()
    file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if "team-a" not in line))

    assert (first, second, third) == ({"team-a"}, {"team-a", "team-b"}, {"team-a", "team-b"})
    assert users() == {"team-b"}
    assert "~memory.submitted.team-a" not in (tmp_path / "users.acl").read_text()


def test_passwords_in_use_outlive_a_disk_without_room(tmp_path: Path) -> None:
    def acl(workspace: str) -> Result:
        return CliRunner().invoke(app, ["acl", "--workspace", workspace, "--write", str(tmp_path)])

    acl("team-a")
    before = (tmp_path / "passwords").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        refused = acl("team-b")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert "passwords can't be written: File too large" in str(refused.exception)
    assert (tmp_path / "passwords").read_bytes() == before


def test_an_age_before_the_first_year_is_refused() -> None:
    done = CliRunner().invoke(app, ["dead", "list", "--older-than", "999999d"])

    assert (done.exit_code, "write it as 30s, 15m, 2h or 7d" in done.stderr) == (2, True)
