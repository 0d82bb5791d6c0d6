"""sessions, context and feedback, as a person types them."""

import asyncio
from pathlib import Path

import orjson
from typer.testing import CliRunner, Result

from openbrain_cli.main import app
from tests.support.api.brain import Brain, http, remembered
from tests.support.api.served import served


async def test_a_session_hands_over_and_a_recall_is_judged(brain: Brain, tmp_path: Path) -> None:
    key, api = await brain.key(agent="ada"), brain.app()
    (tmp_path / "key").write_text(key)
    (tmp_path / "key").chmod(0o600)
    async with http(api, key) as client, served(api) as url:

        async def run(*words: str) -> Result:
            to = ("--url", url, "--key-file", str(tmp_path / "key"))
            return await asyncio.to_thread(lambda: CliRunner().invoke(app, [*words, *to]))

        (memory,) = await remembered(client, "Deploys are on Tuesdays.\u202e", project="shop")
        await brain.settle()
        began = await run("sessions", "start", "--id", "s1", "--project", "shop", "--policy", "stay")
        ended = await run("sessions", "end", "s1", "--summary", "Carts are tested\u202e", "--next", "test prices")
        after = await run("sessions", "start", "--project", "shop")
        listed, shown = await run("sessions", "list", "--json"), await run("sessions", "list")
        told = await run("context", "ada", "--project", "shop", "--budget", "1000")
        others = await run("context", "bo")
        found = orjson.loads((await run("recall", "when do we deploy?", "--json")).stdout)
        judged = await run("feedback", found["recall_id"], "--used", memory, "--json")
        again = await run("feedback", found["recall_id"], "--used", memory)
        none = await run("feedback", found["recall_id"])

    assert (began.stdout, began.stderr) == ("s1\n", "started\n")
    assert ended.stderr.startswith("ended; hand-over ")
    assert "Carts are tested" in after.stdout
    assert {each["policy"] for each in orjson.loads(listed.stdout)["sessions"]} == {"expire", "stay"}
    assert all(each["id"] in shown.stdout for each in orjson.loads(listed.stdout)["sessions"]), (
        "in one piece, to be typed"
    )
    assert "shop · ada" in shown.stdout
    assert "Deploys are on Tuesdays." in told.stdout
    assert "\u202e" not in after.stdout + told.stdout, "it would reverse the text direction of the line"
    assert "test prices" in told.stdout
    assert (others.exit_code, others.stdout) != (0, told.stdout)
    assert [(each["memory_id"], each["verdict"]) for each in orjson.loads(judged.stdout)["results"]] == [
        (memory, "used")
    ]
    assert "repeated" in again.stdout
    assert none.exit_code != 0
