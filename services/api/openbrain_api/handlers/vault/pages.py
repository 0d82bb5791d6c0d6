"""Reading a vault: its feed, its alarm, its pages, its arcs."""

import asyncio
import hashlib

from openbrain.contract.vault.arcs import ArcDetail, ArcsFound, ArcsQuery
from openbrain.contract.vault.pages import (
    Alarm,
    Feed,
    VaultFound,
    VaultList,
    VaultListQuery,
    VaultPage,
    VaultReadQuery,
    VaultSearchQuery,
)
from openbrain.domain.access.permissions import Permission
from openbrain.domain.times import to_iso
from openbrain.vault.pages.alarm import TITLE, alarm
from openbrain_api.http.response import Response, plain, respond
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.vaults import arc_search, folder_pages
from openbrain_api.vaults.feed import ALARM, FEED, cited, read_feed
from openbrain_api.vaults.writes import vault_of

SIGNALS = 100


@Route("GET", "/feed", permission=Permission.VAULT_READ, response=Feed, problems=(404,))
async def feed(call: Call[Nothing, Nothing]) -> Response:
    """The feed that sessions read."""
    feed_pages = await asyncio.to_thread(read_feed, vault_of(call))
    changed = max((entry.mtime_ns for entry in feed_pages.entries), default=None)
    store, now = call.api.store, call.api.clock.now()
    return plain(
        {
            "hot_arcs": await cited(
                feed_pages.named("hot"), call.actor.viewer(), now, made=store.vault, rows=store.memories
            ),
            "inject_blocks": feed_pages.named("inject"),
            "entries": feed_pages.others("hot", "inject"),
            "generated_at": None if changed is None else to_iso(changed // 1000),
            "hash": feed_pages.hash,
            "vault_root": call.actor.workspace_id,
            "entry_count": len(feed_pages.entries),
        }
    )


@Route("GET", "/signal", permission=Permission.VAULT_READ, response=Alarm)
async def alarm_now(call: Call[Nothing, Nothing]) -> Response:
    """The most severe open alarm.

    It is read from the database, so it does not depend on a tick.
    """
    present = await call.api.store.signals.present(call.actor.viewer(), SIGNALS)
    gravest = alarm(present.signals, present.halts)
    if gravest is None:
        names = ("severity", "title", "content", "hash", "last_updated", "vault_path")
        return plain({"active": False, **dict.fromkeys(names)})
    return plain(
        {
            "active": True,
            "severity": gravest.severity,
            "title": TITLE,
            "content": gravest.body,
            "hash": hashlib.sha256(f"{gravest.severity}\n{gravest.body}".encode()).hexdigest()[:16],
            "last_updated": to_iso(gravest.raised_at),
            "vault_path": f"{FEED}/{ALARM}",
        }
    )


@Route("GET", "/vault/list", permission=Permission.VAULT_READ, response=VaultList, problems=(404,))
async def files(call: Call[Nothing, VaultListQuery]) -> Response:
    """List a vault's files by name."""
    query, folder = call.query, vault_of(call)
    listed = await asyncio.to_thread(folder_pages.listed, folder, query.path, query.limit + 1, query.cursor)
    shown = listed[: query.limit]
    cursor = shown[-1].path if len(listed) > query.limit else None
    return respond({"path": query.path, "files": shown, "count": len(shown), "next_cursor": cursor})


@Route("GET", "/vault/read", permission=Permission.VAULT_READ, response=VaultPage, problems=(404,))
async def page(call: Call[Nothing, VaultReadQuery]) -> Response:
    """One file of the vault."""
    return respond(await asyncio.to_thread(folder_pages.page, vault_of(call), call.query.path))


@Route("GET", "/vault/search", permission=Permission.VAULT_READ, response=VaultFound, problems=(404,), cost=20)
async def found_pages(call: Call[Nothing, VaultSearchQuery]) -> Response:
    """Find pages that contain every word."""
    query = call.query
    hits, complete = await asyncio.to_thread(folder_pages.searched, vault_of(call), query.path, query.q, query.limit)
    return respond({"results": hits, "count": len(hits), "complete": complete})


@Route("GET", "/vault/arcs", permission=Permission.VAULT_READ, response=ArcsFound, problems=(404,), cost=20)
async def arcs(call: Call[Nothing, ArcsQuery]) -> Response:
    """Find arcs by the words of a question, or by its meaning."""
    read, complete = await asyncio.to_thread(arc_search.read, vault_of(call), call.query)
    beginnings = [item.beginning for item in read]
    near, compared = await call.api.arc_meanings.near(call.actor.workspace_id, call.query.q, beginnings)
    best = arc_search.best(read, near, call.query)
    return respond({"arcs": best, "count": len(best), "complete": complete and compared})


@Route("GET", "/vault/arcs/{id}", permission=Permission.VAULT_READ, response=ArcDetail, problems=(404,), cost=5)
async def arc(call: Call[Nothing, Nothing]) -> Response:
    """One arc with its page."""
    return respond(await asyncio.to_thread(arc_search.one, vault_of(call), call.path["id"]))
