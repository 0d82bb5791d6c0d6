"""A posted signal with severity `resolved`: find the signal that it names, and end it."""

from typing import Any, Final

from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Forbidden, Invalid, NotFound
from openbrain.domain.signals.values import Signal, Step
from openbrain.ports.store.signals import SignalChange, SignalFilter
from openbrain.vault.markers.posted_markers import Post
from openbrain.vault.pages.bodies import first_line
from openbrain_api.http.route import Call

LOOKED_AT: Final = 1000
"""Most signals of the source that are searched, newest first."""
_SHOWN: Final = 5


async def named(call: Call[Any, Any], post: Post) -> Signal:
    """Return the signal of the post's source with the same text, else the only open one of that source. Raise `Invalid`
    or `NotFound` if there is none."""
    if Permission.SIGNAL_ACK not in call.actor.permissions:
        raise Forbidden("this key may not end signals: it needs the permission signal.ack")
    if not post.attrs.get("source", "").strip():
        raise Invalid("attrs.source", "name the source of the signal that is over")
    of_source = SignalFilter(source=post.source)
    signals = await call.api.store.signals.signals(call.actor.viewer(), of_source, LOOKED_AT)
    still_open = [signal for signal in signals if signal.state.open]
    same = [signal for signal in (*still_open, *signals) if post.text in (signal.content.strip(), signal.title.strip())]
    if same:
        return same[0]
    if len(still_open) == 1:
        return still_open[0]
    if still_open:
        titles = "; ".join(first_line(signal.title, 80) for signal in still_open[:_SHOWN])
        raise Invalid(
            "content",
            f"{len(still_open)} signals of this source are open: give the text of the one that is over: {titles}",
        )
    raise NotFound(f"no signal of the source {post.source!r} is open: look up the source's name in the list of signals")


async def resolve(call: Call[Any, Any], signal: Signal, post: Post, at: int) -> None:
    """End the signal. Do nothing if it has ended, or was raised after the request, which may be a repeated one."""
    if not signal.state.open or signal.first_raised_at > at:
        return
    change = SignalChange(
        workspace_id=call.actor.workspace_id,
        step=Step.RESOLVED,
        viewer=call.actor.viewer(),
        actor=call.actor.label,
        signal_id=signal.id,
        note=post.title,
    )
    await call.api.store.signals.change_signal(change)
    await call.api.wake.notify()
