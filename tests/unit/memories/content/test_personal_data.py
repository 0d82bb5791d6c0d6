"""Detection of personal data, on the labelled set and on other texts, and what a workspace's rule does with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.support.labelled.personal_samples import personal_samples
from benchmarks.support.labelled.secret_samples import HALVES, digest
from openbrain.adapters.personal_data.detection import PersonalDataDetector, may_hold_personal_data, personal_data
from openbrain.domain.errors import Invalid
from openbrain.ports.content import Action, Admission, PersonalDataRule, PersonalDataRules
from openbrain.usecases.content.policy import LABEL, DetectingPolicy

FROZEN = {
    "first": "b4b82222a7b31425222971d9d0d92a5dbf567679c00d86734f78083d536a7937",
    "second": "55d818fa2c2497cf6edff79174394fffd0da0c824c2b9cee755e4d77d797db87",
}
SET = personal_samples()
MAIL = "anna.muster@example.com"
KEYS = {"w1": "1" * 64, "w2": "2" * 64}


async def admission(action: Action, workspace_id: str = "w1") -> Admission:
    async def rules() -> PersonalDataRules:
        return {name: PersonalDataRule(action, key) for name, key in KEYS.items()}

    policy = DetectingPolicy(personal=PersonalDataDetector(), rules=rules)
    await policy.ready()
    return policy.of(workspace_id)


def test_the_set_is_the_one_that_was_laid_down() -> None:
    assert [sum(each.secret is personal for each in SET) for personal in (True, False)] == [300, 300]
    assert {half: digest(SET, half) for half in HALVES} == FROZEN


@pytest.mark.parametrize("half", HALVES)
def test_it_is_found_and_what_only_looks_like_it_is_not(half: str) -> None:
    found = [bool(personal_data(each.text)) for each in SET if each.secret and each.half == half]
    alarms = [each.text for each in SET if not each.secret and each.half == half and personal_data(each.text)]

    assert sum(found) / len(found) >= 0.97
    assert len(alarms) / 150 <= 0.02, alarms


async def test_nothing_of_a_masked_value_is_left_and_masking_again_changes_nothing() -> None:
    masking = await admission(Action.MASK)
    for each in [each for each in SET if each.secret]:
        (masked,) = masking.admit([("content", f"Grüße 🙂 {each.text}")]).texts
        assert masked.startswith("Grüße 🙂 ")
        assert "[redacted: " in masked
        if " " not in each.value and "://" not in each.value:
            assert each.value[-8:] not in masked
        assert masking.admit([("content", masked)]).texts == [masked]


async def test_a_hash_is_the_same_for_the_same_value_and_another_in_another_workspace() -> None:
    ours, theirs = await admission(Action.HASH), await admission(Action.HASH, "w2")
    texts = [("content", "call +1 212 555 0140"), ("title", "was +1-212-555-0140"), ("tags", "+1 212 555 0141")]
    hashes = [text.rpartition("[")[2] for text in ours.admit(texts).texts]

    assert hashes[0] == hashes[1] != hashes[2]
    assert hashes[0].startswith("phone: ")
    assert theirs.admit(texts[:1]).texts[0].rpartition("[")[2] != hashes[0]


async def test_a_refusal_names_field_and_kind_and_what_must_be_kept_is_masked() -> None:
    refusing = await admission(Action.REFUSE)
    with pytest.raises(Invalid, match="email") as refused:
        refusing.admit([("content", "fine"), ("metadata.owner", MAIL)])

    assert (refused.value.field, MAIL in str(refused.value)) == ("metadata.owner", False)
    assert refusing.admit([("content", MAIL)], refusing=False).texts == ["[redacted: email]"]


async def test_a_label_leaves_the_texts_and_without_a_rule_nothing_is_looked_for() -> None:
    labelling = await admission(Action.LABEL)

    assert labelling.admit([("content", MAIL)]).texts == [MAIL]
    assert labelling.admit([("content", MAIL)]).tags == (LABEL,)
    assert labelling.admit([("content", "fine")]).tags == ()
    assert (await admission(Action.MASK, "another")).passes([("content", MAIL)])


async def test_a_key_of_metadata_tells_what_its_value_is() -> None:
    masking = await admission(Action.MASK)

    assert masking.admit([("metadata.bsn", "111222333")]).texts == ["[redacted: national-id-nl]"]
    assert masking.passes([("metadata.rows", "111222333")])


def test_an_identity_number_of_a_county_that_is_no_more_is_found() -> None:
    assert [finding.kind for finding in personal_data("身份证号码: 441618196106249776")] == ["national-id-cn"]
    assert not personal_data("身份证号码: 441618196106249775")


def test_the_first_look_lets_prose_pass_and_nothing_else() -> None:
    assert all(may_hold_personal_data(each.text) for each in SET if each.secret)
    assert not may_hold_personal_data("Deploys are on Tuesdays at 9: whoever deploys says so in the channel.")


@given(st.text(alphabet="0123456789+-. @:/()azAZ[]\n", max_size=120))
def test_findings_lie_in_order_and_apart(text: str) -> None:
    at = 0
    for each in personal_data(text):
        assert at <= each.start < each.end <= len(text)
        at = each.end
