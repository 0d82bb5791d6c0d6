"""The use case `remember`, shared by API, tools and stream, and edits of memories.

Content is stored in a normal form, so that equal texts have equal hashes: Unicode NFC, \\n line ends, no leading empty
lines, no trailing white space. Names (org, project, agent, tags) are stored as given and compared byte by byte.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from openbrain.domain import limits
from openbrain.domain.access.visibility import NEVER
from openbrain.domain.errors import Forbidden, Invalid, OpenBrainError
from openbrain.domain.events.submission import Submission
from openbrain.domain.ids import content_hash, joined_hash, uuid7
from openbrain.domain.memory import DAY, HOUR, Memory, MemoryType, Scope, with_labels
from openbrain.domain.text.echoes import without_echoes
from openbrain.domain.text.spelling import composed
from openbrain.domain.times import from_datetime
from openbrain.ports.clock import Clock
from openbrain.ports.content import Admission, ContentPolicy, NamedText
from openbrain.ports.store.writes import Edit, MemoryWrites, Origin, Outcome, Status, Write
from openbrain.usecases.auth import Actor
from openbrain.usecases.content.admission import look_at, texts_of

_AT_A_STRETCH, _STRETCH_CHARS = 64, 20_000
"""Offers, and characters of them, prepared before the event loop may switch: about 3 ms. A thread would not help,
because the secret detector holds the interpreter lock."""


class Offer(NamedTuple):
    """A submission, its actor, and what identifies a repetition of it."""

    submission: Submission
    actor: Actor
    origin: Origin
    idempotency_key: str = ""
    """'' for none. Unique per caller."""
    key_lifetime: int = DAY
    """Microseconds for which the idempotency key is kept."""
    identity: str = ""
    """`Memory.identity`."""
    verbatim: bool = False
    """A turn of a conversation: stored verbatim, including echoes; secrets are masked, never refused."""


def normalised(content: str) -> str:
    """The normal form of content."""
    text = composed(content)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.lstrip("\n").rstrip()


def prepare(offer: Offer, *, clock: Clock, content_policy: ContentPolicy) -> Write:
    """Do all of an offer's work that needs no database. Raise `Invalid` with the field, `Forbidden` with the key's
    limit."""
    actor, given = _allowed(offer)
    admission = content_policy.of(actor.workspace_id)
    texts = _looked_at(given, admission, refusing=False) if offer.verbatim else admitted(given, admission)
    return _write_of(offer, actor, texts, clock.now())


def _allowed(offer: Offer) -> tuple[Actor, dict[str, Any]]:
    """The acting agent, and the texts that the content policy examines."""
    given = offer.submission
    actor = offer.actor.speaking_as(given.agent_id)
    actor.may_write_to(given.org or "")
    if given.memory_scope in (Scope.AGENT, Scope.SESSION) and not actor.agent_id:
        raise Invalid(
            "agent_id",
            f"memory_scope {given.memory_scope} needs an agent: use a key of that agent, or one that may act as it",
        )
    return actor, {
        "content": given.content,
        "title": given.title or "",
        "aliases": given.aliases,
        "tags": given.tags,
        "metadata": given.metadata,
        "source": given.source,
        "speaker": given.speaker or "",
    }


def _write_of(offer: Offer, actor: Actor, texts: Mapping[str, Any], now: int) -> Write:
    given = offer.submission
    memory = Memory(
        id=uuid7(now),
        workspace_id=actor.workspace_id,
        **texts,
        type=given.type,
        memory_scope=given.memory_scope,
        org=given.org or "",
        project=given.project or "",
        agent_id=actor.agent_id,
        session_id=given.session_id or "",
        turn=given.turn,
        confidence=given.confidence,
        supersedes_id=given.supersedes,
        content_hash=content_hash(texts["content"]),
        identity=offer.identity,
        occurred_at=now if given.occurred_at is None else from_datetime(given.occurred_at),
        confirmed_at=now,
        created_at=now,
        updated_at=now,
        expires_at=expiry(now, given.expires_in, None if given.expires_at is None else from_datetime(given.expires_at)),
        wants_vector=given.embed,
    )
    return Write(
        memory=memory,
        viewer=actor.viewer(memory.session_id),
        origin=offer.origin,
        allow_duplicate=given.allow_duplicate,
        idempotency_key=own_key(offer, actor),
        idempotency_expires_at=now + offer.key_lifetime if offer.idempotency_key else 0,
    )


def own_key(offer: Offer, actor: Actor) -> str:
    """The stored idempotency key, which is unique per caller."""
    if not offer.idempotency_key:
        return ""
    return joined_hash(actor.key_id, actor.agent_id, offer.idempotency_key)


def admitted(fields: Mapping[str, Any], admission: Admission) -> dict[str, Any]:
    """Return the fields that the policy admits, content normalised and without echoes."""
    return _in_form(_looked_at(_own(fields), admission))


def _looked_at(fields: Mapping[str, Any], admission: Admission, *, refusing: bool = True) -> dict[str, Any]:
    """Apply the policy. Its tags are added to the fields' tags, or become `labels` if the tags are not being
    changed."""
    looked = look_at(fields, admission, refusing=refusing)
    changed = {**fields, **looked.changed}
    if looked.tags and "tags" in fields:
        if changed["tags"] is None:
            changed["labels"] = looked.tags
        else:
            changed["tags"] = with_labels(changed["tags"], looked.tags)
    return changed


def _own(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {**fields, "content": _own_words(fields["content"])}


def _in_form(fields: dict[str, Any]) -> dict[str, Any]:
    text = fields["content"] = normalised(fields["content"])
    if not text:
        raise Invalid("content", "must not be blank")
    if len(text) > limits.CONTENT_CHARS:
        raise Invalid("content", f"must be at most {limits.CONTENT_CHARS} characters in Unicode NFC")
    return fields


def _own_words(content: str) -> str:
    given = normalised(content)
    own = normalised(without_echoes(given))
    if given and not own:
        raise Invalid("content", "is an echo: it contains only what a recall returned, which is stored already")
    return own


def expiry(now: int, hours: int | None, at: int | None) -> int | None:
    """When the memory expires, in microseconds; None for never."""
    if hours is not None:
        return now + hours * HOUR
    if at is not None and not now < at < NEVER:
        raise Invalid("expires_at", "must lie in the future, before the year 2255")
    return at


async def remember(
    offers: Sequence[Offer], *, writes: MemoryWrites, clock: Clock, content_policy: ContentPolicy
) -> Sequence[Outcome]:
    """Store each offer once, in order, in one transaction. A refused one does not affect the others."""
    await content_policy.ready()
    prepared: list[Write | OpenBrainError] = []
    for stretch in _stretches(offers):
        if prepared:
            await asyncio.sleep(0)
        prepared += _prepare_all(stretch, clock, content_policy)
    new = [item for item in prepared if isinstance(item, Write)]
    stored = iter(await writes.remember(new) if new else ())
    return [next(stored) if isinstance(item, Write) else Outcome(Status.REFUSED, error=item) for item in prepared]


def _stretches(offers: Sequence[Offer]) -> Iterator[Sequence[Offer]]:
    start, characters = 0, 0
    for end, offer in enumerate(offers):
        more = len(offer.submission.content)
        if end > start and (end - start == _AT_A_STRETCH or characters + more > _STRETCH_CHARS):
            yield offers[start:end]
            start, characters = end, 0
        characters += more
    if start < len(offers):
        yield offers[start:]


def _prepare_all(offers: Sequence[Offer], clock: Clock, content_policy: ContentPolicy) -> list[Write | OpenBrainError]:
    """`prepare` for each, or its error. The policy checks all of them at once, and one by one only if necessary."""
    given: list[tuple[Actor, dict[str, Any]] | OpenBrainError] = []
    for offer in offers:
        try:
            actor, fields = _allowed(offer)
            given.append((actor, fields if offer.verbatim else _own(fields)))
        except OpenBrainError as error:
            given.append(error)
    clean = _all_pass(given, content_policy)
    prepared: list[Write | OpenBrainError] = []
    for offer, item in zip(offers, given, strict=True):
        if isinstance(item, OpenBrainError):
            prepared.append(item)
            continue
        actor, own = item
        try:
            admission = content_policy.of(actor.workspace_id)
            texts = own if clean else _looked_at(own, admission, refusing=not offer.verbatim)
            prepared.append(_write_of(offer, actor, texts if offer.verbatim else _in_form(texts), clock.now()))
        except OpenBrainError as error:
            prepared.append(error)
    return prepared


def _all_pass(given: Sequence[tuple[Actor, dict[str, Any]] | OpenBrainError], content_policy: ContentPolicy) -> bool:
    texts: dict[str, list[NamedText]] = {}
    for item in given:
        if isinstance(item, tuple):
            texts.setdefault(item[0].workspace_id, []).extend(texts_of(item[1]))
    return all(content_policy.of(workspace_id).passes(own) for workspace_id, own in texts.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A requested edit of a memory; None keeps a field."""

    content: str | None = None
    title: str | None = None
    """'' removes it."""
    aliases: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] | None = None
    type: MemoryType | None = None
    confidence: float | None = None
    source: str | None = None
    org: str | None = None
    project: str | None = None
    """'' removes org or project."""
    memory_scope: Scope | None = None
    agent_id: str | None = None
    expires_in: int | None = None
    expires_at: int | None = None
    """Microseconds."""
    lasts: bool = False
    """Removes the expiry."""
    confirm: bool = False


def prepare_edit(
    memory_id: str,
    change: Change,
    *,
    actor: Actor,
    session_id: str,
    origin: Origin,
    clock: Clock,
    content_policy: ContentPolicy,
    verbatim: bool = False,
) -> Edit:
    """Return the edit for the store. Raise `Invalid`, naming the field. `verbatim` as in `Offer`."""
    if change == Change():
        raise Invalid(
            "", "there is nothing to change: give content, title, tags, metadata, type, confidence, org or expiry"
        )
    given = {name: getattr(change, name) for name in ("content", "title", "aliases", "tags", "metadata", "source")}
    admission = content_policy.of(actor.workspace_id)
    if verbatim or change.content is None:
        texts = _looked_at(given, admission, refusing=not verbatim)
    else:
        texts = admitted(given, admission)
    if len(texts["content"] or "") > limits.CONTENT_CHARS:
        raise Invalid("content", f"must be at most {limits.CONTENT_CHARS} characters as it is stored")
    if change.org is not None:
        actor.may_write_to(change.org)
    authors = actor.authors()
    if change.agent_id is not None and authors is not None and change.agent_id not in authors:
        raise Forbidden("this key may not speak for that agent")
    now = clock.now()
    ends = 0 if change.lasts else expiry(now, change.expires_in, change.expires_at)
    return Edit(
        memory_id=memory_id,
        viewer=actor.viewer(session_id),
        origin=origin,
        **texts,
        type=change.type,
        confidence=change.confidence,
        org=change.org,
        project=change.project,
        memory_scope=change.memory_scope,
        agent_id=change.agent_id,
        authors=authors,
        expires_at=ends,
        confirm=change.confirm,
    )
