"""Producers: each repeats an operation until it is acknowledged, as a careful client does."""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.faults.planning.operations import Operation
from tests.faults.producing.submissions import Submissions
from tests.faults.verifying.oracle import Oracle

LATER_S = 2.5
"""After this time a memory expires that is to expire soon."""
UNSETTLED = {408, 425, 429, 500, 502, 503, 504}


class NeverAcknowledged(Exception):
    """An operation was not acknowledged within its time limit."""


@dataclass(slots=True)
class Slot:
    """What the producer knows of a slot's memory."""

    memory_id: str = ""
    content: str = ""
    key: str = ""
    body: dict[str, Any] = field(default_factory=dict)
    by_stream: bool = False
    as_made: bool = True
    """Whether the memory is unchanged since it was stored."""


@dataclass
class Producers:
    """Runs operations. `urls`: the replicas of the API."""

    seed: int
    urls: Sequence[str]
    secret: str
    submissions: Submissions
    oracle: Oracle
    before: Callable[[Operation], Awaitable[None]]
    done: Callable[[], None]
    patience_s: float
    statuses: Counter[int] = field(default_factory=Counter)
    slots: dict[int, Slot] = field(default_factory=dict)
    _place: int = 0

    async def run(self, operations: Sequence[Operation], pause_s: float) -> None:
        """Run one producer's operations in order."""
        chance = random.Random(self.seed * 7919 + (operations[0].number if operations else 0))
        async with httpx.AsyncClient(
            headers={"Authorization": f"Bearer {self.secret}"}, timeout=3, verify=False
        ) as http:
            for operation in operations:
                slot = self.slots.setdefault(operation.slot, Slot())
                await self.before(operation)
                try:
                    await self._one(http, operation, slot)
                    self.oracle.acknowledged[operation.kind] += 1
                except NeverAcknowledged as error:
                    self.oracle.problems.append(f"operation {operation.number} ({operation.kind}): {error}")
                    return
                finally:
                    self.done()
                await asyncio.sleep(chance.random() * 2 * pause_s)

    async def _one(self, http: httpx.AsyncClient, operation: Operation, slot: Slot) -> None:
        acts: dict[str, Callable[[httpx.AsyncClient, Operation, Slot], Awaitable[None]]] = {
            "remember": self._remember,
            "supersede": self._supersede,
            "duplicate": self._duplicate,
            "same content": self._same_content,
            "update": self._update,
            "retag": self._update,
            "race": self._race,
            "soon": self._soon,
            "expire": self._expire,
            "forget": self._forget,
            "erase": self._erase,
            "restore": self._restore,
        }
        await acts[operation.kind](http, operation, slot)

    async def _remember(self, http: httpx.AsyncClient, operation: Operation, slot: Slot) -> None:
        await self._submit(http, operation, slot, supersedes="")

    async def _supersede(self, http: httpx.AsyncClient, operation: Operation, slot: Slot) -> None:
        before = slot.memory_id
        await self._submit(http, operation, slot, supersedes=before)
        self.oracle.memories[before].reason = "superseded"

    async def _submit(self, http: httpx.AsyncClient, operation: Operation, slot: Slot, *, supersedes: str) -> None:
        body: dict[str, Any] = {
            "content": operation.content,
            "type": "fact",
            "tags": list(operation.tags),
            "embed": operation.embed,
            "project": f"slot-{operation.slot}",
            "allow_duplicate": operation.twin,
        }
        if supersedes:
            body["supersedes"] = supersedes
        key = f"seed-{self.seed}-operation-{operation.number}"
        slot.key, slot.body, slot.by_stream, slot.content, slot.as_made = (
            key,
            body,
            operation.stream,
            operation.content,
            True,
        )
        slot.memory_id = await self._offer(http, operation.number, slot)
        self.oracle.remembered(
            slot.memory_id, operation.number, operation.content, operation.tags, embed=operation.embed
        )

    async def _offer(self, http: httpx.AsyncClient, number: int, slot: Slot) -> str:
        if slot.by_stream:
            try:
                return await self.submissions.submit(slot.key, slot.body, self.patience_s)
            except TimeoutError:
                raise NeverAcknowledged("no memory.stored names the submission") from None
        answer = await self._insist(http, "POST", "/v1/brain/remember", slot.body, {"Idempotency-Key": slot.key})
        return str(self._expect(answer, number, {200, 201})["id"])

    async def _duplicate(self, http: httpx.AsyncClient, operation: Operation, slot: Slot) -> None:
        again = await self._offer(http, operation.number, slot)
        if again != slot.memory_id:
            self.oracle.problems.append(
                f"operation {operation.number} repeated {slot.key} and got {again} where {slot.memory_id} stands"
            )

    async def _same_content(self, http: httpx.AsyncClient, operation: Operation, slot: Slot) -> None:
        if not slot.as_made or "supersedes" in slot.body or slot.body["allow_duplicate"]:
            return
        answer = await self._insist(http, "POST", "/v1/brain/remember", slot.body)
        again = str(self._expect(answer, operation.number, {200, 201})["id"])
        if again != slot.memory_id:
            self.oracle.problems.append(
                f"operation {operation.number} offered the content of {slot.memory_id} again and got {again}"
            )

    async def _update(self, http: httpx.AsyncClient, operation: Operation, slot: Slot) -> None:
        body: dict[str, Any] = {"tags": list(operation.tags)}
        if operation.kind == "update":
            body["content"] = operation.content
        await self._patch(http, operation, slot, body)
        expected = self.oracle.memories[slot.memory_id]
        expected.tags = {operation.tags}
        if operation.kind == "update":
            expected.contents = {operation.content}
        slot.as_made = False

    async def _race(self, http: httpx.AsyncClient, operation: Operation, slot: Slot) -> None:
        """Change the same content twice at the same time: either change may be the last."""
        contents = [f"{operation.content} {side}" for side in ("left", "right")]
        await asyncio.gather(*(self._patch(http, operation, slot, {"content": each}) for each in contents))
        self.oracle.memories[slot.memory_id].contents = set(contents)
        slot.as_made = False

    async def _soon(self, http: httpx.AsyncClient, operation: Operation, slot: Slot) -> None:
        """Set an expiry and clear it before it passes: the memory must stay active."""
        await self._patch(http, operation, slot, {"expires_at": _moment(3600)})
        await self._patch(http, operation, slot, {"expires_at": None})
        slot.as_made = False

    async def _expire(self, http: httpx.AsyncClient, operation: Operation, slot: Slot) -> None:
        """Let the memory expire. A request whose answer was lost may have taken effect (404). A time that has passed
        meanwhile is refused, so the next attempt sends a new one."""
        path = f"/v1/brain/memories/{slot.memory_id}"
        while True:
            answer = await self._insist(http, "PATCH", path, {"expires_at": _moment(LATER_S)})
            if answer.status_code not in {400, 422}:
                break
        if answer.status_code != 404:
            self._expect(answer, operation.number, {200})
        self.oracle.memories[slot.memory_id].reason = "expired"

    async def _patch(self, http: httpx.AsyncClient, operation: Operation, slot: Slot, body: dict[str, Any]) -> None:
        answer = await self._insist(http, "PATCH", f"/v1/brain/memories/{slot.memory_id}", body)
        self._expect(answer, operation.number, {200})

    async def _forget(self, http: httpx.AsyncClient, operation: Operation, slot: Slot) -> None:
        answer = await self._insist(http, "DELETE", f"/v1/brain/forget/{slot.memory_id}")
        self._expect(answer, operation.number, {200})
        self.oracle.memories[slot.memory_id].reason = "forgotten"

    async def _erase(self, http: httpx.AsyncClient, operation: Operation, slot: Slot) -> None:
        answer = await self._insist(http, "DELETE", f"/v1/brain/memories/{slot.memory_id}?erase=true")
        self._expect(answer, operation.number, {200})
        self.oracle.memories[slot.memory_id].reason = "erased"

    async def _restore(self, http: httpx.AsyncClient, operation: Operation, slot: Slot) -> None:
        answer = await self._insist(http, "POST", f"/v1/brain/memories/{slot.memory_id}:restore", {})
        self._expect(answer, operation.number, {200})
        self.oracle.memories[slot.memory_id].reason = ""

    async def _insist(
        self,
        http: httpx.AsyncClient,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        deadline = time.monotonic() + self.patience_s
        pause, trouble = 0.05, ""
        while time.monotonic() < deadline:
            self._place += 1
            url = self.urls[self._place % len(self.urls)]
            with contextlib.suppress(httpx.HTTPError):
                answer = await http.request(method, url + path, json=body, headers=headers)
                self.statuses[answer.status_code] += 1
                if answer.status_code not in UNSETTLED:
                    return answer
                trouble = f"{answer.status_code} {answer.text[:200]}"
            await asyncio.sleep(pause)
            pause = min(0.5, pause * 1.6)
        raise NeverAcknowledged(
            f"no answer in {self.patience_s:.0f} s; the last was {trouble or 'a broken connection'}"
        )

    def _expect(self, answer: httpx.Response, number: int, statuses: set[int]) -> dict[str, Any]:
        if answer.status_code not in statuses:
            raise NeverAcknowledged(f"operation {number} was refused: {answer.status_code} {answer.text[:300]}")
        told: dict[str, Any] = answer.json()
        return told


def _moment(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
