"""Options of a command in groups: each a dataclass, whose docstring is the group's title in --help, and whose fields
are options as typer has them."""

import copy
import dataclasses
import functools
import inspect
import typing

import typer.core


class GroupedCommand(typer.core.TyperCommand):
    """A command whose help has a section for each group."""

    def format_options(self, ctx, formatter):
        sections: dict[str, list] = {}
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx)
            if line:
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or "Options", []).append(line)
        for title, lines in sections.items():
            with formatter.section(title):
                formatter.write_dl(lines)


def _titled(annotation, title):
    """An Annotated type whose option is in the section `title`."""
    kind, option, *rest = typing.get_args(annotation)
    option = copy.copy(option)
    option.rich_help_panel = title
    return typing.Annotated[(kind, option, *rest)]


def grouped(command):
    """Presents the function `command`, whose parameters are groups (and perhaps the context), to typer as one with all
    options of the groups."""
    hints = typing.get_type_hints(command)
    groups = {name: kind for name, kind in hints.items() if dataclasses.is_dataclass(kind)}
    options = [inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default,
                                 annotation=_titled(field.type, kind.__doc__.rstrip(".")))
               for kind in groups.values() for field in dataclasses.fields(kind)]
    others = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
              for name, parameter in inspect.signature(command).parameters.items() if name not in groups]

    @functools.wraps(command)
    def called(**given):
        made = {name: kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
                for name, kind in groups.items()}
        return command(**given, **made)

    called.__signature__ = inspect.Signature([*others, *options])
    called.__annotations__ = {one.name: one.annotation for one in (*others, *options)}
    del called.__wrapped__
    return called
