"""What an agent knows does not depend on the order in which it received broadcasts, nor on how often."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from openbrain.client.subscriber.halts import Halts, halt_of
from openbrain.client.subscriber.progress import Progress
from openbrain.domain.events.data import Broadcast
from openbrain.domain.signals.values import Halt, HaltScope, HaltState
from tests.support.signals.agents import broadcast

RUN = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from(list(HaltState))), max_size=12).map(
    lambda said: [broadcast(seq, halt, state) for seq, (halt, state) in enumerate(said, 1)]
)


def stands(halts: Halts) -> set[str]:
    return {halt.id for halt in halts.standing}


def standing(run: Sequence[Broadcast]) -> set[str]:
    """The halts that are open after these broadcasts in order."""
    last = {each.halt_id: each.halt_state for each in run}
    return {str(halt) for halt, state in last.items() if state is HaltState.OPEN}


@given(RUN.flatmap(lambda run: st.tuples(st.just(run), st.permutations([*run, *run]))))
def test_halts_are_the_same_in_any_order(drawn: tuple[list[Broadcast], list[Broadcast]]) -> None:
    run, order = drawn
    halts = Halts()
    for each in order:
        halts.apply(each)

    assert stands(halts) == standing(run)


@given(RUN, st.data())
def test_a_state_read_meanwhile_changes_nothing(run: list[Broadcast], data: st.DataObject) -> None:
    """The state may be older than the broadcasts already applied, or newer: then broadcasts that it covers arrive
    again."""
    at = data.draw(st.integers(0, len(run)))
    apply = data.draw(st.integers(0, len(run)))
    halts = Halts()
    for each in run[:apply]:
        halts.apply(each)
    open_then = standing(run[:at])
    halts.present(at, [halt_of(each) for each in run if each.halt_id in open_then])

    assert stands(halts) == standing(run[: max(at, apply)])

    for each in run:
        halts.apply(each)

    assert stands(halts) == standing(run)


def test_a_truth_that_was_put_back_takes_its_halts_with_it() -> None:
    halts = Halts()
    halts.apply(broadcast(9, "a", HaltState.OPEN))
    halts.present(4, [], rewound=True)

    assert stands(halts) == set()

    halts.apply(broadcast(5, "b", HaltState.OPEN))

    assert stands(halts) == {"b"}


def test_only_halts_of_its_own_scope_stop_an_agent() -> None:
    def stops(scope: HaltScope, org: str, project: str, *, mine: tuple[str, str]) -> bool:
        halts = Halts(*mine)
        halts.apply(broadcast(1, "a", HaltState.OPEN, halt_scope=scope, org=org, project=project))
        return bool(halts.standing)

    assert stops(HaltScope.WORKSPACE, "x", "p", mine=("y", "q"))
    assert stops(HaltScope.ORG, "x", "p", mine=("x", "q"))
    assert not stops(HaltScope.ORG, "x", "p", mine=("y", "p"))
    assert not stops(HaltScope.PROJECT, "x", "p", mine=("x", "q"))
    assert stops(HaltScope.PROJECT, "x", "p", mine=("", "")), "an agent that names neither must stop"


def test_a_state_tells_the_halts_of_one_scope_only() -> None:
    halts = Halts("y", "")
    halts.present(3, [Halt(id="a", workspace_id="w", signal_id="s", scope=HaltScope.ORG, org="x", raised_at=0)])

    assert stands(halts) == set()


@given(st.integers(0, 5), st.lists(st.integers(1, 30), max_size=60), st.lists(st.integers(0, 30), max_size=3))
def test_progress_is_what_has_no_gap(start: int, order: list[int], complete: list[int]) -> None:
    progress = Progress(start)
    apply: set[int] = set(range(start + 1))
    for seq in order:
        assert progress.note(seq) == (seq not in apply)
        apply.add(seq)
    for through in complete:
        progress.complete(through)
        apply |= set(range(through + 1))

    done = next(seq for seq in range(40) if seq + 1 not in apply)
    assert progress.done == done
    assert progress.top == max(apply)
    assert progress.gap == (max(apply) > done)
