"""A vault, read: the feed, the alarm, its pages."""

import asyncio
import hashlib
from typing import Any

from openbrain.domain.times import to_iso
from openbrain.vault.pages.alarm import TITLE, alarm
from openbrain_api.http.reply import Reply, answer, plain
from openbrain_api.http.route import Call, Nothing
from openbrain_api.requests.vault import ListQuery, ReadQuery, SearchQuery
from openbrain_api.vaults import pages
from openbrain_api.vaults.citing import cited
from openbrain_api.vaults.door import vault_of
from openbrain_api.vaults.feed import ALARM, FEED, read_feed

SIGNALS = 100


async def feed(call: Call[Nothing, Nothing]) -> Reply:
    """What sessions read at their start."""
    found = await asyncio.to_thread(read_feed, vault_of(call))
    changed = max((entry.mtime_ns for entry in found.entries), default=None)
    truth, now = call.api.truth, call.api.clock.now()
    return plain(
        {
            "hot_arcs": await cited(found.named("hot"), call.actor.viewer(), now, made=truth, rows=truth),
            "inject_blocks": found.named("inject"),
            "entries": found.others("hot", "inject"),
            "generated_at": None if changed is None else to_iso(changed // 1000),
            "hash": found.hash,
            "vault_root": call.actor.workspace_id,
            "entry_count": len(found.entries),
        }
    )


async def alarm_now(call: Call[Nothing, Nothing]) -> Reply:
    """The gravest that burns, by the truth: no tick need have run."""
    present = await call.api.truth.present(call.actor.viewer(), SIGNALS)
    found = alarm(present.signals, present.halts)
    if found is None:
        names = ("severity", "title", "content", "hash", "last_updated", "vault_path")
        return plain({"active": False, **dict.fromkeys(names)})
    return plain(
        {
            "active": True,
            "severity": found.severity,
            "title": TITLE,
            "content": found.body,
            "hash": hashlib.sha256(f"{found.severity}\n{found.body}".encode()).hexdigest()[:16],
            "last_updated": to_iso(found.raised_at),
            "vault_path": f"{FEED}/{ALARM}",
        }
    )


async def files(call: Call[Nothing, ListQuery]) -> Reply:
    """Files by name."""
    query, folder = call.query, vault_of(call)
    found = await asyncio.to_thread(pages.listed, folder, query.path, query.limit, query.cursor)
    cursor = found[-1]["path"] if len(found) == query.limit else None
    return _told({"path": query.path, "files": found, "count": len(found), "next_cursor": cursor})


async def page(call: Call[Nothing, ReadQuery]) -> Reply:
    """One file."""
    return _told(await asyncio.to_thread(pages.page_json, vault_of(call), call.query.path))


async def found_pages(call: Call[Nothing, SearchQuery]) -> Reply:
    """Pages that hold every word."""
    query = call.query
    found, complete = await asyncio.to_thread(pages.searched, vault_of(call), query.path, query.q, query.limit)
    return _told({"results": found, "count": len(found), "complete": complete})


def _told(fields: dict[str, Any]) -> Reply:
    return answer(fields, fields)
