"""Writing a vault: posts of agents, pages for the inbox, messages with files."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

from openbrain.contract.vault.pages import InboxBody, Ingested, MarkerBody, MarkerWritten, PageWritten
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Invalid, NotFound
from openbrain.domain.events.data import SignalRaised
from openbrain.domain.limits import CONTENT_CHARS
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.rules import checked
from openbrain.domain.signals.values import Severity
from openbrain.domain.text.control_characters import cleaned, cleaned_line
from openbrain.domain.text.displayed import escaped
from openbrain.usecases.auth import Actor
from openbrain.vault import inbox
from openbrain.vault.files.changes import Change, sha256
from openbrain.vault.files.folder import Folder
from openbrain.vault.markers import posted_markers
from openbrain.vault.markers.redaction import quotable, redacted
from openbrain.vault.pages.arc_parsing import RESOLVED, parse_arc
from openbrain.vault.pages.arcs import raise_key
from openbrain_api.http.forms import Form, FormFile, read_form
from openbrain_api.http.response import Response, plain
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.vaults.resolving import named, resolve
from openbrain_api.vaults.sessions import project_of_session
from openbrain_api.vaults.writes import Draft, WriteRequest, hash_of, key_of, vault_of, write_once

FORM_BYTES = 16 * 1024 * 1024


@Route(
    "POST",
    "/marker",
    permission=Permission.VAULT_WRITE,
    response=MarkerWritten,
    statuses=(201,),
    problems=(404, 409),
    keyed=True,
)
async def marker(call: Call[MarkerBody, Nothing]) -> Response:
    """Post a lesson, milestone, signal or decision.

    It is written to the page for its kind. A signal is also raised at once if the key has the permission, and one with
    the severity `resolved` ends the signal that it names.
    """
    body, folder = call.body, vault_of(call)
    attrs = {key: str(value) for key, value in body.attrs.items() if value is not None}
    digest = hash_of(body.type, body.content, *(part for pair in sorted(attrs.items()) for part in pair))
    key = key_of(call, digest)
    if not _may_raise(call) and attrs.get("severity", "").strip().lower() == Severity.NUCLEAR:
        attrs["severity"] = Severity.CRITICAL  # a halt needs another permission
    session = attrs.get("session_id") or attrs.get("session")
    if session and not attrs.get("project"):
        projects_dir = call.api.settings.tick.projects_dir
        attrs["project"] = await asyncio.to_thread(project_of_session, session, projects_dir, folder)

    def post(at: int) -> posted_markers.Post:
        return posted_markers.Post(type=body.type, content=body.content, attrs=attrs, at=at)

    ended = None
    refusal: Invalid | NotFound | None = None
    if body.type == "signal" and post(0).severity == RESOLVED:
        try:
            ended = await named(call, post(0))
            if not ended.state.open:
                refusal = NotFound(f"the signal {ended.title[:80]!r} has ended: there is nothing to end")
        except (Invalid, NotFound) as error:
            refusal = error

    def draft(path: str, at: int) -> Draft:
        if refusal is not None:  # not called if this request has ended its signal before
            raise refusal
        change, there = posted_markers.change_of(folder, post(at), path)
        same = change.before == change.digest
        action = "unchanged" if same else "appended" if there else "created"
        size = 0 if same else len(change.after or b"")
        return Draft((change,), {"action": action, "vault_path": change.path, "written_bytes": size})

    write, done = await write_once(
        call, folder, WriteRequest(key, digest, lambda at: posted_markers.path_of(folder, post(at)), draft)
    )
    if done is None:
        place = await asyncio.to_thread(posted_markers.place_of, folder, post(write.at), write.path)
        result = {"action": "unchanged", "vault_path": place, "written_bytes": 0}
    else:
        result = done.response
    signal_id = None
    if ended is not None:
        await resolve(call, ended, post(write.at), write.at)
        signal_id = ended.id
    elif body.type == "signal" and _may_raise(call):
        signal_id = await _raised(call, folder, str(result["vault_path"]))
    content = {
        "ok": True,
        "idempotency_key": key,
        "body_hash": sha256(body.content.encode())[:16],
        **result,
        "marker_type": body.type,
        "idempotent_replay": done is None,
        "signal_id": signal_id,
    }
    return plain(content, status=201)


@Route(
    "POST",
    "/vault/write_inbox",
    permission=Permission.VAULT_WRITE,
    response=PageWritten,
    statuses=(201,),
    problems=(404, 409),
    keyed=True,
)
async def write_inbox(call: Call[InboxBody, Nothing]) -> Response:
    """Put a page into the inbox."""
    body, folder = call.body, vault_of(call)
    digest = hash_of(body.content, body.title or "", body.filename or "", *body.tags)
    # Markers in a page take effect, so a key that may not raise signals must not write any.
    text = redacted(escaped(body.content, lambda _: "")) if _may_raise(call) else quotable(body.content)
    title = body.title or inbox.title_of(text)
    name = (body.filename or title).removesuffix(".md")

    def draft(path: str, at: int) -> Draft:
        may_resolve = Permission.SIGNAL_ACK in call.actor.permissions
        page = inbox.page(title, body.tags, text, at, call.actor.label, may_resolve=may_resolve).encode()
        return Draft((_put(folder, path, page),), {"written_bytes": len(page)})

    request = WriteRequest(key_of(call, digest), digest, lambda at: inbox.path_of(name, at, digest), draft)
    write, done = await write_once(call, folder, request)
    size = done.response["written_bytes"] if done else 0
    content = {"ok": True, "vault_path": write.path, "written_bytes": size, "idempotent_replay": done is None}
    return plain(content, status=201)


@Route(
    "POST",
    "/ingest",
    permission=Permission.VAULT_WRITE,
    response=Ingested,
    problems=(404, 409),
    keyed=True,
    body_bytes=FORM_BYTES,
    form=("message",),
)
async def ingest(call: Call[Nothing, Nothing]) -> Response:
    """Put a message into the inbox."""
    return await _ingest(call)


@Route(
    "POST",
    "/ingest_with_files",
    permission=Permission.VAULT_WRITE,
    response=Ingested,
    problems=(404, 409),
    keyed=True,
    body_bytes=FORM_BYTES,
    form=("message", "files[]"),
)
async def ingest_with_files(call: Call[Nothing, Nothing]) -> Response:
    """Put a message and its files into the inbox."""
    return await _ingest(call)


async def _ingest(call: Call[Nothing, Nothing]) -> Response:
    folder = vault_of(call)
    if call.stream is None:
        raise AssertionError("the route takes a form")
    form = await read_form(call.headers, call.stream, FORM_BYTES)
    message = form.fields.get("message", "")
    if (
        not message.strip()
        or len(message) > CONTENT_CHARS
        or any(ord(sign) in range(0xD800, 0xE000) for sign in message)
    ):
        raise Invalid("message", f"a text of 1 to {CONTENT_CHARS} characters")
    message = call.api.content_policy.of(call.actor.workspace_id).admit([("message", message)]).texts[0]
    digest = hash_of(message, *(part for file in form.files for part in (file.name, sha256(file.data))))
    draft = partial(_ingested, folder, form, quotable(message), digest, call.actor)
    title = inbox.title_of(quotable(message))
    request = WriteRequest(key_of(call, digest), digest, lambda at: inbox.path_of(title, at, digest), draft)
    write, done = await write_once(call, folder, request)
    result = (done or draft(write.path, write.at)).response
    return plain({**result, "obsidian_path": write.path, "idempotent_replay": done is None})


def _ingested(folder: Folder, form: Form, message: str, digest: str, actor: Actor, path: str, at: int) -> Draft:
    batch, errors = digest[:12], []
    title, tags = inbox.title_of(message), inbox.tags_of(message)
    changes: dict[str, Change] = {}
    for file in form.files:
        where = inbox.attachment_path(batch, file.name)
        if len(file.data) > folder.max_bytes:
            errors.append(f"{where}: larger than {folder.max_bytes} bytes")
        elif where in changes:
            errors.append(f"{where}: two files of this name")
        else:
            changes[where] = _put(folder, where, _kept(file))
    links = "".join(f"\n- [[{where}]]" for where in changes)
    body = f"{message.strip()}\n{links and f'{chr(10)}## Files{chr(10)}{links}{chr(10)}'}"
    page = inbox.page(
        title, tags, body, at, actor.label, may_resolve=Permission.SIGNAL_ACK in actor.permissions
    ).encode()
    response = {
        "batch_id": batch,
        "vault_paths": [path, *changes],
        "semantic_text_preview": message.strip()[:200],
        "errors": errors,
        "title": title,
        "tags": tags,
    }
    return Draft((*changes.values(), _put(folder, path, page)), response)


def _kept(file: FormFile) -> bytes:
    """The data to store: text is made safe for a vault; other data is unchanged, as it is never read as a page."""
    try:
        return quotable(file.data.decode()).encode()
    except UnicodeDecodeError:
        return file.data


def _put(folder: Folder, path: str, data: bytes) -> Change:
    return Change(path, folder.digest(path), data)


def _may_raise(call: Call[Any, Any]) -> bool:
    return Permission.SIGNAL_RAISE in call.actor.permissions


async def _raised(call: Call[Any, Any], folder: Folder, path: str) -> str | None:
    """Raise the page's signal as the next tick would. Both use the same key, so that the second has no effect. None if
    somebody has removed the page meanwhile."""
    try:
        page = parse_arc(path, folder.read(path), 0)
    except (NotFound, Invalid):
        return None
    for mark in page.signals:
        if mark.severity not in set(Severity):
            continue
        source, content = cleaned_line(mark.source)[:255], cleaned(mark.content)
        event = SignalRaised(
            workspace_id=call.actor.workspace_id,
            source=source,
            severity=Severity(mark.severity),
            title=content.partition("\n")[0].strip()[:255] or source,
            content=content,
            project=cleaned_line(mark.project or page.project)[:255] or None,
        )
        key = raise_key(page, mark)
        now = call.api.clock.now()
        made = checked(event, actor=call.actor.label, at=now, key=key, traceparent=call.traceparent)
        # Held until a tick has seen the marker, which then holds it.
        held_until = now + round(call.api.settings.tick.tuning.late_s * MICROSECONDS)
        (outcome,) = await call.api.store.signals.raise_signals([replace(made, held_until=held_until)])
        await call.api.wake.notify()
        return outcome.signal.id if outcome.signal is not None else None
    return None
