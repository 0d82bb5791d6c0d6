"""Measures the share of fifty facts that the model sees when asked for them, 180 turns and several compactions later.

`python -m tests.openclaw.facts`: the context engine and the host's own, each in a separate session with the same texts.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from tests.openclaw.harness.gateway import Gateway
from tests.openclaw.harness.plugin import built_plugin
from tests.openclaw.harness.talker import Talker
from tests.support.api.served import served

PLACES = ("north", "harbour", "mill", "quarry", "orchard", "ferry", "tower", "bakery", "tannery", "station")
FORMS = (
    ("The gate of the {place} depot opens with {code}.", "Which number lets me into the {place} depot?"),
    ("We pay {code} cents for a crate from the {place}.", "How much does a crate from the {place} cost us?"),
    ("The {place} pump was last serviced under order {code}.", "Who looked after the {place} pump last: which order?"),
    ("Backups of the {place} lie on shelf {code}.", "Where are the backups of the {place} kept?"),
    ("The {place} line is closed at metre {code} for repairs.", "How far does the {place} line go at the moment?"),
)
BETWEEN = 180
COMMANDS = (60, 120)
"""Turns before which a compaction is requested by command."""
EVERY_DAY = "On day {day} it rained at noon, {count} carts came by, and the stove of room {room} was swept. "


@dataclass(frozen=True)
class Fact:
    code: str
    said: str
    question: str


def facts() -> Sequence[Fact]:
    return [
        Fact(
            str(71_003 + 97 * number),
            form[0].format(place=place, code=71_003 + 97 * number),
            form[1].format(place=place),
        )
        for number, (place, form) in enumerate(product(PLACES, FORMS))
    ]


def _words(number: int) -> str:
    return "".join(EVERY_DAY.format(day=number * 9 + day, count=(number * day) % 40, room=day) for day in range(1, 9))


def turns(said: Sequence[Fact]) -> Iterator[str]:
    yield _words(1)
    yield _words(2)
    for number, fact in enumerate(said, 3):
        yield f"{fact.said} {_words(number)}"


@dataclass(frozen=True)
class Result:
    found: int
    asked: int
    compacted: Sequence[str]
    """What the host printed for each compaction by command."""
    summaries: int
    """Number of summaries requested from the model."""


async def measured(host: Gateway, model: Talker, count: int) -> Result:
    number, asked_for = 0, facts()[:count]
    for number, text in enumerate(turns(asked_for), 1):
        await host.says(f"[t1 #{number}] {text}")
    compacted = []
    for between in range(BETWEEN):
        if between in COMMANDS:
            compacted.append((await host.compact()).splitlines()[-1])
        number += 1
        await host.says(f"[t1 #{number}] {_words(100 + between)}")
    summaries = len(model.summaries)
    found = 0
    for later, fact in enumerate(asked_for, number + 1):
        await host.says(f"[t1 #{later}] {fact.question}")
        asked = [each for each in model.of("t1") if each.turn == later][-1]
        found += fact.code in asked.text
    return Result(found, count, compacted, summaries)


@asynccontextmanager
async def _host(home: Path, plugin: Path | None) -> AsyncIterator[tuple[Gateway, Talker]]:
    # These modules read the environment at import, after `main` has set it.
    from tests.openclaw.harness.brains import embedded_brain, thoughts

    model = Talker()
    async with AsyncExitStack() as stack:
        model_url = await stack.enter_async_context(served(model.app()))
        host = Gateway(home / "home", model_url, plugin)
        url = key = ""
        if plugin is not None:
            brain = await stack.enter_async_context(embedded_brain(home / "brain"))
            url, key = brain.url, brain.key
        host.configure(url, key)
        try:
            await host.start()
            yield host, model
            if plugin is not None:
                kept = await thoughts(brain, "agent:main:t1", "summary")
                depths = Counter(row["metadata"]["depth"] for row in kept)
                sys.stdout.write(f"summaries kept in the end, by depth: {dict(sorted(depths.items()))}\n")
        finally:
            await host.ended()


async def compared(only: str, count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("openbrain", "host"):
            if only not in ("", name):
                continue
            home = Path(folder) / name
            home.mkdir()
            plugin = await built_plugin(home) if name == "openbrain" else None
            async with _host(home, plugin) as (host, model):
                result = await measured(host, model, count)
            share = result.found / result.asked
            sys.stdout.write(
                f"{name}: {result.found} of {result.asked} found ({share:.2f}), "
                f"by command {list(result.compacted)}, {result.summaries} summaries asked of the model before, "
                f"{model.refused} requests too long\n"
            )
            sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("openbrain", "host"), default="")
    parser.add_argument("--facts", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as kept:
        for name in ("KF_RULE_CACHE_DIR", "OPENBRAIN_TEST_KEPT"):
            os.environ.setdefault(name, kept)
        asyncio.run(compared(options.only, options.facts))


if __name__ == "__main__":
    main()
