"""Property 10: a backlog drains in bounded memory, shared by its readers, trimmed behind them, with an exact lag.

`OPENBRAIN_BACKLOG=1000000` makes it long; `python -m tests.properties.backlog.draining` prints what it measures.
"""

import os
import uuid
from pathlib import Path

import pytest

from tests.integration.conftest import environment, prepared
from tests.properties.backlog.draining import BATCH, drained, settings_of
from tests.servers.plugin import Starter
from tests.servers.processes.process import Server
from tests.support.forms import long_form

ENTRIES = int(os.environ.get("OPENBRAIN_BACKLOG", "100000" if long_form() else "1500"))
FLAT_FROM = 50_000
"""A smaller backlog is drained before a process has reached its usual size."""


@pytest.mark.slow("consumers that are processes of their own drain a whole backlog")
@pytest.mark.timeout(max(300, ENTRIES // 50))
@pytest.mark.parametrize("name", ["redis", "valkey"])
async def test_a_backlog_drains_shared_with_bounded_memory_and_an_exact_lag(
    private_server: Starter, mariadb_url: str, elasticsearch_server: Server, tmp_path: Path, name: str
) -> None:
    prefix = f"t{uuid.uuid4().hex[:10]}"
    values = environment(
        prefix,
        redis=private_server(name).server,
        mariadb_url=mariadb_url,
        elasticsearch=elasticsearch_server,
        ollama=elasticsearch_server,  # the run uses the embedded model
    )
    servers = await prepared(settings_of(values), prefix, tmp_path)
    try:
        found = await drained(servers, tmp_path, ENTRIES, name)
    finally:
        await servers.store.close()
        await servers.redis.aclose()

    report = found.report()
    assert (found.stored, found.dead) == (ENTRIES, 0), "each remembered once, and its current revision indexed"
    assert report["wrong_lags"] == 0, [(each.lag, each.exact) for each in found.samples]
    assert report["most_pending"] <= 2 * BATCH, "no reader holds more than a batch"
    shares = [count for service, count in found.handled.items() if service.startswith("ingest")]
    assert min(shares) > ENTRIES * 0.2, shares
    assert report["stream_at_most"] == ENTRIES
    assert found.left <= 100
    if ENTRIES >= FLAT_FROM:
        assert max(report["growth_in_the_second_half"].values()) < 1.1, report
