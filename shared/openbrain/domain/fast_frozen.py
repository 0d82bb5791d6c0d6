"""Frozen values, made as quickly as open ones: every memory passes through a dozen of them."""

from collections.abc import Callable
from dataclasses import MISSING, Field, field, fields, make_dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")


def fast_constructor(frozen: type[T]) -> type[T]:
    """To be called like the frozen dataclass with slots, whose own constructor takes twice as long.

    No `__post_init__` is run, so that a class that has one is refused.
    """
    return cast("type[T]", _constructor(frozen, _like))


def positional_constructor(frozen: type[T]) -> Callable[..., T]:
    """A constructor that takes all fields in their order."""
    return _constructor(frozen, lambda _: field())


def _constructor(frozen: type[T], like: Callable[["Field[Any]"], Any]) -> Callable[..., T]:
    if hasattr(frozen, "__post_init__"):
        raise TypeError(f"{frozen.__name__} checks its fields: use its own constructor")
    own = fields(cast("Any", frozen))
    # The same slots without the freeze: an instance may change from the one to the other.
    twin: type[Any] = make_dataclass(frozen.__name__, [(item.name, Any, like(item)) for item in own], slots=True)

    def make(*given: Any, **named: Any) -> T:
        value = twin(*given, **named)
        value.__class__ = frozen
        return cast("T", value)

    return make


def _like(declared: "Field[Any]") -> Any:
    if declared.default_factory is not MISSING:
        return field(default_factory=declared.default_factory, kw_only=declared.kw_only)
    return field(default=declared.default, kw_only=declared.kw_only)
