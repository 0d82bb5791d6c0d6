"""API keys, and what they allow."""

from dataclasses import replace
from typing import Any

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Forbidden, Invalid, Unauthorised
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.store.tenants import ApiKey
from openbrain.usecases.auth import Actor, Keyring, hash_secret, issue
from tests.support.store.fixtures import START, FakeClock

READ = frozenset({Permission.BRAIN_READ})


def actor(**changes: Any) -> Actor:
    given: dict[str, Any] = {"key_id": "k1", "name": "laptop", "workspace_id": "w1", "agent_id": "ada"}
    return Actor(**({"permissions": READ} | given | changes))


class Keys:
    """The lookup that a keyring makes, counted; it answers as a database would."""

    def __init__(self, *keys: tuple[str, ApiKey]) -> None:
        self.keys = {hash_secret(secret): key for secret, key in keys}
        self.asked = 0

    async def key_by_hash(self, secret_hash: str) -> ApiKey | None:
        self.asked += 1
        return self.keys.get(secret_hash)


def new_key(**changes: Any) -> tuple[str, ApiKey]:
    given: dict[str, Any] = {"workspace_id": "w1", "name": "laptop", "permissions": READ, "now": START}
    key, secret = issue(**({**given, "agent_id": "ada"} | changes))
    return secret, key


def ring(clock: FakeClock, *keys: tuple[str, ApiKey]) -> tuple[Keyring, Keys]:
    access = Keys(*keys)
    return Keyring(access, clock), access  # type: ignore[arg-type]


def test_a_secret_is_long_and_random_and_only_its_hash_names_the_key() -> None:
    secret, key = new_key()

    assert secret.startswith("ob_")
    assert len(secret) == 46
    assert secret != new_key()[0]
    assert secret not in repr(key)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"permissions": frozenset()}, "permissions"),
        ({"permissions": frozenset({"brain.everything"})}, "permissions"),
        ({"permissions": frozenset({Permission.ADMIN}), "orgs": ("acme",)}, "orgs"),
        ({"expires_at": START}, "expires_at"),
    ],
)
def test_a_key_that_makes_no_sense_is_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        new_key(**changes)

    assert refused.value.field == field


async def test_the_bearer_of_a_key_is_its_actor() -> None:
    secret, key = new_key(orgs=("acme",), without_org=False, act_as=("bob",))
    keyring, _ = ring(FakeClock(), (secret, key))

    found = await keyring.actor(f"bearer {secret}")

    assert found == actor(key_id=key.id, orgs=("acme",), without_org=False, act_as=("bob",))


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Basic b2I=", "Bearer ob_unknown", "Bearer unknown", "ob_unknown"]
)
async def test_everything_else_gets_one_answer(header: str | None) -> None:
    keyring, _ = ring(FakeClock(), new_key())

    with pytest.raises(Unauthorised) as refused:
        await keyring.actor(header)

    assert str(refused.value) == "send a valid key as `Authorization: Bearer ob_...`"


async def test_an_expired_key_opens_nothing_from_that_moment() -> None:
    clock = FakeClock()
    secret, key = new_key(expires_at=START + 10)
    keyring, _ = ring(clock, (secret, key))
    clock.advance(9)
    await keyring.actor(f"Bearer {secret}")
    clock.advance(1)

    with pytest.raises(Unauthorised):
        await keyring.actor(f"Bearer {secret}")


async def test_requests_cost_no_read_and_a_revoked_key_still_ends_within_a_second() -> None:
    clock = FakeClock()
    secret, key = new_key()
    keyring, access = ring(clock, (secret, key))
    for _ in range(100):
        await keyring.actor(f"Bearer {secret}")
        clock.advance(MICROSECONDS // 200)
    assert access.asked == 1

    access.keys = {hash_secret(secret): replace(key, revoked_at=clock.now())}
    clock.advance(MICROSECONDS)

    with pytest.raises(Unauthorised):
        await keyring.actor(f"Bearer {secret}")


async def test_a_clock_that_is_set_back_does_not_prolong_what_was_remembered() -> None:
    clock = FakeClock()
    secret, key = new_key()
    keyring, access = ring(clock, (secret, key))
    await keyring.actor(f"Bearer {secret}")
    clock.advance(-60 * MICROSECONDS)

    await keyring.actor(f"Bearer {secret}")

    assert access.asked == 2


async def test_what_a_keyring_remembers_is_bounded() -> None:
    access = Keys(new_key())
    keyring = Keyring(access, FakeClock(), size=10)  # type: ignore[arg-type]
    for number in range(100):
        with pytest.raises(Unauthorised):
            await keyring.actor(f"Bearer ob_{number}")

    assert len(keyring._known) == 10


@pytest.mark.parametrize(
    ("own", "act_as", "named", "expected"),
    [
        ("ada", (), None, "ada"),
        ("ada", (), "bob", "ada"),
        ("ada", ("bob",), "bob", "bob"),
        ("ada", ("bob",), "eve", "ada"),
        ("ada", ("*",), "eve", "eve"),
        ("ada", ("*",), "", "ada"),
        ("", (), "bob", ""),
        ("", ("bob",), "bob", "bob"),
        ("", ("bob",), "eve", ""),
    ],
)
def test_the_agent_is_the_keys_unless_it_may_act_as_another(
    own: str, act_as: tuple[str, ...], named: str | None, expected: str
) -> None:
    assert actor(agent_id=own, act_as=act_as).speaking_as(named).agent_id == expected


def test_orgs_limit_what_may_be_written_and_asked_for() -> None:
    limited = actor(orgs=("acme",), without_org=False)
    with_none = actor(orgs=("acme",))

    limited.may_write_to("acme")
    with_none.may_write_to("")
    limited.may_ask_for("")
    actor().may_write_to("any")
    with pytest.raises(Forbidden):
        limited.may_write_to("")
    with pytest.raises(Forbidden):
        limited.may_write_to("other")
    with pytest.raises(Forbidden):
        limited.may_ask_for("other")
    with pytest.raises(Forbidden):
        with_none.may_write_to("other")


def test_a_missing_permission_is_named() -> None:
    with pytest.raises(Forbidden, match=r"brain\.write"):
        actor().require(Permission.BRAIN_WRITE)
