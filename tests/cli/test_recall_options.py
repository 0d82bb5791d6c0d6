"""The options of `recall` as a person types them: each changes what is shown, as `docs/how-to/search.md` says."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, Self

import orjson
import pytest
import pytest_asyncio
import typer

from openbrain.domain.memory import DAY
from openbrain.domain.times import to_iso
from openbrain_cli import options
from openbrain_cli.operators.streams.replay import place
from openbrain_cli.options import given_moment, given_time
from tests.cli.test_memories_typed import Terminal
from tests.support.api.brain import Brain, http, remembered
from tests.support.api.served import served

pytestmark = pytest.mark.asyncio(loop_scope="module")

PORT = "The staging database listens on port 5433"
SAID = ("Where did you spend the holidays?", "In Lisbon, the trams were lovely.", "The printer is out of paper.")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def terminal(module_brain: Brain, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Terminal]:
    """A terminal on a brain with a few sessions and notes, one of which was edited a day later."""
    brain, secret = module_brain, await module_brain.key()
    file = Path(tmp_path_factory.mktemp("keys")) / "key"
    file.write_text(secret, encoding="ascii")
    file.chmod(0o600)
    async with http(brain.app(), secret) as ada:
        await remembered(ada, PORT, f"Note: {PORT}!", project="echoes")
        for turn, said in enumerate(SAID):
            await remembered(ada, said, session_id="trip", turn=turn, project="trip")
        for day in (3, 1, 2):
            await remembered(ada, f"Ferry {day} is late", project="ferries", occurred_at=f"2026-03-0{day}T00:00:00Z")
        await remembered(ada, "A bird of prey on every mast", title="Kestrel", project="birds")
        await remembered(ada, "Nobody asked for a nest", project="birds")
        await brain.settle()
    async with served(brain.app()) as url:
        yield Terminal(url, file)


async def asked(terminal: Terminal, *words: str) -> dict[str, Any]:
    out, err = await terminal.run("recall", *words, "--json")
    assert not err
    found: dict[str, Any] = orjson.loads(out)
    return found


def contents(answer: dict[str, Any]) -> list[str]:
    return [each["content"] for each in answer["memories"]]


async def test_a_time_is_a_day_a_moment_or_how_long_ago(terminal: Terminal) -> None:
    for written, fit in (("2026-03-02", 2), ("2026-03-02T12:00:00+02:00", 1), ("5m", 0), ("100000w", 3)):
        answer = await asked(terminal, "ferry", "--project", "ferries", "--since", written)
        assert len(answer["memories"]) == fit, written


@pytest.mark.parametrize("written", ["yesterday", "", "2026-13-01", "999999999w"])
async def test_what_is_no_time_is_told_with_the_forms_of_one(written: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"is no time: give a day .* or how long ago"):
        given_time(written)


async def test_echoes_are_folded_unless_all_are_wanted(terminal: Terminal) -> None:
    question = ("which port does the staging database listen on?", "--project", "echoes")
    folded, whole = await asked(terminal, *question), await asked(terminal, *question, "--no-fold")
    shown, _ = await terminal.run("recall", *question)

    assert (len(folded["memories"]), [len(each) for each in folded["folded"].values()]) == (1, [1])
    assert (len(whole["memories"]), whole["folded"]) == (2, {})
    assert "1 more near-equal" in shown


async def test_turns_around_a_hit_come_with_it(terminal: Terminal) -> None:
    question = ("where were the holidays spent?", "-k", "1", "--project", "trip")
    alone, around = await asked(terminal, *question), await asked(terminal, *question, "--around", "1")
    shown, _ = await terminal.run("recall", *question, "--around", "1")

    assert alone["around"] is None
    ((_, beside),) = around["around"].items()
    assert {each["content"] for each in beside} < set(SAID)
    assert all(each["content"] in shown for each in beside)


async def test_names_answer_alone(terminal: Terminal) -> None:
    answer = await asked(terminal, "what do we know of the kestrel?", "--names", "--project", "birds")

    assert contents(answer) == ["A bird of prey on every mast"]


async def test_the_order_of_time(terminal: Terminal) -> None:
    answer = await asked(terminal, "which ferry is late?", "--by-time", "--project", "ferries")

    assert contents(answer) == ["Ferry 1 is late", "Ferry 2 is late", "Ferry 3 is late"]


async def test_precision_says_what_an_answer_is_for(terminal: Terminal) -> None:
    question = ("which ferry is late?", "--project", "ferries")
    whatever = await asked(terminal, *question, "--precision", "recall")
    _, told = await terminal.run("recall", *question, "--min-similarity", "1")
    floored = orjson.loads((await terminal.run("recall", *question, "--min-similarity", "1", "--json"))[0])

    assert len(whatever["memories"]) == 3
    assert (floored["memories"], floored["nothing_close"]) == ([], True)
    assert "close enough" in told


async def test_what_was_remembered_at_a_time(terminal: Terminal, module_brain: Brain) -> None:
    before = module_brain.clock.now()
    module_brain.clock.advance(DAY)
    out, _ = await terminal.run("remember", "The quay is closed", "--type", "fact", "--project", "quays", "--json")
    await module_brain.settle()
    question = ("is the quay closed?", "--project", "quays")
    now, then = await asked(terminal, *question), await asked(terminal, *question, "--as-of", to_iso(before))

    assert [each["id"] for each in now["memories"]] == [orjson.loads(out)["id"]]
    assert then["memories"] == []


async def test_an_earlier_time_may_be_told_as_how_long_ago(
    terminal: Terminal, module_brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    class BrainTime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls.fromisoformat(to_iso(module_brain.clock.now())).astimezone(tz)

    monkeypatch.setattr(options, "datetime", BrainTime)
    question = ("which port does the staging database listen on?", "--project", "echoes", "--as-of")
    now, then = await asked(terminal, *question, "0s"), await asked(terminal, *question, "20d")

    assert (len(now["memories"]) > 0, then["memories"]) == (True, [])
    with pytest.raises(typer.BadParameter, match="how long ago"):
        given_moment("yesterday")


async def test_a_place_of_a_stream_is_an_id_a_time_or_how_long_ago() -> None:
    assert [place(written) for written in ("", "1795333556767-0", "2026-11-22T07:00Z")] == [
        "",
        "1795333556767-0",
        "2026-11-22T07:00Z",
    ]
    assert before_now(place("24h")) == before_now(given_moment("24h")) == 1


def before_now(written: str) -> int:
    return (datetime.now(UTC) - datetime.fromisoformat(written)).days
