"""The ACL rules of the stream server's users are derived from the table of streams."""

from pathlib import Path

import pytest

from openbrain.domain.errors import Invalid
from openbrain.domain.events.streams import STREAMS
from openbrain.streams.operating import acl

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "redis-acl.md"


def test_the_reference_page_is_true() -> None:
    assert PAGE.read_text(encoding="utf-8") == acl.page(), "write it again: openbrain acl --reference > that file"


def test_every_group_has_a_user() -> None:
    groups = {group for stream in STREAMS for group in stream.groups}
    assert groups | {"housekeeper", "api", "scaler", "producer"} == {user.name for user in acl.users()}


@pytest.mark.parametrize("workspace", ["*", "a b", "a~b", "", "team.a", "x)"])
def test_a_workspace_that_would_say_something_else_is_refused(workspace: str) -> None:
    with pytest.raises(Invalid, match="workspace"):
        acl.users("", [workspace])


def test_the_default_user_is_off_and_no_password_is_written_down() -> None:
    users = acl.users("p.", ["team-a"])
    text = acl.acl_file(users, {user.name: f"secret-of-{user.name}" for user in users})
    assert text.startswith("user default off")
    assert "secret" not in text
    assert len(text.splitlines()) == len(users) + 1
