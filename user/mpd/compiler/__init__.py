"""The compiler of MPD: source text to C that calls user/mpd/run-time (docs/mpd.md)."""

import sys
import threading
from collections.abc import Callable

from user.mpd.compiler import tree
from user.mpd.compiler.check import check
from user.mpd.compiler.emit import emit
from user.mpd.compiler.syntax import CompileError, Mistake, parse
from user.mpd.compiler.tree import Position, Resource

__all__ = ["CompileError", "Mistake", "compile_text"]

# Of calls within each other, some for each operand of an expression or branch of an if; and what they want of a stack.
DEPTH, STACK = 10_000, 128 << 20


def _names(components: list[Resource]) -> list[tree.Name]:
    """What the components import, extend, or leave to a body elsewhere."""
    wanted = []
    for one in components:
        for item in [*one.spec, *(one.body or [])]:
            for each in item.of if isinstance(item, tree.Several) else [item]:
                if isinstance(each, tree.Import | tree.Extend):
                    wanted += each.names
    return wanted


def _joined(components: list[Resource]) -> list[Resource]:
    """Bodies that stand apart go to their specifications."""
    specs = {one.name.text: one for one in components if one.kind != "body"}
    mistakes = []
    for one in components:
        if one.kind != "body":
            continue
        spec = specs.get(one.name.text)
        if spec is None:
            mistakes.append(Mistake(one.name.at, f"there is no specification of '{one.name.text}' for this body"))
        elif spec.body is not None:
            mistakes.append(Mistake(one.name.at, f"'{one.name.text}' has a body already"))
        else:
            spec.body = one.body
            spec.end += one.end
    for one in components:
        if one.apart and one.body is None:
            mistakes.append(Mistake(one.name.at, f"the body of '{one.name.text}' is nowhere: it should be separate"))
    if mistakes:
        raise CompileError(mistakes)
    return [one for one in components if one.kind != "body"]


def _ordered(components: list[Resource]) -> list[Resource]:
    """What is imported or extended stands before what imports it, the main resource last."""
    by_name = {one.name.text: one for one in reversed(components)}
    made: list[Resource] = []
    seen: set[int] = set()

    def visit(one: Resource):
        if id(one) in seen:
            return
        seen.add(id(one))
        for name in _names([one]):
            if name.text in by_name:
                visit(by_name[name.text])
        made.append(one)
    for one in components:
        visit(one)
    last = next((one for one in reversed(components) if one.kind == "resource"), None)
    if last is not None and made[-1] is not last:
        made.remove(last)
        made.append(last)
    return made


def compile_text(text: str, file: str, find: Callable[[str], tuple[str, str] | None] | None = None) -> str:
    """The C program of the MPD program `text`; `file` is its name in messages. What it imports and does not have,
    `find` finds by its name: its file and text. CompileError names all mistakes."""
    made: list[str] = []
    failed: list[BaseException] = []

    def run():
        try:
            made.append(_compile(text, file, find))
        except BaseException as error:      # of any kind: it is raised again by the caller's thread
            failed.append(error)
    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK)
    sys.setrecursionlimit(max(limit, DEPTH))
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    if failed:
        raise failed[0]
    return made[0]


def _compile(text: str, file: str, find: Callable[[str], tuple[str, str] | None] | None) -> str:
    try:
        components = parse(text)
        have = {one.name.text for one in components if one.kind != "body"}
        bodies = {one.name.text for one in components if one.kind == "body" or one.body is not None}
        queue = [*_names(components), *(one.name for one in components if one.apart and one.name.text not in bodies)]
        looked_for: set[str] = set()
        while queue and find:
            name = queue.pop(0)
            if name.text in looked_for or name.text in have and name.text in bodies:
                continue
            looked_for.add(name.text)
            found = find(name.text)
            if found is None:
                continue
            more = [one for one in parse(found[1], found[0]) if one.kind == "body" or one.name.text not in have]
            have |= {one.name.text for one in more if one.kind != "body"}
            bodies |= {one.name.text for one in more if one.kind == "body" or one.body is not None}
            components = [*more, *components]
            queue += [*_names(more), *(one.name for one in more if one.apart)]
        components = _ordered(_joined(components))
        main, records, uses_vm = check(components)
        return emit(components, main, records, file, uses_vm)
    except RecursionError:
        raise CompileError([Mistake(Position(1, 1), "an expression or a statement is too long")]) from None
