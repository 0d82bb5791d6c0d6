"""`openbrain up` on a disk that fills up: it survives, reports it, and continues when there is room."""

import asyncio
import contextlib
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from openbrain.adapters.local.disk_space import DiskSpace
from openbrain.domain.errors import TryLater
from openbrain.settings import Settings
from openbrain_cli.system.embedded.disk_space import until_room
from openbrain_cli.system.up import _http
from tests.servers.places import free_port
from tests.support.cli.terminal import Terminal, starting, up, wait_until
from tests.support.forms import long_form
from tests.support.processes.small_disk import fill, small_disk

MB = 1024 * 1024


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 300) as mounted:
        yield mounted


def log_of(terminal: Terminal) -> str:
    return (terminal.home / "up.log").read_text()


def leave(disk: Path, kilobytes: int) -> Path:
    """Write a file that leaves this much of the disk free."""
    with (disk / "filler").open("wb") as filler:
        os.posix_fallocate(filler.fileno(), 0, shutil.disk_usage(disk).free - kilobytes * 1024)
    return disk / "filler"


def post(terminal: Terminal, path: str, **body: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {(terminal.data / 'key').read_text().strip()}"}
    url = (terminal.data / "url").read_text().strip()
    return httpx.post(f"{url}{path}", json=body, headers=headers, timeout=30)


def remember(terminal: Terminal) -> int:
    return post(terminal, "/v1/brain/remember", content="There was no room.", type="fact").status_code


def recalled(terminal: Terminal) -> bool:
    """True if a recall finds it, with both indexes."""
    found = post(terminal, "/v1/brain/recall", query="was there room?").json()
    return bool(found["count"] and not found["degraded"])


@pytest.mark.slow("one start of everything on a disk of its own that is full, and is emptied")
def test_the_first_start_on_a_full_disk_says_so_and_goes_on_when_there_is_room(disk: Path, tmp_path: Path) -> None:
    terminal, port = Terminal(tmp_path, disk / "data"), free_port()
    filler = disk / "filler"
    fill(filler)
    with starting(terminal, port, copied=False) as process:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as http:

            def answers() -> bool:
                assert process.poll() is None, log_of(terminal)
                with contextlib.suppress(httpx.HTTPError):
                    return http.get("/live").status_code == 200
                return False

            wait_until(answers)
            for path in ("/ready", "/v1/health"):
                answer = http.get(path)
                assert (answer.status_code, str(terminal.data) in answer.json()["writes"]) == (503, True)
        assert not terminal.data.exists(), "nothing is begun that could not be finished"
        said = [line for line in log_of(terminal).splitlines() if "start.waits_for_room" in line]
        assert len(said) == 1
        assert f"the disk of {terminal.data} is full: 0 MB are free" in said[0]

        filler.unlink()
        wait_until((terminal.data / "url").exists)
        wait_until(lambda: remember(terminal) == 201)
        assert "Traceback" not in log_of(terminal)


@pytest.mark.slow("one start of everything on a disk of its own that is nearly full, and is emptied")
def test_the_first_start_on_a_disk_with_little_room_serves_and_refuses_writes(disk: Path, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, disk / "data", {"OPENBRAIN_STREAMS__TUNING__BREAKER_MAX_S": "1"})
    filler = leave(disk, 20_000)
    with up(terminal, copied=False):
        assert remember(terminal) == 503
        wait_until(lambda: "backlog.full" in log_of(terminal))
        filler.unlink()
        wait_until(lambda: remember(terminal) in (200, 201))
        wait_until(lambda: recalled(terminal))
    assert "Traceback" not in log_of(terminal)


@pytest.mark.slow("a start of everything for each")
@pytest.mark.parametrize("kilobytes", [(0,), (4,), (40,), (400,)] if long_form() else [(0, 4, 40, 400)], ids=str)
def test_starts_that_meet_no_room_name_the_folder_and_the_next_one_goes_on(
    disk: Path, tmp_path: Path, kilobytes: tuple[int, ...]
) -> None:
    """Cases without an earlier check: turned off by the settings, or only a quota is full."""
    terminal = Terminal(tmp_path, disk / "data", {"OPENBRAIN_DISK_RESERVE_MB": "0"})
    for each in kilobytes:
        filler = leave(disk, each)
        done = terminal.run("up", "--port", "0")

        assert done.code == 6, done.err
        assert done.err.startswith(
            f"openbrain: nothing can be kept in {terminal.data} (No space left on device): make room"
        )
        assert (done.err.count("\n"), done.out) == (1, "")
        filler.unlink()
    with up(terminal, copied=False):
        assert remember(terminal) == 201


@pytest.mark.slow("one start of everything on a disk of its own, filled and emptied")
def test_a_disk_that_fills_under_writes_refuses_them_and_the_process_lives(disk: Path, tmp_path: Path) -> None:
    data, filler = disk / "data", disk / "filler"
    data.mkdir(mode=0o755)  # as made before OpenBrain was installed
    with up(Terminal(tmp_path, data, {"OPENBRAIN_STREAMS__TUNING__BREAKER_MAX_S": "1"}), copied=False):
        assert [path for path in (data, *data.rglob("*")) if path.lstat().st_mode & 0o077] == [], "its owner's alone"
        headers = {"Authorization": f"Bearer {(data / 'key').read_text().strip()}"}
        with httpx.Client(base_url=(data / "url").read_text().strip(), headers=headers, timeout=30) as http:
            written: list[str] = []

            def write() -> int:
                told = {"content": f"Written while the disk fills, {len(written)}.", "type": "fact"}
                answer = http.post("/v1/brain/remember", json=told)
                assert answer.status_code in (201, 503), answer.text
                if answer.status_code == 201:
                    written.append(answer.json()["id"])
                return answer.status_code

            assert write() == 201
            filling = threading.Thread(target=fill, args=(filler,))
            filling.start()
            wait_until(lambda: write() == 503 and not filling.is_alive())
            filling.join()
            wait_until(lambda: http.get("/ready").json()["writes"] is not None)
            assert "full" in http.get("/ready").json()["writes"]
            health = http.get("/v1/health").json()
            assert (health["status"] in ("degraded", "down"), "full" in health["writes"]) == (True, True)
            recalled = http.post("/v1/brain/recall", json={"query": "what was written?"})
            assert recalled.status_code == 200, "reading goes on"
            assert http.get("/live").status_code == 200

            filler.unlink()
            wait_until(lambda: write() == 201)

            def indexed() -> bool:
                last = http.get(f"/v1/brain/memories/{written[-1]}").json()
                return bool(last["state"] == "indexed")

            wait_until(indexed)
            assert all(http.get(f"/v1/brain/memories/{each}").status_code == 200 for each in written)


async def test_a_start_on_a_full_disk_answers_why_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    lacking = ["the disk is full"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"

        async def ask() -> None:
            async with httpx.AsyncClient(base_url=url) as http:
                answers = {path: await http.get(path) for path in ("/live", "/ready", "/v1/health", "/v1/brain/tags")}
                refused = await http.post("/v1/brain/remember", json={})
            assert {path: each.status_code for path, each in answers.items()} == {
                "/live": 200,
                "/ready": 503,
                "/v1/health": 503,
                "/v1/brain/tags": 503,
            }
            assert answers["/ready"].json()["writes"] == answers["/v1/health"].json()["writes"] == "the disk is full"
            assert (refused.status_code, refused.json()["message"]) == (503, "the disk is full")
            lacking.clear()

        asked = asyncio.create_task(ask())
        await until_room(
            lambda: lacking[0] if lacking else "",
            lambda app: _http(app, listener.dup(), Settings(data_dir=tmp_path)),
            look_s=0.01,
        )
        await asked


@pytest.mark.parametrize(("free", "refused"), [(40, "nothing"), (37, "writes"), (18, "indexes"), (9, "the start")])
def test_what_waits_on_a_disk_of_300_mb(disk: Path, free: int, refused: str) -> None:
    """The reserve is an eighth of the disk: half of that is for the indexes, a quarter is enough to start."""
    with (disk / "filler").open("wb") as filler:
        os.posix_fallocate(filler.fileno(), 0, (300 - free) * MB)
    space = DiskSpace([disk / "not" / "there" / "yet"], 128)
    try:
        space.for_index()
        index = ""
    except TryLater as error:
        index = str(error)
    told = {"writes": space.shortage(), "indexes": index, "the start": space.to_start()}
    waiting = [what for what, why in told.items() if why]
    order = ["nothing", *told]
    assert waiting == order[1 : order.index(refused) + 1]
    assert all("make room there" in each for each in told.values() if each)
    assert DiskSpace([disk], 0).shortage() == "", "0 turns the check off"
