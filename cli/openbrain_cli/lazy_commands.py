"""Declaration of commands, and their import on first use, so that help is shown quickly."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from importlib import import_module
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from openbrain_cli.system.shell.suggestions import SuggestingGroup

Function = Callable[..., Any]


class Later(TyperCommand):
    """Placeholder in the list of commands; it loads the command when that is called."""

    def __init__(self, name: str, target: str, about: str) -> None:
        super().__init__(name, help=about)
        self._target = target

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        return self.load().make_context(*arguments, **options)

    def load(self) -> Any:
        """Load the command: a function, or a typer app with subcommands."""
        module, _, name = self._target.partition(":")
        target = getattr(import_module(f"openbrain_cli.{module}"), name)
        if not isinstance(target, typer.Typer):
            alone = new_app()
            alone.command(self.name)(target)
            target = alone
        return typer.main.get_command(target)


def group_of(sections: Mapping[str, Mapping[str, tuple[str, str]]]) -> type[TyperGroup]:
    """Make a group of commands: section of the help -> name -> (module of this package:function, description)."""

    class Group(SuggestingGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            self.commands = {
                name: Later(name, target, about)
                for commands in sections.values()
                for name, (target, about) in commands.items()
            }

        def format_commands(self, _ctx: Any, formatter: Any) -> None:
            width = max(len(name) for name in self.commands)
            for title, commands in sections.items():
                with formatter.section(title):
                    formatter.write_dl([(name.ljust(width), about) for name, (_, about) in commands.items()])

    return Group


def new_app(**settings: Any) -> typer.Typer:
    """Make a typer app with our settings: plain help, no decorated tracebacks."""
    return typer.Typer(
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **{"add_completion": False, "cls": SuggestingGroup, **settings},
    )


def command(*examples: str) -> Callable[[Function], Function]:
    """Make a function a command: add the examples to its help, one per line, and replace a dataclass parameter by
    one option per field."""

    def made(function: Function) -> Function:
        own = inspect.signature(function, eval_str=True).parameters.values()
        bundles: dict[str, Any] = {item.name: item.annotation for item in own if is_dataclass(item.annotation)}
        ordered = sorted(own, key=lambda item: item.name in bundles)
        options = [option for item in ordered for option in _options(item)]

        def called(**given: Any) -> Any:
            for name, bundle in bundles.items():
                given[name] = bundle(**{option.name: given.pop(option.name) for option in fields(bundle)})
            return function(**given)

        shown = "\n".join(f"  {example}" for example in examples)
        called.__name__ = function.__name__
        called.__doc__ = f"{inspect.getdoc(function)}\n\n\b\nExamples:\n{shown}"
        called.__annotations__ = {item.name: item.annotation for item in options}
        vars(called)["__signature__"] = inspect.Signature(options)
        return called

    return made


def _options(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    if not is_dataclass(parameter.annotation):
        return [parameter.replace(kind=kind)]
    hints = get_type_hints(parameter.annotation, include_extras=True)
    return [
        inspect.Parameter(field.name, kind, default=_default(field), annotation=hints[field.name])
        for field in fields(parameter.annotation)
    ]


def _default(option: Field[Any]) -> Any:
    return option.default if option.default_factory is MISSING else option.default_factory()
