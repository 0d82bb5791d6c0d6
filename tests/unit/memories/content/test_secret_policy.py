"""What is masked or refused before it is stored, on the labelled set and on other texts."""

import asyncio
import sys

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.support.labelled.secret_samples import HALVES, digest, samples
from openbrain.adapters.local import secret_detector
from openbrain.adapters.local.secret_detector import SecretDetector, may_hold_secret
from openbrain.adapters.local.secret_rules import SecretRules
from openbrain.domain.errors import Invalid, TryLater
from openbrain.ports.content import Admission
from openbrain.runtime.adapters import content_policy
from openbrain.settings import Secrets, Settings
from openbrain.usecases.content.policy import DetectingPolicy
from openbrain.vault.markers import redaction

FROZEN = {
    "first": "100e98c6eac15364985ac787045d5bfcb998c4a0d932fd081a6df8f6393827e2",
    "second": "99ccdc86b38c8bde25d598c959b5e90dbe590aa0f65ee08073d1e37e8cc5f99e",
}
TRUE, FALSE = [each for each in samples() if each.secret], [each for each in samples() if not each.secret]
SECRET = next(each.value for each in TRUE if each.kind == "github token")


def policy(*, refuse: bool = False) -> Admission:
    return DetectingPolicy(SecretDetector(), refuse_secrets=refuse).of("w1")


def admit(text: str, *, refuse: bool = False) -> str:
    return policy(refuse=refuse).admit([("content", text)]).texts[0]


def test_the_set_is_the_one_that_was_laid_down() -> None:
    assert (len(TRUE), len(FALSE)) == (300, 300)
    assert {half: digest(samples(), half) for half in HALVES} == FROZEN


@pytest.mark.parametrize("half", HALVES)
def test_secrets_are_masked_and_what_only_looks_like_one_stays(half: str) -> None:
    masked = [admit(each.text) != each.text for each in TRUE if each.half == half]
    alarms = [each.text for each in FALSE if each.half == half and admit(each.text) != each.text]

    assert sum(masked) / len(masked) >= 0.97
    assert len(alarms) / 150 <= 0.02, alarms


def test_no_part_of_a_masked_secret_is_left_and_masking_again_changes_nothing() -> None:
    for each in TRUE:
        masked = admit(f"Grüße — {each.text} 🙂")
        if masked == f"Grüße — {each.text} 🙂":
            continue
        assert "[redacted: " in masked
        assert masked.startswith("Grüße — ")
        assert admit(masked) == masked
        if " " not in each.value and "://" not in each.value:
            assert each.value[-12:] not in masked


def test_a_refusal_names_the_kind_and_never_the_value() -> None:
    with pytest.raises(Invalid, match="github-pat") as refused:
        admit(f"It is {SECRET} until Friday", refuse=True)

    assert SECRET not in str(refused.value)
    assert refused.value.field == "content"


def test_the_setting_says_what_is_done() -> None:
    def admitted(policy: str) -> str:
        secrets = Secrets.model_validate({"policy": policy})
        made = content_policy(Settings(_env_file=None, secrets=secrets))
        return made.of("w1").admit([("content", SECRET)]).texts[0]

    assert admitted("mask") == "[redacted: github-pat]"
    assert admitted("store") == SECRET
    with pytest.raises(Invalid):
        admitted("refuse")


def test_every_secret_passes_the_first_look_and_prose_does_not() -> None:
    assert all(may_hold_secret(each.text) for each in TRUE)
    assert not may_hold_secret("Deploys are on Tuesdays: whoever deploys says so in the channel.")
    assert not may_hold_secret("Note: a token is renewed every hour.")


@given(st.text(max_size=200))
def test_a_text_of_any_letters_is_admitted(text: str) -> None:
    """Also checked for text that UTF-8 can't encode, although the submission refuses it earlier."""
    if text.isprintable():
        assert isinstance(admit(text), str)


@given(st.from_regex(secret_detector._ASSIGNED), st.from_regex(redaction._KEYS))
def test_a_quick_look_misses_nothing_that_a_rule_finds(assigned: str, key: str) -> None:
    assert secret_detector._names_secret(assigned)
    assert redaction._LONG.search(key) is not None


def test_each_text_is_masked_where_it_stands() -> None:
    given = [
        ("content", "Grüße"),
        ("title", f"é {SECRET} é"),
        ("metadata", "token"),
        ("metadata.password", "Xk29vplq77Zt"),
    ]
    masked = policy().admit(given).texts

    assert masked == ["Grüße", "é [redacted: github-pat] é", "token", "[redacted: assigned-password]"]
    with pytest.raises(Invalid) as refused:
        policy(refuse=True).admit(given)
    assert refused.value.field == "title"


async def test_the_loop_turns_while_the_rules_are_loaded() -> None:
    rules, turns = SecretRules(), 0
    waiting = [asyncio.ensure_future(rules.ready()) for _ in range(3)]
    while not all(each.done() for each in waiting):
        turns += 1
        await asyncio.sleep(0.001)

    assert [await each for each in waiting] == [True] * 3
    assert turns > 20


async def test_without_the_rules_our_own_remain_and_who_refuses_stores_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "kingfisher_sdk", None)
    with structlog.testing.capture_logs() as logs:
        masking = DetectingPolicy(SecretDetector(SecretRules()))
        await masking.ready()
    assert [each["event"] for each in logs] == ["secrets.rules_not_loaded"]
    masked = masking.of("w1").admit([("content", "password: Xk29vplq77Zt")])
    assert masked.texts == ["password: [redacted: assigned-password]"]
    with pytest.raises(TryLater, match="rules_not_loaded"):
        await DetectingPolicy(SecretDetector(SecretRules()), refuse_secrets=True).ready()
