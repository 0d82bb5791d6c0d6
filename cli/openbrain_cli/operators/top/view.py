"""Renders the state as lines and a table, with problems first."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from openbrain_cli.operators.top.look import GroupRow, Look, Recalls
from openbrain_cli.output import age, one_line, table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

COLUMNS = ("stream", "repl", "lag", "pend", "retry", "age", "dead", "group")
OLD_S = 300.0


def rendered(look: Look, url: str, rows: int | None = None) -> "RenderableType":
    """Render at most `rows` rows of the table: groups with waiting entries first, then the others."""
    from rich.console import Group

    ordered = sorted(look.groups, key=_urgency)
    shown = ordered if rows is None else ordered[: max(1, rows)]
    left = len(ordered) - len(shown)
    foot = [f"{left} more groups, quieter than these"] if left else []
    return Group(*_head(look, url), table(*COLUMNS, rows=[_cells(row) for row in shown]), *foot)


def _urgency(row: GroupRow) -> tuple[float, ...]:
    return (-min(1, row.dead_letters), -(row.oldest_s or 0.0), -row.lag - row.pending)


def _head(look: Look, url: str) -> Iterable["RenderableType"]:
    writes = "accepted" if look.writes is None else f"refused: {one_line(look.writes)}"
    yield _line("OpenBrain", f"{url}  {look.status}  {look.at:%H:%M:%S} UTC", alarming=look.status != "ok")
    yield _line("writes", writes, alarming=look.writes is not None)
    yield _line("replicas", " · ".join(f"{name} {count or 'none'}" for name, count in sorted(look.replicas.items())))
    yield _line("recall", _recall(look.recall), alarming=bool(look.recall.without))
    waiting = "unknown" if look.outbox_waiting is None else f"{look.outbox_waiting} waiting"
    oldest = f", oldest {age(look.outbox_oldest_s)}" if look.outbox_oldest_s else ""
    yield _line("outbox", waiting + oldest, alarming=(look.outbox_oldest_s or 0.0) > OLD_S)


def _recall(recall: Recalls) -> str:
    figures = [] if recall.a_second is None else [f"{recall.a_second:.1f}/s"]
    quantiles = (("p50", recall.p50_s), ("p99", recall.p99_s))
    figures += [f"{name} {_ms(seconds)}" for name, seconds in quantiles if seconds is not None]
    figures += [f"{phase} {_ms(seconds)}" for phase, seconds in recall.phases_s.items()]
    figures += [f"{count} without {index}" for index, count in recall.without.items()]
    return "  ".join(figures) or "none yet"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


def _line(name: str, text: str, *, alarming: bool = False) -> "Text":
    from rich.text import Text

    return Text.assemble((f"{name:<10}", "bold"), (text, "bold red" if alarming else ""))


def _cells(row: GroupRow) -> list["str | Text"]:
    from rich.text import Text

    nobody = row.service and not row.replicas and not row.paused
    replicas = "paused" if row.paused else str(row.replicas)
    late = (row.oldest_s or 0.0) > OLD_S
    return [
        row.stream,
        Text(replicas, "red" if nobody and row.lag else ""),
        str(row.lag),
        str(row.pending),
        Text(str(row.retries), "yellow" if row.retries else ""),
        Text(age(row.oldest_s), "red" if late else ""),
        Text(str(row.dead_letters), "bold red" if row.dead_letters else ""),
        one_line(row.group),
    ]
