"""Groups of settings from flat names; a name may be a setting or one of the values in `tuning`."""

from typing import Any, TypeVar

from openbrain.settings.groups import Group

G = TypeVar("G", bound=Group)


def group_of(kind: type[G], **values: Any) -> G:
    """Return a group of `kind` with these values."""
    own = {name: value for name, value in values.items() if name in kind.model_fields}
    tuned = {name: value for name, value in values.items() if name not in own}
    return kind.model_validate(own | ({"tuning": tuned} if tuned else {}))


def changed(group: G, **values: Any) -> G:
    """Return a copy of `group` with these values. They are not validated."""
    own = {name: value for name, value in values.items() if name in type(group).model_fields}
    tuned = {name: value for name, value in values.items() if name not in own}
    if tuned:
        tuning: Group = group.tuning  # type: ignore[attr-defined]
        own["tuning"] = tuning.model_copy(update=tuned)
    return group.model_copy(update=own)
