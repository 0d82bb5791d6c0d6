"""openbrain index setup, on real servers and without any."""

from pathlib import Path

import httpx
import pytest

from tests.servers.processes.process import Server
from tests.support.cli.terminal import Terminal


@pytest.mark.slow("the first in its process waits for Elasticsearch to start")
def test_the_indexes_are_made_once_with_their_mappings(
    tmp_path: Path, mariadb_url: str, elasticsearch_server: Server, ollama_server: Server
) -> None:
    name = f"setup-{tmp_path.name.lower().replace('_', '-')}"
    terminal = Terminal(
        tmp_path,
        tmp_path / "data",
        {
            "OPENBRAIN_TRUTH__URL": mariadb_url,
            "OPENBRAIN_TEXT__URL": elasticsearch_server.url,
            "OPENBRAIN_TEXT__INDEX": name,
            "OPENBRAIN_VECTORS__URL": f"elasticsearch+{elasticsearch_server.url}",
            "OPENBRAIN_VECTORS__COLLECTION": f"{name}-v",
            "OPENBRAIN_EMBEDDING__URL": ollama_server.url,
            "OPENBRAIN_EMBEDDING__MODEL": "all-minilm",
        },
    )
    assert terminal.run("db", "upgrade").code == 0
    first = terminal.run("index", "setup", "--json")
    again = terminal.run("elastic-setup", "--json")

    assert first.code == 0, first.err
    assert again.json == first.json
    kinds = {each["kind"]: each["name"] for each in first.json}
    assert set(kinds) == {"text", "vector"}
    for index in kinds.values():
        mapping = httpx.get(f"{elasticsearch_server.url}/{index}/_mapping").raise_for_status().json()
        (fields,) = (each["mappings"]["properties"] for each in mapping.values())
        assert fields["workspace_id"]["type"] == "keyword"
    assert "built by" in terminal.run("index", "setup").out


def test_embedded_indexes_need_no_setup(tmp_path: Path) -> None:
    done = Terminal(tmp_path, tmp_path / "data").run("index", "setup")
    assert (done.code, done.out) == (6, "")
    assert "openbrain up" in done.err
