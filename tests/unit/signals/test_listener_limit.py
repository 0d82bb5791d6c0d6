"""The limit of listeners of one process."""

from typing import Any

import pytest

from openbrain.domain.errors import TryLater
from openbrain_api.broadcasts.channel import Listener
from openbrain_api.broadcasts.hub import Hub

NOTHING: Any = None


class Watched(Listener):
    """Counts how often it is looked at."""

    looks = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "ended":
            Watched.looks += 1
        return super().__getattribute__(name)


def test_one_more_listener_costs_no_look_at_all_others() -> None:
    hub = Hub(NOTHING, NOTHING, most=100)
    listeners = [Watched() for _ in range(100)]

    for listener in listeners:
        hub.admit(listener)

    assert Watched.looks == 0


def test_a_listener_that_ended_makes_room_for_one() -> None:
    hub = Hub(NOTHING, NOTHING, most=2)
    first, second, third, fourth = (Listener() for _ in range(4))
    hub.admit(first)
    hub.admit(second)
    with pytest.raises(TryLater):
        hub.admit(third)

    first.end()
    hub.admit(third)
    with pytest.raises(TryLater):
        hub.admit(fourth)


def test_no_workspace_takes_all_places() -> None:
    """It would keep alarms from the agents of all others."""
    hub = Hub(NOTHING, NOTHING, most=4)
    loud = [Listener("w1") for _ in range(4)]
    for listener in loud:
        hub.admit(listener)

    second, third, fourth = (Listener("w2") for _ in range(3))
    hub.admit(second)
    assert [listener.ended for listener in loud].count(True) == 1
    hub.admit(third)
    assert [listener.ended for listener in loud].count(True) == 2
    for one_more in (fourth, Listener("w1")):
        with pytest.raises(TryLater):
            hub.admit(one_more)
    assert not second.ended
