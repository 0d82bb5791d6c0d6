"""The base of every group of settings."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Group(BaseModel):
    """Base of a group of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_moved(cls, given: Any) -> Any:
        """Refuse names of the previous version, with a message on what replaced each."""
        inner = [name for name in ("tuning", "thresholds") if name in cls.model_fields]
        for name in given if isinstance(given, dict) else ():
            for group in inner:
                kind = cls.model_fields[group].annotation
                if isinstance(kind, type) and issubclass(kind, Group) and name in kind.model_fields:
                    prefix = f"OPENBRAIN_{cls.__name__}__".upper()
                    raise ValueError(_MOVED[group].format(group=prefix, name=name.upper()))
        return given


_MOVED = {
    "tuning": "{group}{name} is an internal number now: remove it, or name it {group}TUNING__{name}, which may change "
    "without notice",
    "thresholds": "{group}{name} is now {group}THRESHOLDS__{name}: rename it",
}
