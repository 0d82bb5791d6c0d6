"""Subscriptions: create, list, show, replay, remove. Matches arrive in the inbox."""

import asyncio
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from openbrain.contract.brain.subscriptions import (
    SubscriptionAnswer,
    SubscriptionBody,
    SubscriptionCreated,
    SubscriptionFilter,
    SubscriptionList,
    SubscriptionQuery,
    SubscriptionRemoved,
    SubscriptionReplayBody,
    SubscriptionsQuery,
)
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Invalid, NotFound
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import DAY
from openbrain.domain.signals.webhook_rules import checked_url, new_secret
from openbrain.domain.times import from_datetime
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.subscriptions import QueryWebhook, Replay, StandingQuery
from openbrain.settings.webhooks import Webhooks
from openbrain.usecases.auth import Actor
from openbrain_api.http.parsing import found, id_in, page_of, position
from openbrain_api.http.response import Response, respond, respond_page
from openbrain_api.http.route import Call, Nothing, Route


@Route(
    "POST",
    "/v1/brain/subscriptions",
    permission=Permission.BRAIN_WRITE,
    response=SubscriptionCreated,
    statuses=(201,),
    problems=(409,),
)
async def create_subscription(call: Call[SubscriptionBody, Nothing]) -> Response:
    """Subscribe to new memories that match a query or a filter.

    Matches arrive in the agent's inbox within seconds, as long as this key is valid and may see them.
    """
    body, actor, now = call.body, _agent(call, call.body.agent_id), call.api.clock.now()
    # Matches are shown to the agent, so it must be allowed to read.
    actor.require(Permission.BRAIN_READ)
    criteria = (body.filter or SubscriptionFilter()).criteria()
    actor.may_ask_for(criteria.org)
    query = StandingQuery(
        id=uuid7(now),
        workspace_id=actor.workspace_id,
        agent_id=actor.agent_id,
        key_id=actor.key_id,
        orgs=actor.orgs,
        without_org=actor.without_org,
        query=body.query or "",
        criteria=criteria,
        min_similarity=body.min_similarity,
        include_own=body.include_own,
        created_at=now,
    )
    webhook = _webhook(query, body.url, call.api.settings.webhooks)
    vectors = await _vectors(call, query.query)
    made = await call.api.store.standing_queries.add_query(query, vectors, webhook)
    secret = None if webhook is None else webhook.secret
    shown = SubscriptionCreated.shown(made, embedded=bool(vectors), webhook=webhook, secret=secret)
    return respond(shown, status=201)


@Route("GET", "/v1/brain/subscriptions", permission=Permission.BRAIN_READ, response=SubscriptionList)
async def subscriptions(call: Call[Nothing, SubscriptionsQuery]) -> Response:
    """List the agent's subscriptions, oldest first."""
    query, viewer = call.query, _agent(call, call.query.agent_id).viewer()
    rows = await call.api.store.standing_queries.queries(viewer, query.limit + 1, position(query.cursor))
    rows, following = page_of(rows, query.limit)
    shown = await _shown(call, rows)
    return respond_page(SubscriptionList(subscriptions=shown, count=len(shown), next_cursor=following))


@Route(
    "GET",
    "/v1/brain/subscriptions/{id}",
    permission=Permission.BRAIN_READ,
    response=SubscriptionAnswer,
    problems=(404,),
)
async def subscription(call: Call[Nothing, SubscriptionQuery]) -> Response:
    """One subscription."""
    (shown,) = await _shown(call, [await _named(call, _agent(call, call.query.agent_id))])
    return respond(shown)


@Route(
    "POST",
    "/v1/brain/subscriptions/{id}:replay",
    permission=Permission.BRAIN_WRITE,
    response=SubscriptionAnswer,
    statuses=(202,),
    problems=(404,),
)
async def replay_subscription(call: Call[SubscriptionReplayBody, Nothing]) -> Response:
    """Deliver the matches among memories of a time span, even those delivered before.

    Runs from the newest backwards. A new replay of the same subscription replaces a running one.
    """
    row, body, now = await _named(call, _agent(call, call.body.agent_id)), call.body, call.api.clock.now()
    since, until = from_datetime(body.since), now + DAY if body.until is None else from_datetime(body.until)
    if until <= since:
        raise Invalid("until", "must be later than since")
    # The empty id sorts before every id, so the replay begins strictly before `until`.
    await call.api.store.replays.start_replay(Replay(query=row, since=since, before=(until, ""), again=True))
    (shown,) = await _shown(call, [row])
    return respond(shown, status=202)


@Route(
    "DELETE",
    "/v1/brain/subscriptions/{id}",
    permission=Permission.BRAIN_WRITE,
    response=SubscriptionRemoved,
    problems=(404,),
)
async def remove_subscription(call: Call[Nothing, SubscriptionQuery]) -> Response:
    """Remove a subscription, and its matches from the inbox."""
    actor = _agent(call, call.query.agent_id)
    row = await _named(call, actor)
    if not await call.api.store.standing_queries.remove_query(actor.viewer(), row.id):
        raise NotFound("no subscription with this id")
    return respond(SubscriptionRemoved(id=row.id, removed=True))


def _webhook(query: StandingQuery, url: str | None, settings: Webhooks) -> QueryWebhook | None:
    if url is None:
        return None
    settings.require_enabled()
    checked_url(url, settings.hosts, settings.private_hosts)
    return QueryWebhook(id=query.id, workspace_id=query.workspace_id, url=url, secret=new_secret())


async def _vectors(call: Call[Any, Any], query: str) -> Mapping[str, "array[float]"]:
    """The query's vector by the serving model. None if the model does not answer: the matcher then makes it later."""
    if not query:
        return {}
    try:
        async with asyncio.timeout(call.api.settings.recall.tuning.index_timeout_s):
            active = await call.api.active_model.get()
            return {active.generation.model: await active.embedder.embed_query(query)}
    except Exception:  # noqa: BLE001 - a failing model must not keep a subscription from being stored
        return {}


async def _shown(call: Call[Any, Any], rows: Sequence[StandingQuery]) -> tuple[SubscriptionAnswer, ...]:
    store, ids = call.api.store, [row.id for row in rows]
    serving = await store.generations.serving(IndexKind.VECTOR)
    vectors, replays = await store.standing_queries.query_vectors(ids), await store.replays.replays_of(ids)
    webhooks = await store.query_webhooks.webhooks_of(ids)
    return tuple(
        SubscriptionAnswer.shown(
            row,
            embedded=serving is not None and serving.model in vectors.get(row.id, ()),
            replaying=row.id in replays,
            webhook=webhooks.get(row.id),
        )
        for row in rows
    )


async def _named(call: Call[Any, Any], actor: Actor) -> StandingQuery:
    query_id = id_in(call.path, "subscription")
    return found(await call.api.store.standing_queries.query(actor.viewer(), query_id), "subscription")


def _agent(call: Call[Any, Any], named: str | None) -> Actor:
    return call.agent(named, "subscriptions are")
