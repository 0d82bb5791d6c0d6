"""signals and halt, as a person types them: the commands in this process, the API behind a real server."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, cast

import orjson
import pytest
from typer.testing import CliRunner, Result

from openbrain.client import OpenBrain
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Conflict, Invalid, NotFound, SetupError
from openbrain_cli.main import app
from openbrain_cli.signals.watch import ended_like_ctrl_c, show_matches
from openbrain_cli.system.shell import exit_codes
from tests.support.api.brain import Brain
from tests.support.api.served import served
from tests.support.cli.terminal import PROGRAM
from tests.support.waiting import PATIENCE_S, until

DISK = ("--source", "db-1", "--severity", "critical", "--content", "sda1 of db-1")


class Terminal:
    """Runs commands against one API with one key."""

    def __init__(self, url: str, key_file: Path) -> None:
        self._to = ("--url", url, "--key-file", str(key_file))

    async def spawned(self, *words: str, out: int | IO[bytes]) -> asyncio.subprocess.Process:
        """Start the installed command, with its standard output going there."""
        env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        return await asyncio.create_subprocess_exec(PROGRAM, *words, *self._to, stdout=out, env=env)

    async def run(self, *words: str) -> Result:
        """Run a command to its end."""
        return await asyncio.to_thread(lambda: CliRunner().invoke(app, [*words, *self._to]))


@pytest.fixture
async def key(brain: Brain) -> str:
    return await brain.key(permissions=frozenset(Permission))


@pytest.fixture
async def url(brain: Brain) -> AsyncIterator[str]:
    async with served(brain.app()) as found:
        yield found


@pytest.fixture
def terminal(url: str, key: str, tmp_path: Path) -> Terminal:
    file = tmp_path / "key"
    file.write_text(key, encoding="ascii")
    file.chmod(0o600)
    return Terminal(url, file)


async def test_an_alarm_from_its_raise_to_its_end(terminal: Terminal) -> None:
    made = await terminal.run("signals", "raise", "disk at 97 %", *DISK)
    found = made.stdout.split()[0]
    listed = await terminal.run("signals", "list")
    seen = await terminal.run("signals", "ack", found, "--note", "on it")
    ended = await terminal.run("signals", "resolve", found, "--note", "swapped")
    nothing = await terminal.run("signals", "list")
    every = await terminal.run("signals", "list", "--all", "--json")
    whole = await terminal.run("signals", "show", found)

    assert (made.exit_code, made.stdout.split()[1:]) == (0, ["created", "critical", "x1"])
    assert found in listed.stdout
    assert (seen.stdout, ended.stdout) == (f"{found}  acknowledged\n", f"{found}  resolved\n")
    assert (nothing.stdout, nothing.stderr) == ("", "no signal is open\n")
    assert [(each["id"], each["note"]) for each in orjson.loads(every.stdout)["signals"]] == [(found, "swapped")]
    assert [line["step"] for line in orjson.loads(whole.stdout)["history"]] == ["raised", "acknowledged", "resolved"]


async def test_the_content_may_stand_in_a_file_and_what_it_orders_a_terminal_is_not_obeyed(
    terminal: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "what.md"
    file.write_text("It began\n\nat nine.", encoding="utf-8")
    made = await terminal.run("signals", "raise", "disk", "--source", "db-1", "--file", str(file), "--json")
    refused = await terminal.run("signals", "raise", "disk \x1b[2J", *DISK)

    assert orjson.loads(made.stdout)["signal"]["content"] == "It began\n\nat nine."
    assert isinstance(refused.exception, Invalid)
    assert refused.exception.field == "title"


@pytest.mark.parametrize("words", [("signals", "raise", "disk", "--source", "db-1"), ("policy", "edit")])
async def test_a_file_that_can_not_be_read_is_named(terminal: Terminal, tmp_path: Path, words: tuple[str, ...]) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(b"text\xff")
    absent = await terminal.run(*words, "--file", str(tmp_path / "absent"))
    binary = await terminal.run(*words, "--file", str(packed))
    folder = await terminal.run(*words, "--file", str(tmp_path))

    assert isinstance(absent.exception, NotFound)
    assert str(tmp_path / "absent") in str(absent.exception)
    assert isinstance(binary.exception, Invalid)
    assert "byte 5" in str(binary.exception)
    assert isinstance(folder.exception, SetupError)


async def test_a_halt_is_seen_and_ended(terminal: Terminal) -> None:
    made = await terminal.run("halt", "raise", "wrong prices", "--content", "nobody deploys")
    halt = made.stdout.split()[0]
    stands = await terminal.run("halt", "status", halt)
    listed = await terminal.run("halt", "status", "--json")
    resumed = await terminal.run("halt", "resume", halt, "--note", "right again")
    nobody = await terminal.run("halt", "status")
    gone = await terminal.run("halt", "status", "01980000-0000-7000-8000-000000000000")

    assert made.stdout.split()[1:] == ["open", "workspace"]
    assert f"openbrain halt status {halt}" in made.stderr
    assert "0 stopped" in stands.stdout
    assert [each["id"] for each in orjson.loads(listed.stdout)["halts"]] == [halt]
    assert (resumed.stdout, nobody.stderr) == (f"{halt}  resumed\n", "nobody is halted\n")
    assert isinstance(gone.exception, NotFound)


async def test_a_cause_that_was_resumed_halts_nobody_and_says_so(terminal: Terminal) -> None:
    raised = ("signals", "raise", "wrong prices", "--source", "ci", "--severity", "nuclear")
    first = await terminal.run(*raised)
    halt = first.stderr.split()[-1]
    await terminal.run("halt", "resume", halt, "--keep-signal")
    again = await terminal.run(*raised)
    by_hand = await terminal.run("halt", "raise", "wrong prices", "--source", "ci")
    as_data = await terminal.run("halt", "raise", "wrong prices", "--source", "ci", "--json")
    await terminal.run("signals", "resolve", again.stdout.split()[0])
    open_again = await terminal.run("halt", "raise", "wrong prices", "--source", "ci")

    assert "the fleet is halted" in first.stderr
    assert "the fleet is halted" not in again.stderr
    assert isinstance(by_hand.exception, Conflict)
    assert f"openbrain signals resolve {again.stdout.split()[0]}" in str(by_hand.exception)
    assert isinstance(as_data.exception, Conflict)
    assert orjson.loads(as_data.stdout)["halt"]["state"] == "resumed"
    assert open_again.stdout.split()[1:] == ["open", "workspace"]


@pytest.mark.parametrize("option", ["--scope", "--org", "--project"])
async def test_an_unset_variable_does_not_halt_everyone(terminal: Terminal, option: str) -> None:
    """Without the scope it would be the whole workspace."""
    by_hand = await terminal.run("halt", "raise", "stop", option, "")
    raising = option.replace("scope", "halt-scope")
    raised = await terminal.run("signals", "raise", "stop", "--source", "ci", "--halt", raising, "")
    alarm = await terminal.run("signals", "raise", "slow", "--source", "ci", raising, "")
    nobody = await terminal.run("halt", "status")

    assert isinstance(by_hand.exception, Invalid)
    assert isinstance(raised.exception, Invalid)
    assert alarm.exit_code == 0
    assert nobody.stderr == "nobody is halted\n"


async def test_an_unset_variable_resumes_nothing(terminal: Terminal) -> None:
    await terminal.run("halt", "raise", "stop")
    resumed = await terminal.run("halt", "resume", "")
    halted = await terminal.run("halt", "status", "--json")

    assert isinstance(resumed.exception, Invalid)
    assert [each["state"] for each in orjson.loads(halted.stdout)["halts"]] == ["open"]


async def test_the_halt_that_stands_is_resumed_without_its_id_and_its_signal_ends(terminal: Terminal) -> None:
    nothing = await terminal.run("halt", "resume")
    await terminal.run("halt", "raise", "wrong", "prices", "everywhere")
    burning = await terminal.run("signals", "list", "--json")
    resumed = await terminal.run("halt", "resume", "--note", "mended")
    after = await terminal.run("signals", "list", "--all", "--json")

    assert (nothing.exit_code, nothing.stderr) == (0, "nobody is halted: there is nothing to resume\n")
    assert [each["title"] for each in orjson.loads(burning.stdout)["signals"]] == ["wrong prices everywhere"]
    assert resumed.stdout.endswith("  resumed\n")
    assert [each["state"] for each in orjson.loads(after.stdout)["signals"]] == ["resolved"]


async def test_a_halt_may_end_while_its_signal_burns_on_and_of_several_one_is_named(terminal: Terminal) -> None:
    first = (await terminal.run("halt", "raise", "one", "--source", "a")).stdout.split()[0]
    second = (await terminal.run("halt", "raise", "two", "--source", "b")).stdout.split()[0]
    unclear = await terminal.run("halt", "resume")
    await terminal.run("halt", "resume", first, "--keep-signal")
    left = await terminal.run("halt", "resume")
    burning = await terminal.run("signals", "list", "--json")

    assert isinstance(unclear.exception, Invalid)
    assert first in str(unclear.exception)
    assert second in str(unclear.exception)
    assert left.stdout == f"{second}  resumed\n"
    assert [each["title"] for each in orjson.loads(burning.stdout)["signals"]] == ["one"]


async def test_who_has_not_stopped_is_named(terminal: Terminal, brain: Brain, url: str) -> None:
    async with OpenBrain(url, await brain.key(agent="bob")) as bob, OpenBrain(url, await brain.key(agent="eve")) as eve:
        for each in (bob, eve):
            await each.amygdala(cursor=0)
        await brain.presence()
        halt = (await terminal.run("halt", "raise", "stop")).stdout.split()[0]
        await bob.acknowledge_halt(halt)
    stands = await terminal.run("halt", "status", halt)

    assert "1 stopped, 1 of 2 that listen have not\n  not yet: eve\n" in stands.stdout


async def test_what_comes_is_watched(terminal: Terminal) -> None:
    """First the present state, then each broadcast after the given number."""
    for severity in ("warning", "nuclear"):
        await terminal.run("signals", "raise", f"a {severity}", "--source", "s", "--severity", severity)
    lines = await terminal.run("signals", "watch", "--after", "0", "--seconds", "0", "--json")
    shown = await terminal.run("signals", "watch", "--after", "1", "--seconds", "0")

    state, *news = [orjson.loads(line) for line in lines.stdout.splitlines()]
    assert (state["seq"], state["halted"]) == (2, True)
    assert [(each["seq"], each["event"]["data"]["severity"]) for each in news] == [(1, "warning"), (2, "nuclear")]
    assert "at 2: 2 open, 1 halts" in shown.stderr
    assert "HALT open" in shown.stdout.splitlines()[-1]


async def test_who_reads_a_pipe_sees_each_line_at_once(terminal: Terminal) -> None:
    process = await terminal.spawned("signals", "watch", "--after", "0", out=asyncio.subprocess.PIPE)
    try:
        await terminal.run("signals", "raise", "the disk is full", "--source", "s")
        assert process.stdout
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)
    finally:
        process.terminate()
        await process.wait()

    assert b"the disk is full" in line


async def test_a_watch_that_is_terminated_leaves_no_subscription(terminal: Terminal, url: str, key: str) -> None:
    process = await terminal.spawned("watch", "disks", "--agent", "ada", out=asyncio.subprocess.PIPE)
    async with OpenBrain(url, key) as ada:

        async def watches() -> bool:
            return bool((await ada.subscriptions()).subscriptions)

        await until(watches)
        process.terminate()

        assert await asyncio.wait_for(process.wait(), PATIENCE_S) == exit_codes.INTERRUPTED
        assert not await watches()


async def test_a_watch_that_ends_while_its_subscription_is_made_removes_it() -> None:
    asked, answered, removed = asyncio.Event(), asyncio.Event(), list[str]()

    class SlowBrain:
        """A brain whose answer to the subscription comes after the end."""

        async def inbox(self, **_: Any) -> Any:
            return SimpleNamespace(last=0)

        async def subscriptions(self, **_: Any) -> Any:
            return SimpleNamespace(subscriptions=(), next_cursor=None)

        async def subscribe_query(self, *_: Any, **__: Any) -> Any:
            asked.set()
            await answered.wait()
            return SimpleNamespace(id="made")

        async def remove_subscription(self, subscription_id: str) -> None:
            removed.append(subscription_id)

    watching = asyncio.create_task(show_matches(cast("OpenBrain", SlowBrain()), "disks", {}, None, None, json=False))
    await asked.wait()
    watching.cancel()
    asyncio.get_running_loop().call_soon(answered.set)
    with pytest.raises(asyncio.CancelledError):
        await watching

    assert removed == ["made"]


@pytest.mark.parametrize("interrupts", [signal.SIG_IGN, signal.default_int_handler], ids=["ignored", "heard"])
def test_a_termination_ends_what_waits_though_interrupts_may_be_ignored(interrupts: Any) -> None:
    tidied = []

    async def waiting() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(PATIENCE_S)
        finally:
            await asyncio.sleep(0)
            tidied.append(True)

    before = signal.signal(signal.SIGINT, interrupts)
    try:
        with pytest.raises(KeyboardInterrupt), ended_like_ctrl_c():
            asyncio.run(waiting())
    finally:
        signal.signal(signal.SIGINT, before)

    assert tidied == [True]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
async def test_what_could_not_be_shown_is_not_marked_as_read(terminal: Terminal) -> None:
    await terminal.run("messages", "send", "ada", "look", "at", "db-1")
    for options in ((), ("--json",)):
        with Path("/dev/full").open("wb") as full:
            failed = await terminal.spawned("messages", "inbox", "--mark", *options, out=full)
            assert await failed.wait() == exit_codes.SETUP
    waiting = await terminal.run("messages", "inbox")

    assert "look at db-1" in waiting.stdout


async def test_a_message_is_left_read_and_found_again(terminal: Terminal) -> None:
    sent = await terminal.run("messages", "send", "ada", "look", "at", "db-1", "--subject", "disk")
    waiting = await terminal.run("messages", "inbox", "--mark")
    read = await terminal.run("messages", "inbox")
    talk = await terminal.run("messages", "with", "ada", "--json")

    assert "ada -> ada  #1" in sent.stdout, sent.stderr
    assert "disk: look at" in waiting.stdout
    assert "no messages" in read.stderr
    assert orjson.loads(talk.stdout)["messages"][0]["read"]
