"""Groups whose verbs are imported when they are called for: a short command loads little."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """verbs: where each command lies, as `module:attribute`, in the order of the help text."""

    def __init__(self, *args: Any, verbs: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._verbs:
            return None
        module, _, attribute = self._verbs[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command
