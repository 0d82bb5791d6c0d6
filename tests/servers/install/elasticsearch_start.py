"""Records a start of the Elasticsearch node: its classes, loaded and linked, are read from a file afterwards."""

import os
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import httpx

from tests.servers import elasticsearch_server as node
from tests.servers.processes.process import ServerProcess
from tests.servers.steps import CantInstall, Step
from tests.support.waiting import PATIENCE_S


def install(step: Step) -> None:
    if not node.STAMP.exists():
        raise CantInstall("Elasticsearch isn't built here")
    step.say("recording a start")
    _pack_launcher()
    with tempfile.TemporaryDirectory(dir=node.BUILT) as folder:
        made = Path(folder) / "start"
        _record(made)
        if not made.exists():
            raise CantInstall("Java recorded nothing")
        made.rename(node.recorded_start())


def _pack_launcher() -> None:
    """Java records no classes that lie in a folder."""
    unfinished = node.PACKED_LAUNCHER.with_suffix(f".{os.getpid()}")
    with zipfile.ZipFile(unfinished, "w") as jar:
        for compiled in sorted(node.LAUNCHER.rglob("*.class")):
            jar.write(compiled, compiled.relative_to(node.LAUNCHER))
    unfinished.rename(node.PACKED_LAUNCHER)


def _record(made: Path) -> None:
    recipe = replace(
        node.recipe(), command=lambda port, data: node.command(port, data, f"-XX:AOTCacheOutput={made}", packed=True)
    )
    with ServerProcess(recipe) as server:
        with httpx.Client(base_url=server.url, timeout=PATIENCE_S) as client:
            client.put("/first/_doc/1", params={"refresh": "true"}, json={"text": "a word"}).raise_for_status()
            client.post("/first/_search", json={"query": {"match": {"text": "word"}}}).raise_for_status()
            client.delete("/first").raise_for_status()
        server.stop(PATIENCE_S)
