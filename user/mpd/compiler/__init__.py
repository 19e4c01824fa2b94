"""The compiler of MPD: source text to C that calls user/mpd/run-time (docs/mpd.md)."""

from user.mpd.compiler.check import check
from user.mpd.compiler.emit import emit
from user.mpd.compiler.syntax import CompileError, Mistake, parse
from user.mpd.compiler.tree import Position

__all__ = ["CompileError", "Mistake", "compile_text"]


def compile_text(text: str, file: str) -> str:
    """The C program of the MPD program `text`; `file` is its name in messages. CompileError names all mistakes."""
    try:
        resources = parse(text)
        return emit(resources, check(resources), file)
    except RecursionError:
        raise CompileError([Mistake(Position(1, 1), "an expression or a statement is too long")]) from None
