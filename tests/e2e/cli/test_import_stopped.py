"""Ctrl-C during an import reports what is stored and how to continue; a dry run of many sections is short."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from openbrain_cli.importers.execution.upload import BATCH
from tests.support.cli.terminal import Terminal
from tests.support.processes.forked import Forked
from tests.support.waiting import PATIENCE_S


class _Server(ThreadingHTTPServer):
    """Accepts one batch; the second never gets its answer."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.batches = 0
        self.second, self.over = threading.Event(), threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._answer({"memories": [], "count": 0, "next_cursor": None})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.batches += 1
        if self.server.batches > 1:
            self.server.second.set()
            self.server.over.wait(PATIENCE_S)
            return
        results = [{"status": "created", "id": str(number)} for number in range(len(asked["memories"]))]
        self._answer({"results": results, "count": len(results)})

    def _answer(self, told: Any) -> None:
        raw = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Do not log."""


@contextmanager
def serving() -> Iterator[_Server]:
    server = _Server()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def notes(folder: Path, sections: int) -> Path:
    folder.mkdir()
    text = "\n\n".join(f"# Section {number}\nThe text of section {number}." for number in range(sections))
    (folder / "many.md").write_text(text)
    return folder


def test_ctrl_c_tells_what_is_stored_and_how_to_go_on(tmp_path: Path) -> None:
    folder = notes(tmp_path / "notes", BATCH + 10)
    with serving() as server, (tmp_path / "err").open("wb") as err, open(os.devnull, "rb") as nothing:  # noqa: PTH123
        process = Forked(
            ["import", str(folder), "--url", server.url],
            env=Terminal(tmp_path, tmp_path / "data").env({"OPENBRAIN_API_KEY": "ob_k"}),
            cwd=tmp_path,
            stdin=nothing.fileno(),
            out=err.fileno(),
            err=err.fileno(),
        )
        try:
            assert server.second.wait(PATIENCE_S)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 130
        finally:
            process.kill()

    told = (tmp_path / "err").read_text()
    assert f"stopped: {BATCH} of {BATCH + 10} sections are stored; repeat the command to continue" in told
    assert "Traceback" not in told


def test_a_dry_run_shows_the_first_twenty_and_counts_all(tmp_path: Path) -> None:
    folder = notes(tmp_path / "notes", 45)
    with serving() as server:
        terminal = Terminal(tmp_path, tmp_path / "data", {"OPENBRAIN_API_KEY": "ob_k", "OPENBRAIN_URL": server.url})
        done = terminal.run("import", str(folder), "--dry-run")
        whole = terminal.run("import", str(folder), "--dry-run", "--json").json

    assert done.out.count("many.md") == 20
    assert "and 25 more: --json has them all" in done.err
    assert "45 to create" in done.out
    assert len(whole["steps"]) == 45


def test_a_dry_run_shows_conversations_by_their_titles(tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    chats = [_chat(number, title) for number, title in enumerate(("Cache keys", "Deploys on Tuesday"))]
    (tmp_path / "export" / "conversations.json").write_text(json.dumps(chats))
    with serving() as server:
        terminal = Terminal(tmp_path, tmp_path / "data", {"OPENBRAIN_API_KEY": "ob_k", "OPENBRAIN_URL": server.url})
        done = terminal.run("import", "export", "--dry-run")

    assert done.code == 0, done.err
    assert "conversations # Cache keys (3 messages)" in done.out
    assert "conversations # Deploys on Tuesday (3 messages)" in done.out
    assert "6 to create" in done.out


def _chat(number: int, title: str) -> dict[str, object]:
    said = [
        {"author": {"role": "user"}, "recipient": "all", "content": {"parts": [f"Line {turn} of {title}."]}}
        for turn in range(3)
    ]
    mapping = {f"{number}-{turn}": {"message": message} for turn, message in enumerate(said)}
    return {"conversation_id": f"c{number}", "title": title, "create_time": 1_700_000_000, "mapping": mapping}
