"""The command line, one module a command: `commands/`. `target` finds the graph that a command is to show, `output`
spells characters that a terminal lacks.

To add a command: write `autograd/cli/commands/<name>.py` with a function

    def register(subparsers: Subparsers) -> None:
        parser = subparsers.add_parser("<name>", help="...")
        parser.add_argument(...)
        parser.set_defaults(run=run)

where `run(arguments)` does the work and returns the exit status (None means 0), and add its name to
`COMMANDS`. Whatever a command needs is imported inside `run`, so that `handgrad --version` stays quick.
"""

import argparse
import difflib
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from autograd.errors import HandgradError, printable
from autograd.saving.files import write_whole
from autograd.version import __version__

from .output import prepare

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# in the order of `handgrad --help`
COMMANDS = (
    "example", "errata", "draw", "step", "slides", "source", "play", "worksheet", "grade", "check", "capture", "doctor",
)  # fmt: skip


class CommandError(Exception):
    """A command was given something that it cannot use; the message says what to type instead."""


@contextmanager
def explained() -> Iterator[None]:
    """Let errors that say what to write instead, such as those of `draw` and `save`, end the command."""
    from autograd.drawing.options import UnknownChoice

    try:
        yield
    except BrokenPipeError:
        raise  # `| head` has seen enough
    except UnknownChoice as error:
        raise CommandError(f"--{error.option} {error.choice}: {error.reason}") from error
    except (HandgradError, ValueError, OSError, RuntimeError) as error:
        raise CommandError(str(error)) from error


def deliver(page: str, output: Path | None) -> None:
    """Print a page, or write it to the file that `-o` names and say so."""
    if output is None:
        sys.stdout.write(page)
        return
    with explained():
        write_whole(output, page.encode())
    print(f"wrote {output}")


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """The type of an option that takes an integer."""

    def read(text: str) -> int:
        if not text.lstrip("-").isdecimal() or not least <= int(text) <= (int(text) if most is None else most):
            end = f"from {least} to {most}" if most is not None else f"from {least} on"
            raise argparse.ArgumentTypeError(f"expected an integer {end}; got {text!r}")
        return int(text)

    return read


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line, every command registered."""
    root = argparse.ArgumentParser(
        prog="handgrad", description="An autograd engine you can check by hand.",
        epilog="To begin: handgrad example 3, handgrad play, or handgrad draw FILE.py -o graph.svg with a file of your "
               "own. More about a command: handgrad COMMAND --help.",
    )  # fmt: skip
    root.add_argument("--version", action="version", version=f"handgrad {__version__}")
    subparsers = root.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for name in COMMANDS:
        import_module(f"autograd.cli.commands.{name}").register(subparsers)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 success, 1 a check failed, 2 wrong arguments."""
    prepare()
    root = parser()
    words = sys.argv[1:] if argv is None else list(argv)
    if words and words[0] not in COMMANDS and (near := difflib.get_close_matches(words[0], COMMANDS, 1)):
        meant = shlex.join([*near, *words[1:]])
        root.error(f"there is no command {words[0]!r}; did you mean handgrad {meant}? There are {', '.join(COMMANDS)}")
    arguments, left = root.parse_known_args(words)
    if left and hasattr(arguments, "values") and not any(word.startswith("-") for word in left):
        arguments.values += left  # numbers behind an option: play "x*y" --text x=2 y=3
    elif left:
        dashed = "; a formula that begins with - stands behind --: handgrad play -- '-x^2' x=3"
        root.error(f"unrecognized arguments: {shlex.join(left)}{dashed * (arguments.command == 'play')}")
    if arguments.command is None:
        root.print_help()
        return 0
    return guarded(arguments.command, lambda: arguments.run(arguments))


def guarded(command: str, run: Callable[[], int | None]) -> int:
    """The exit status of a command: its own, or that of how it ended."""
    try:
        status = run() or 0
        sys.stdout.flush()  # a closed pipe is noticed here, and not when Python exits
        return status
    except CommandError as error:
        print(f"handgrad {command}: {printable(str(error)).removeprefix(f'{command}: ')}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `handgrad ... | head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
