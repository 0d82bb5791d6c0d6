"""`openbrain top`: what two samples of the API's counters show, and which groups are listed first."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from openbrain.client import OpenBrain
from openbrain.contract.admin.streams import StreamList
from openbrain.domain.errors import TryLater
from openbrain_cli.operators.streams.streams import _watched
from openbrain_cli.operators.top.look import Look, Raw, as_dict, look
from openbrain_cli.operators.top.samples import Samples, quantile
from openbrain_cli.operators.top.top import _lines, _live
from openbrain_cli.operators.top.view import rendered
from openbrain_cli.output import console

AT = datetime(2026, 1, 1, tzinfo=UTC)


def counted(fast: int, slow: int, *, start: int = 7, degraded: int = 0) -> str:
    """The API's metrics after `fast` recalls below 0.1 s and `slow` recalls between 0.1 s and 1 s."""
    labels = 'method="POST",route="/v1/brain/recall"'
    return f"""# TYPE openbrain_api_request_seconds histogram
openbrain_api_request_seconds_bucket{{le="0.1",{labels}}} {fast}
openbrain_api_request_seconds_bucket{{le="1.0",{labels}}} {fast + slow}
openbrain_api_request_seconds_bucket{{le="+Inf",{labels}}} {fast + slow}
openbrain_api_request_seconds_count{{{labels}}} {fast + slow}
openbrain_api_request_seconds_bucket{{le="0.1",method="POST",route="/v1/brain/remember"}} 999
# TYPE openbrain_recall_phase_seconds histogram
openbrain_recall_phase_seconds_sum{{phase="search"}} {fast * 0.01}
openbrain_recall_phase_seconds_count{{phase="search"}} {fast}
# TYPE openbrain_recall_degraded_total counter
openbrain_recall_degraded_total{{index="vectors"}} {degraded}
# TYPE openbrain_outbox_waiting gauge
openbrain_outbox_waiting 12
# TYPE process_start_time_seconds gauge
process_start_time_seconds {start}
"""


def group(name: str, **numbers: Any) -> dict[str, Any]:
    quiet: dict[str, Any] = {
        "readers": "service",
        "exists": True,
        "paused": False,
        "lag": 0,
        "pending": 0,
        "parked": 0,
        "due": (),
        "oldest_undelivered_s": None,
        "oldest_pending_s": None,
        "consumers": (),
        "dead_letters": 0,
        "replaying": 0,
    }
    return {"name": name, **quiet, **numbers}


def raw(text: str, seconds: int = 0, *groups: dict[str, Any], writes: str | None = None) -> Raw:
    stream = {"name": "memory.stored", "length": 0, "begins_at": None, "first_id": None, "last_id": None}
    streams = StreamList.model_validate({"streams": [{**stream, "groups": groups}], "count": 1})
    return Raw(AT + timedelta(seconds=seconds), "ok", writes, streams, Samples.of(text))


def test_recalls_are_those_since_the_look_before() -> None:
    found = look(raw(counted(110, 10, degraded=3), 5), raw(counted(10, 0, degraded=1)))

    assert found.recall.a_second == 22
    assert found.recall.p50_s is not None
    assert found.recall.p50_s < 0.1
    assert found.recall.p99_s is not None
    assert 0.1 < found.recall.p99_s <= 1
    assert found.recall.phases_s["search"] == pytest.approx(0.01)
    assert found.recall.without == {"vectors": 2}
    assert found.outbox_waiting == 12


def test_another_process_is_not_held_against_the_one_before() -> None:
    found = look(raw(counted(10, 0, start=8), 5), raw(counted(100, 0)))

    assert found.recall.a_second is None
    assert found.recall.p50_s == pytest.approx(0.05)
    assert look(raw(counted(0, 0)), None).recall.p50_s is None


def test_a_quantile_above_the_last_bound_is_that_bound() -> None:
    assert quantile(0.99, {1.0: 10, float("inf"): 20}, {}) == 1.0


def test_replicas_are_consumers_that_ask() -> None:
    consumers = [{"name": f"pod-{number}", "pending": 0, "idle_s": idle} for number, idle in enumerate((0.1, 2, 4000))]
    found = look(raw(counted(0, 0), 0, group("embedder", consumers=consumers), group("indexer-text")), None)

    assert found.replicas == {"embedder": 2, "indexer-text": 0}


def shown(found: Look, rows: int | None = None) -> str:
    out = console()
    out.width = 80
    with out.capture() as printed:
        out.print(rendered(found, "http://x", rows))
    return printed.get()


def test_what_needs_an_eye_stands_first_and_the_rest_is_counted() -> None:
    groups = (
        group("quiet"),
        group("behind", lag=70_000, oldest_undelivered_s=90.0),
        group("dying", dead_letters=3),
        group("retrying", pending=8, parked=5, oldest_pending_s=4000.0),
    )
    found = look(raw(counted(0, 0), 0, *groups, writes="the outbox is full"), None)
    lines = shown(found, rows=3).splitlines()
    rows = [line.split() for line in lines if "memory.stored" in line]

    assert [row[-1] for row in rows] == ["dying", "retrying", "behind"]
    assert rows[1][1:-1] == ["0", "0", "8", "5", "1h", "0"]
    assert "refused: the outbox is full" in lines[1]
    assert lines[-1] == "1 more groups, quieter than these"
    assert max(map(len, lines)) <= 80
    assert as_dict(found)["groups"][1]["lag"] == 70_000


class Enough(Exception):
    """Ends what would go on until Ctrl-C."""


class Away:
    """An API that is away for a moment at the second look."""

    url = "http://x"

    def __init__(self) -> None:
        self.looks = 0

    async def health(self) -> Any:
        return SimpleNamespace(status="ok", writes=None)

    async def streams(self, _stream: str = "") -> StreamList:
        self.looks += 1
        if self.looks == 2:
            raise TryLater("can't reach it")
        if self.looks == 4:
            raise Enough
        return raw("", 0, group("embedder")).streams

    async def metrics(self) -> str:
        return ""


def test_lines_go_on_after_the_api_was_away(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Enough):
        asyncio.run(_lines(cast("OpenBrain", Away()), 0))
    printed = capsys.readouterr()

    assert [json.loads(line)["status"] for line in printed.out.splitlines()] == ["ok", "ok"]
    assert printed.err == "can't reach it\n"


@pytest.mark.parametrize(
    "watching",
    [lambda brain: _live(brain, 0), lambda brain: _watched(brain, "", 0, json=False)],
    ids=["top", "streams"],
)
def test_each_view_is_printed_where_no_terminal_shows_it(watching: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Enough):
        asyncio.run(watching(Away()))
    printed = capsys.readouterr()

    assert printed.out.count("embedder") >= 2
    assert printed.out.count("memory.stored") == 2
    assert printed.err == "can't reach it\n"
