"""Listeners of an inbox while the database under it is restored."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from openbrain_api.broadcasts.channel import Listener
from openbrain_api.broadcasts.inboxes import Box, Inboxes

BOX = ("w1", "ada")


class Numbers:
    """The last numbers that each look finds, one after the other."""

    def __init__(self, *found: Mapping[Box, int]) -> None:
        self._found = list(found)
        self.looked = asyncio.Event()

    async def last_numbers(self, _boxes: object) -> Mapping[Box, int]:
        if len(self._found) == 1:
            self.looked.set()
            return self._found[0]
        return self._found.pop(0)


@pytest.mark.parametrize(("later", "ended"), [({BOX: 6}, False), ({BOX: 5}, False), ({BOX: 3}, True), ({}, True)])
async def test_listeners_start_again_if_the_numbers_fall(later: Mapping[Box, int], *, ended: bool) -> None:
    numbers: Any = Numbers({BOX: 5}, later, later)
    inboxes, listener = Inboxes(numbers, look_s=0), Listener()
    with inboxes.listens(BOX, listener):
        await numbers.looked.wait()
        await inboxes.close()

    assert listener.ended is ended
