"""How raises, people and time change a signal, tested on plain values."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.errors import Conflict, Invalid
from openbrain.domain.events.data import SignalRaised
from openbrain.domain.ids import content_hash
from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.domain.signals.rules import (
    SignalTimes,
    acknowledged,
    checked,
    due_at,
    halt_expired,
    halted,
    held,
    identity,
    merged,
    must_tell,
    opened,
    resolved,
    resumed,
    storm_identity,
    swept,
    text_hash,
)
from openbrain.domain.signals.values import (
    OPEN_STATES,
    TRANSITIONS,
    Acknowledgement,
    Halt,
    HaltScope,
    HaltState,
    Severity,
    SignalState,
    Step,
    Subscriber,
    missing,
    stronger,
)
from openbrain.settings import Settings
from openbrain.settings.groups import Group
from tests.support.signals.raising import raised
from tests.support.store.fixtures import START

TIMES = SignalTimes()
QUIET = TIMES.quiet
GRAVE = [Severity.CRITICAL, Severity.NUCLEAR]


def test_what_has_ended_stays_ended() -> None:
    """An ended signal is raised anew as another row; the row of the old one never opens again."""
    ended = set(SignalState) - OPEN_STATES
    assert {state for (state, _), after in TRANSITIONS.items() if state in ended and after in OPEN_STATES} == set()
    assert {after for (state, step), after in TRANSITIONS.items() if step is Step.WORSENED} <= {
        SignalState.ACTIVE,
        SignalState.ESCALATED,
    }
    assert {state for state in SignalState if all((state, step) not in TRANSITIONS for step in Step)} == {
        SignalState.TOMBSTONED
    }


def test_every_open_state_can_be_left() -> None:
    for state in OPEN_STATES:
        assert TRANSITIONS[state, Step.RESOLVED] is SignalState.RESOLVED
        assert TRANSITIONS[state, Step.EXPIRED] is SignalState.EXPIRED
        assert TRANSITIONS[state, Step.RAISED] is state


def test_severities_are_ordered() -> None:
    assert [each.rank for each in Severity] == [0, 1, 2, 3]
    assert [each.below for each in Severity] == [None, Severity.INFO, Severity.WARNING, Severity.CRITICAL]
    assert stronger(Severity.NUCLEAR, Severity.WARNING) is stronger(Severity.WARNING, Severity.NUCLEAR)


@pytest.mark.parametrize("severity", GRAVE)
def test_a_grave_signal_that_nobody_acknowledged_never_clears_by_quiet(severity: Severity) -> None:
    signal = opened(raised(severity=severity), START)
    assert swept(signal, START + DAY - 1, TIMES) is None
    step, after = swept(signal, START + DAY, TIMES) or (None, signal)
    assert (step, after.state, after.severity) == (Step.ESCALATED, SignalState.ESCALATED, severity)
    assert due_at(after, TIMES) is None
    assert swept(after, START + 1000 * DAY, TIMES) is None


def test_the_day_counts_from_the_first_raise() -> None:
    signal = opened(raised(severity=Severity.CRITICAL), START)
    for hour in range(1, 24):
        _, signal = merged(signal, raised(severity=Severity.CRITICAL, at=START + hour), START + hour)
    assert due_at(signal, TIMES) == START + DAY


@pytest.mark.parametrize(("severity", "lowered"), [(Severity.INFO, 0), (Severity.WARNING, 1)])
def test_quiet_lowers_and_then_resolves(severity: Severity, lowered: int) -> None:
    assert quieted(opened(raised(severity=severity), START)) == [Step.LOWERED] * lowered + [Step.RESOLVED]


@pytest.mark.parametrize(("severity", "lowered"), [(Severity.WARNING, 1), (Severity.NUCLEAR, 3)])
def test_quiet_lowers_what_is_acknowledged(severity: Severity, lowered: int) -> None:
    seen = acknowledged(opened(raised(severity=severity), START), "bob", START)
    assert quieted(seen) == [Step.LOWERED] * lowered + [Step.RESOLVED]


def test_what_is_held_grows_quiet_and_ends_when_it_is_held_no_longer() -> None:
    until = START + 20 * QUIET
    _, signal = swept(opened(raised(held_until=until), START), START + QUIET, TIMES) or pytest.fail("not lowered")
    assert due_at(signal, TIMES) == until
    assert swept(signal, until - 1, TIMES) is None
    step, _ = swept(signal, until, TIMES) or pytest.fail("not resolved")
    assert step is Step.RESOLVED


def test_it_is_held_longer_only_once_half_of_the_time_is_over() -> None:
    signal = opened(raised(held_until=START + 10), START)
    assert held(signal, raised(held_until=START + 15), START + 5) is signal
    assert held(signal, raised(held_until=START + 16), START + 6).held_until == START + 16
    ended = resolved(signal, "bob", "", START + 1)
    assert held(ended, raised(held_until=START + 16), START + 6) is ended


def quieted(signal: Any) -> list[Step]:
    done, now = [], START
    while signal.state.open:
        assert swept(signal, now + QUIET - 1, TIMES) is None
        now += QUIET
        step, signal = swept(signal, now, TIMES) or pytest.fail("nothing was due")
        done.append(step)
    return done


def test_a_raise_ends_the_quiet() -> None:
    seen = acknowledged(opened(raised(severity=Severity.NUCLEAR), START), "bob", START)
    _, lower = swept(seen, START + QUIET, TIMES) or pytest.fail("not lowered")
    assert lower.broadcast_severity is Severity.CRITICAL
    step, again = merged(lower, raised(severity=Severity.NUCLEAR), START + QUIET + 1)
    assert (step, again.state) == (Step.RAISED, SignalState.ACKNOWLEDGED)
    assert again.broadcast_severity is Severity.NUCLEAR
    assert must_tell(lower, again, START + QUIET + 1, TIMES)
    assert due_at(again, TIMES) == START + QUIET + 1 + QUIET


def test_an_acknowledgement_begins_the_quiet() -> None:
    old = opened(raised(severity=Severity.CRITICAL), START)
    assert due_at(acknowledged(old, "bob", START + DAY - 1), TIMES) == START + DAY - 1 + QUIET


def test_a_stronger_raise_undoes_an_acknowledgement_and_a_weaker_does_not() -> None:
    seen = acknowledged(opened(raised(severity=Severity.WARNING), START), "bob", START)
    assert merged(seen, raised(severity=Severity.INFO), START)[1].state is SignalState.ACKNOWLEDGED
    step, worse = merged(seen, raised(severity=Severity.CRITICAL, title="worse"), START)
    assert (step, worse.state, worse.title) == (Step.WORSENED, SignalState.ACTIVE, "worse")
    assert merged(worse, raised(severity=Severity.INFO, at=START + 9), START)[1].title == "worse"


def test_ttl_ends_also_what_nobody_acknowledged() -> None:
    signal = opened(raised(severity=Severity.NUCLEAR, ttl_s=60), START)
    assert due_at(signal, TIMES) == START + 60 * MICROSECONDS
    step, after = swept(signal, START + 60 * MICROSECONDS, TIMES) or pytest.fail("not expired")
    assert (step, after.state, after.ended_by) == (Step.EXPIRED, SignalState.EXPIRED, "time")


def test_the_longest_ttl_counts() -> None:
    signal = opened(raised(ttl_s=60), START)
    _, longer = merged(signal, raised(ttl_s=120), START)
    assert longer.expires_at == START + 120 * MICROSECONDS
    assert merged(longer, raised(ttl_s=10), START)[1].expires_at == longer.expires_at
    assert merged(longer, raised(), START)[1].expires_at is None


def test_what_has_ended_is_told_of_once_more() -> None:
    over = resolved(opened(raised(), START), "bob", "fixed", START)
    assert due_at(over, TIMES) == START + TIMES.tombstone
    step, after = swept(over, START + TIMES.tombstone, TIMES) or pytest.fail("not due")
    assert (step, after.state) == (Step.TOMBSTONED, SignalState.TOMBSTONED)
    assert due_at(after, TIMES) is None
    assert resolved(after, "eve", "again", START) == after
    assert acknowledged(after, "eve", START) == after


def test_more_of_the_same_is_told_after_a_while() -> None:
    before = replace(opened(raised(), START), told_at=START)
    _, after = merged(before, raised(), START)
    assert not must_tell(before, after, START + TIMES.dedupe - 1, TIMES)
    assert must_tell(before, after, START + TIMES.dedupe, TIMES)


def test_identity_is_whose_it_is_and_what_it_says() -> None:
    same = [
        raised(),
        raised(severity=Severity.NUCLEAR, title="another", at=START + 1),
        raised(content=" sda1 at 95 % \n"),
    ]
    others = [
        raised(content="other"),
        raised(source="Disk"),
        raised(org="acme"),
        raised(project="p"),
        raised(dedup_key="k"),
        raised(content=""),
    ]
    assert {identity(each) for each in same} == {identity(raised())}
    assert len({identity(each) for each in [raised(), *others]}) == len(others) + 1
    assert identity(raised(dedup_key="k", content="a")) == identity(raised(dedup_key="k", content="b"))
    assert identity(raised(dedup_key="k", source="a")) != identity(raised(dedup_key="k", source="b"))
    assert storm_identity(raised()) not in {identity(each) for each in same}
    assert text_hash(" all ", "title") == content_hash("all")
    assert text_hash("", " title") == content_hash("title")


def test_a_halt_widens_and_lengthens_and_ends_once() -> None:
    signal = opened(raised(org="acme", project="p"), START)
    narrow = halted(None, signal, raised(halt=True, halt_scope=HaltScope.PROJECT, ttl_s=60), START)
    assert narrow is not None
    assert halted(narrow, signal, raised(halt=True, halt_scope=HaltScope.PROJECT, ttl_s=30), START) is None
    wide = halted(narrow, signal, raised(halt=True, halt_scope=HaltScope.WORKSPACE), START)
    assert wide is not None
    assert (wide.id, wide.scope, wide.expires_at) == (narrow.id, HaltScope.WORKSPACE, None)
    assert halted(wide, signal, raised(halt=True, halt_scope=HaltScope.ORG), START) is None
    over = resumed(wide, "admin", "go on", START)
    assert (over.state, over.ended_by, over.note) == (HaltState.RESUMED, "admin", "go on")
    assert resumed(over, "other", "", START + 1) == over
    assert halted(over, signal, raised(halt=True), START) is None
    with pytest.raises(Conflict, match="expired"):
        resumed(halt_expired(narrow, START), "admin", "", START)
    again = halted(halt_expired(narrow, START), signal, raised(halt=True), START + 1)
    assert again is not None
    assert (again.id, again.state, again.scope, again.ended_at) == (
        narrow.id,
        HaltState.OPEN,
        HaltScope.WORKSPACE,
        None,
    )


def test_who_is_lacking_of_those_in_scope() -> None:
    def listener(name: str, org: str = "", project: str = "") -> Subscriber:
        return Subscriber(workspace_id="w1", agent_id=name, org=org, project=project)

    fleet = [listener("a", "acme", "p"), listener("b", "acme", "q"), listener("c", "other", "p"), listener("d")]
    halt = Halt(id="h", workspace_id="w1", signal_id="s", scope=HaltScope.PROJECT, org="acme", project="p", raised_at=1)
    acks = [Acknowledgement(agent_id="d", at=1)]
    assert missing(halt, fleet, acks) == ("a",)
    assert missing(replace(halt, scope=HaltScope.ORG), fleet, acks) == ("a", "b")
    assert missing(replace(halt, scope=HaltScope.WORKSPACE), fleet, acks) == ("a", "b", "c")


def test_what_comes_in_is_trimmed_and_held_against_the_rules() -> None:
    def event(**changes: Any) -> SignalRaised:
        given = {"workspace_id": "w1", "source": " disk ", "severity": "nuclear", "title": " t ", "content": " c\n"}
        return SignalRaised.model_validate(given | changes)

    taken = checked(event(org=" acme "), actor="a" * 300, at=5, workspace_id="bound")
    assert (taken.source, taken.title, taken.content, taken.org) == ("disk", "t", "c", "acme")
    assert (taken.workspace_id, len(taken.actor), taken.halts) == ("bound", 100, True)
    for changes, field in [
        ({"source": "  "}, "source"),
        ({"title": "\t"}, "title"),
        ({"halt_scope": "org"}, "org"),
        ({"halt_scope": "project", "org": "acme"}, "project"),
        ({"halt_scope": "project", "project": "p"}, "org"),
    ]:
        with pytest.raises(Invalid) as caught:
            checked(event(**changes), actor="ada", at=5)
        assert caught.value.field == field


def test_the_times_of_the_rules_are_the_settings() -> None:
    group: Group = Settings().signals
    assert Settings().signals.times() == SignalTimes()
    assert "quiet_s" in type(group).model_fields


SEVERITIES = st.sampled_from(list(Severity))
MORE = st.lists(st.tuples(SEVERITIES, st.integers(0, 3), st.sampled_from(["a", "b"])), min_size=2, max_size=6)


@given(MORE, st.randoms(use_true_random=False))
def test_the_order_of_raises_does_not_matter(more: list[tuple[Severity, int, str]], random: Any) -> None:
    """All raises have one identity, given by the dedup key."""
    some = [
        raised(severity=severity, at=START + at, content=text, title=text, dedup_key="k", ttl_s=at or None)
        for severity, at, text in more
    ]
    shuffled = some[:]
    random.shuffle(shuffled)
    ends = []
    for each in (some, shuffled):
        signal = opened(each[0], START)
        for another in each[1:]:
            _, signal = merged(signal, another, START)
        ends.append(replace(signal, id=""))
    assert ends[0] == ends[1]
    assert ends[0].severity.rank == max(severity.rank for severity, _, _ in more)
