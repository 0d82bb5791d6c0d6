"""The subscriber's API port over HTTP."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from openbrain.client import OpenBrain, event_log
from openbrain.client.resources.signals import Place
from openbrain.client.subscriber.api import Missed, News, Present
from openbrain.client.wire import pages
from openbrain.contract.amygdala.broadcasts import AmygdalaState, BroadcastAnswer, Skipped
from openbrain.contract.amygdala.signals import HaltAnswer, SignalAnswer
from openbrain.contract.messages import Inbox, MessageAnswer
from openbrain.domain.events.data import Broadcast
from openbrain.domain.signals.values import OPEN_STATES, Halt, HaltState, Step
from openbrain.domain.times import from_datetime, to_iso

_log = event_log.get_logger(__name__)


class HttpApi:
    """The API for one agent. `via`: how it receives broadcasts, shown to those who look at the fleet."""

    def __init__(self, brain: OpenBrain, *, via: str, org: str = "", project: str = "") -> None:
        self._brain, self._via = brain, via
        self._place = Place(org=org, project=project)

    async def present(self, cursor: int | None) -> Present:
        state = await self._brain.amygdala(cursor=cursor or 0, via=self._via, **self._place)
        # The state has only the most severe; an agent that starts from nothing needs all.
        rest = await self._others(state) if state.more and cursor is None else []
        return _present(state, [*state.signals, *rest])

    async def _others(self, state: AmygdalaState) -> list[SignalAnswer]:
        """Return open signals that are not in the state."""
        present = {signal.id for signal in state.signals}
        listed = pages(lambda cursor: self._brain.signals(state=sorted(OPEN_STATES), cursor=cursor))
        return [signal async for page in listed for signal in page.signals if signal.id not in present]

    async def missed(self, after: int) -> Missed:
        page = await self._brain.broadcasts(after, **self._place)
        through = page.through
        if through == after < page.last:
            # Either a broadcast was added in between, or those up to `last` are no longer stored.
            last, page = page.last, await self._brain.broadcasts(after, **self._place)
            through = page.through if page.through > after else last
        return Missed(broadcasts=tuple(_broadcasts(broadcast.event for broadcast in page.broadcasts)), through=through)

    async def stream(self, after: int) -> AsyncIterator[News]:
        async with aclosing(self._brain.hear(after, **self._place)) as events:
            async for news in events:
                match news:
                    case AmygdalaState():
                        yield _present(news, news.signals)
                    case BroadcastAnswer():
                        yield Missed(broadcasts=tuple(_broadcasts([news.event])), through=news.seq)
                    case Skipped():
                        yield Missed(broadcasts=(), through=news.last)
                    case None:
                        yield None

    async def inbox(self, after: int, *, unread: bool = False, limit: int | None = None) -> Inbox:
        return await self._brain.inbox(after=after, unread=unread, limit=limit)

    def messages(self, after: int) -> AsyncGenerator[MessageAnswer | None, None]:
        return self._brain.hear_messages(after)

    async def acknowledge(self, halt_id: str) -> None:
        await self._brain.acknowledge_halt(halt_id)

    async def close(self) -> None:
        await self._brain.close()


def _broadcasts(events: Iterable[dict[str, Any]]) -> Iterable[Broadcast]:
    """Yield the broadcasts that this version can parse; others are skipped and count as received."""
    for event in events:
        data = event.get("data") or {}
        try:
            yield Broadcast.model_validate(data)
        except ValidationError as error:
            _log.warning("subscriber.entry_refused", entry=data.get("seq"), error=type(error).__name__)


def _present(state: AmygdalaState, signals: Iterable[SignalAnswer]) -> Present:
    halts = {halt.signal_id: _halt(halt) for halt in state.halts}
    return Present(
        seq=state.seq,
        signals=tuple(_newest(signal, halts.get(signal.id)) for signal in signals),
        halts=tuple(halts.values()),
    )


def _halt(answer: HaltAnswer) -> Halt:
    return Halt(
        id=answer.id,
        workspace_id="",
        signal_id=answer.signal_id,
        scope=answer.scope,
        org=answer.org or "",
        project=answer.project or "",
        state=answer.state,
        title=answer.title,
        raised_by=answer.raised_by,
        raised_at=from_datetime(answer.raised_at),
        expires_at=None if answer.expires_at is None else from_datetime(answer.expires_at),
        seq=answer.seq,
    )


def _newest(signal: SignalAnswer, halt: Halt | None) -> Broadcast:
    """Return an open signal in the form of its last broadcast."""
    return Broadcast(
        seq=max(1, signal.seq),
        signal_id=signal.id,
        change=Step.RAISED,
        state=signal.state,
        severity=signal.broadcast_severity,
        raised_severity=signal.severity,
        halt=halt is not None,
        halt_id=None if halt is None else halt.id,
        halt_state=None if halt is None else HaltState.OPEN,
        halt_scope=None if halt is None else halt.scope,
        title=signal.title,
        content=signal.content,
        source=signal.source,
        org=signal.org,
        project=signal.project,
        count=signal.count,
        raised_at=_iso(signal.first_raised_at) or "",
        expires_at=_iso(signal.expires_at),
    )


def _iso(at: datetime | None) -> str | None:
    return None if at is None else to_iso(from_datetime(at))
