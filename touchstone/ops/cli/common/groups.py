"""Groups of commands, with plain help: no boxes, lines broken between words, nothing cut off on a narrow terminal."""

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from touchstone.ops.cli.common.shared import refuse_unknown_variables

Function = TypeVar("Function", bound=Callable[..., Any])
#: Help is as wide as the terminal, up to a width that is easy to read.
HELP_WIDTH_MAX = 100
#: Commands of earlier versions that only a checkout has.
_IN_THE_LABORATORY = frozenset({"bench", "models evaluate", "loss evaluate"})
#: Click's mark for a paragraph that is not wrapped: an example must be copied as one line.
_AS_IT_IS = "\b\n"


def _with_whole_examples(help: str | None) -> str | None:
    return help and re.sub(r"^(?=Example: )", _AS_IT_IS, help, flags=re.MULTILINE)


class _Command(TyperCommand):
    def __init__(self, *given: Any, help: str | None = None, **more: Any) -> None:
        super().__init__(*given, help=_with_whole_examples(help), **more)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, whose options are in order."""
        refuse_unknown_variables()
        return super().invoke(ctx)


class _Examination(_Command):
    def invoke(self, ctx: Any) -> Any:
        """Run a command that reports a wrong setting beside its other findings."""
        return TyperCommand.invoke(self, ctx)


class _Listing(TyperGroup):
    """Lists its commands with the whole first sentence of each."""

    def __init__(self, *given: Any, help: str | None = None, **more: Any) -> None:
        super().__init__(*given, help=_with_whole_examples(help), **more)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command to run. For one that has moved out of the package, the error says where it is now."""
        if " ".join([*ctx.command_path.split()[1:], args[0]]) in _IN_THE_LABORATORY:
            ctx.fail(f"'{args[0]}' has moved: in a checkout, run `python -m touchstone.ops.lab`.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the section of the commands."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(limit=1_000)) for name, command in commands if command is not None and not command.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


class Group(typer.Typer):
    """A group of commands."""

    def __init__(self, name: str, **more: Any) -> None:
        settings = {"help_option_names": ["-h", "--help"], "max_content_width": HELP_WIDTH_MAX}
        super().__init__(name=name, cls=_Listing, rich_markup_mode=None, context_settings=settings, **more)

    def command(self, *given: Any, checks_variables: bool = True, **more: Any) -> Callable[[Function], Function]:
        """Register a command. A parameter whose type is a dataclass of options stands for one option per field.

        `checks_variables`: end with an error if a TOUCHSTONE_ variable is set that nothing reads.
        """
        return _registered_by(super().command(*given, **{"cls": _Command if checks_variables else _Examination, **more}))

    def callback(self, *given: Any, **more: Any) -> Callable[[Function], Function]:
        """Register what the group does without a subcommand; options work as in `command`."""
        return _registered_by(super().callback(*given, **more))


def _registered_by(register: Callable[[Any], Any]) -> Callable[[Function], Function]:
    def registered(function: Function) -> Function:
        register(_with_single_options(function))
        return function

    return registered


def _with_single_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in the form that Typer expects: each dataclass parameter replaced by its fields."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    if not groups:
        return function
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in groups:
            parameters.append(parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        kind = groups[parameter.name]
        types = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name]) for field in fields(kind)
        ]

    @functools.wraps(function)
    def called(**given: Any) -> Any:
        made = {name: kind(**{field.name: given.pop(field.name) for field in fields(kind)}) for name, kind in groups.items()}
        return function(**given, **made)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called
