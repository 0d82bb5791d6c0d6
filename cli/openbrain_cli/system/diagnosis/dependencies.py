"""Checks the database, indexes and embedder: servers directly, embedded parts through the running system."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import text

from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.schema import commands
from openbrain.adapters.sql.store import FILE, store_url
from openbrain.ports.index import Checked
from openbrain.ports.store.generations import IndexKind
from openbrain.runtime import adapters
from openbrain.runtime.container import Container
from openbrain.settings import NO_REASONER, Settings
from openbrain_cli.system.diagnosis.check_result import CheckResult, Status, clock_problems, down, found, timed

Check = Callable[[], Awaitable[CheckResult]]


class _Part(Protocol):
    async def check(self) -> Checked: ...

    async def close(self) -> None: ...


def checks(settings: Settings, ready: Mapping[str, Any], parts: Mapping[str, str], *, here: bool) -> dict[str, Check]:
    """A check for each part. `ready` and `parts` are the running system's reports; `here` is True if it runs on this
    machine's data folder."""
    direct: dict[str, tuple[str, Check]] = {
        "truth": (settings.truth.url, lambda: _store(settings)),
        "text": (settings.text.url, lambda: _checked("text", lambda: adapters.text_index(settings))),
        "vectors": (settings.vectors.url, lambda: _checked("vectors", lambda: adapters.vector_index(settings))),
        "embedder": (settings.embedding.url, lambda: _embedder(settings)),
    }
    if settings.reasoner.url != NO_REASONER:
        direct["reasoner"] = (
            settings.reasoner.url,
            lambda: _checked("reasoner", lambda: adapters.chat_reasoner(settings)),
        )
    reachable = {name for name, (url, _) in direct.items() if url != adapters.EMBEDDED}
    if here and (Path(settings.data_dir) / FILE).is_file():
        reachable.add("truth")
    return {name: check if name in reachable else _unreached(name, ready, parts) for name, (_, check) in direct.items()}


async def _checked(name: str, make: Callable[[], _Part]) -> CheckResult:
    part = make()
    try:
        checked, ms = await timed(part.check)
    finally:
        await part.close()
    return found(name, checked.product, checked.version, ms, red=checked.problems)


async def _store(settings: Settings) -> CheckResult:
    url = store_url(settings.truth.url, settings.data_dir)
    store = adapters.store(settings, adapters.clock())
    try:
        (product, version, _), ms = await timed(store.check)
    finally:
        await store.close()
    problems = await asyncio.to_thread(commands.check, url)
    clock = await _clock(url) if product != "SQLite" else ()
    return found("truth", product, version, ms, red=problems, yellow=clock)


async def _clock(url: str) -> Sequence[str]:
    """Compare the database server's clock with this machine's."""
    database = open_database(url, pool=1)
    sent_at = time.time()
    try:
        theirs = await database.read(lambda connection: connection.scalar(text("SELECT UTC_TIMESTAMP(6)")))
        answered = time.time()
    finally:
        await database.close()
    return clock_problems(theirs.replace(tzinfo=UTC).timestamp(), sent_at, answered)


async def _embedder(settings: Settings) -> CheckResult:
    """Check the model of the stored vectors, even if the settings name another one."""
    async with Container(settings) as container:
        serving = None
        if settings.truth.url != adapters.EMBEDDED:
            serving = await container.store.generations.serving(IndexKind.VECTOR)
        checked, ms = await timed(lambda: container.embedders.check(serving))
        setting = container.embedders.setting
    yellow = []
    if serving is not None and setting != serving.model_name:
        yellow.append(
            f"{serving.model_name} serves; the settings name {setting or 'an unknown model'}, which has no effect "
            f"any more: set OPENBRAIN_EMBEDDING__MODEL={serving.model_name} to match"
        )
    return found("embedder", checked.product, checked.version, ms, red=checked.problems, yellow=yellow)


def _unreached(name: str, ready: Mapping[str, Any], parts: Mapping[str, str]) -> Check:
    async def check() -> CheckResult:
        known = (ready.get("dependencies") or {}).get(name)
        if known is not None:
            problems = [str(problem) for problem in known.get("problems", ())]
            product, version = str(known.get("product", "")), str(known.get("version", ""))
            return found(name, product, version, known.get("ms"), red=problems)
        if name not in parts:
            return down(name, "no running system reports its state: start `openbrain up`", status=Status.YELLOW)
        well = parts[name] == "ok"
        return found(name, "of the running system", "", None, red=() if well else ("down: look at its log",))

    return check
