"""Rules for the kernel's C that no compiler checks: a name belongs to one function or variable, so that a
backtrace, a breakpoint and a debugger's output are unambiguous; a function is short, in Python too; a line fits."""

import ast
import re

import pytest

from support.cache import REPO

KERNEL = REPO / "kernel"
# Of each of these an image holds one file, behind one interface; code shared by the five schemes is in two more.
VARIANTS = (("lock/spin", "test/wrong-spin/"), ("net/receive/",), ("net/policy/",), ("ipc/transport/",),
            ("sync/", "test/wrong/"))
HOST = "test/host/"     # programs of their own
RUNS = ("bench/", "test/")
TWICE = {"swap_file_off": "where a machine has no disk, a part of the kernel is not there",
         **dict.fromkeys(("inet_call", "inet_database", "inet_full", "inet_output", "inet_receive", "inet_round",
                          "inet_send"), "a kernel has those of net/direct.c or of net/handed.c, by its policy")}

COLUMNS = 120
LINES = 60
ATTRIBUTE = r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)"


def functions(text):
    """For each function with a body: its name, its first line, and its lines, from its type to the last brace."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if line != "{":
            continue
        begin = at
        while begin and lines[begin - 1] and not re.search(r"[;}]$|\*/$|^#|\\$", lines[begin - 1]):
            begin -= 1
        head = re.sub(ATTRIBUTE, "", " ".join(lines[begin:at]))
        name = re.search(r"(\w+)\(", head)
        if name and not name[1].isupper():      # in capitals it is a macro that makes one, as HOST_TEST does
            yield name[1], begin + 1, lines.index("}", at) + 1 - begin


def unit(inside):
    """A unit in which a name is unique: a file with its header, parted by `#if`, or files of which an image has one."""
    for variants in VARIANTS:
        if inside.startswith(variants) and (inside.endswith(".h") or "sync/" not in variants):
            return variants[0]
    return inside.rpartition(".")[0]


def variables(text):
    """Each static variable of a file: its name, and the line of its declaration."""
    text = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|' + ATTRIBUTE, lambda m: "\n" * m[0].count("\n"), text,
                  flags=re.DOTALL)
    for begin in re.finditer(r"^static ", text, re.MULTILINE):
        depth = 0
        for end in range(begin.end(), len(text)):
            depth += (text[end] in "([{") - (text[end] in ")]}")
            if not depth and text[end] == ";" or text.startswith("\n{", end):
                break
        declared = text[begin.end():end]
        if re.search(r"\w\(", declared.partition("=")[0]):     # a function, or a macro that declares
            continue
        declared, nested = re.sub(r"\(\*[^()]*?(\w+)[^()\w]*\)\(", r" \1(", declared), 1
        while nested:
            declared, nested = re.subn(r"\([^][(){}]*\)|\[[^][(){}]*\]|\{[^][(){}]*\}", "", declared)
        for one in declared.split(","):
            yield re.findall(r"\w+", one.partition("=")[0])[-1], text.count("\n", 0, begin.start()) + 1


def shared_names(sources):
    """The names of functions and static variables in several units, as lines. Two runs may have a variable of
    the same name, as an image has few of them."""
    found = {}
    for inside, text in sources:
        for name, line, *function in (*functions(text), *variables(text)):
            run = inside.startswith(RUNS) and not function
            found.setdefault(name, {}).setdefault(unit(inside), (f"{inside}:{line}", run))
    return [f"{name}: {', '.join(place for place, _ in where.values())}" for name, where in sorted(found.items())
            if len(where) > 1 and not all(run for _, run in where.values())]


def kernel():
    for path in sorted(KERNEL.rglob("*.[ch]")):
        inside = str(path.relative_to(KERNEL))
        if not inside.startswith(HOST):
            yield inside, path.read_text()


def test_what_is_in_the_kernel_has_a_name_of_its_own():
    assert sum(1 for _, text in kernel() for _ in functions(text)) > 2500
    assert sum(1 for _, text in kernel() for _ in variables(text)) > 500
    shared = [line for line in shared_names(kernel()) if line.partition(":")[0] not in TWICE]
    assert not shared, f"{len(shared)} names, to which the name of a module is missing:\n" + "\n".join(shared)


def sources():
    for folder in ("firmware", "kernel", "sim", "support", "tests", "user"):
        for path in sorted((REPO / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".cpp", ".S", ".ld"):
                yield str(path.relative_to(REPO)), path.read_text()


def beyond(texts):
    """Lines that do not fit."""
    return [f"{name}:{n}" for name, text in texts
            for n, line in enumerate(text.split("\n"), 1) if len(line.expandtabs(4)) > COLUMNS]


def too_long(texts):
    """The functions of more than LINES lines: name and where."""
    return {name: f"{inside}:{line}: {name} has {length} lines" for inside, text in texts
            for name, line, length in functions(text) if length > LINES}


def test_each_line_fits():
    wide = beyond(sources())
    assert not wide, f"{len(wide)} lines of more than {COLUMNS} columns:\n" + "\n".join(wide)


def test_a_function_fits_a_screen():
    found = too_long((name, text) for name, text in sources()
                     if name.startswith(("kernel/", "user/")) and name.endswith((".c", ".h")))
    assert not list(found.values())


def too_long_in_python(texts):
    """The same of Python."""
    return {node.name: f"{inside}:{node.lineno}: {node.name} has {length} lines" for inside, text in texts
            for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            if (length := node.end_lineno - node.lineno + 1) > LINES}


def test_a_function_in_python_fits_a_screen():
    paths = [path for folder in ("hw", "sim", "soc", "support") for path in sorted((REPO / folder).rglob("*.py"))]
    assert len(paths) > 250
    assert not list(too_long_in_python((str(path.relative_to(REPO)), path.read_text()) for path in paths).values())


DATA = ("static struct chunk {\n    int fill __attribute__((aligned(8))), n;\n} *first, all[2] = {{1, 2}, {3}};\n"
        "static int (*const hook[])(int n) = {a, b}, last;\n")
ONE = "static int fill(void)\n{\n    return 1;\n}\n"
LONG = ('/* A word. */\n__attribute__((no_sanitize("address"))) static void\nfill(int (*of)(void),\n     int n)\n{\n'
        "    if (n)\n    {\n        of();\n    }\n}\n")


@pytest.mark.parametrize("sources, shared", [
    ({"mem/page.c": ONE, "mem/zone.c": ONE}, ["fill: mem/page.c:1, mem/zone.c:1"]),
    ({"mem/page.c": ONE, "fs/bio.h": LONG}, ["fill: mem/page.c:1, fs/bio.h:2"]),
    ({"mem/page.c": ONE, "mem/page.h": "#else\n" + ONE}, []),
    ({"sync/cli.h": ONE, "test/wrong/no-mask.h": ONE}, []),
    ({"sync/cli.h": ONE, "sync/pic.c": ONE}, ["fill: sync/cli.h:1, sync/pic.c:1"]),
    ({"lock/spin/tas.h": ONE, "test/wrong-spin/own-node.h": ONE}, []),
    ({"lock/spin/tas.h": ONE, "net/receive/poll.h": ONE}, ["fill: lock/spin/tas.h:1, net/receive/poll.h:1"]),
    ({"mem/page.c": ONE, "mem/zone.c": "static unsigned n, fill;\n"}, ["fill: mem/page.c:1, mem/zone.c:1"]),
    ({"mem/page.c": DATA, "mem/zone.c": "static bool last;\n"}, ["last: mem/page.c:4, mem/zone.c:1"]),
    ({"mem/page.c": DATA, "test/zone.c": DATA}, [f"{name}: mem/page.c:{n}, test/zone.c:{n}" for name, n in (
        ("all", 1), ("first", 1), ("hook", 4), ("last", 4))]),
    ({"bench/page.c": DATA, "test/zone.c": DATA}, []),
    ({"bench/page.c": ONE, "test/zone.c": "static int fill;\n"}, ["fill: bench/page.c:1, test/zone.c:1"]),
    ({"mem/page.c": DATA, "mem/zone.c": ONE}, []),
    ({"mem/page.c": ONE, "mem/zone.c": "static int fill(void);\nint fill_all(void)\n{\n}\n"}, []),
])
def test_a_shared_name_is_found(sources, shared):
    assert shared_names(sources.items()) == shared


def test_a_variable_is_found_however_it_is_declared():
    assert [name for name, _ in variables(DATA)] == ["first", "all", "hook", "last"]


def test_a_function_is_as_long_as_it_is():
    assert [*functions(ONE + "\n" + LONG)] == [("fill", 1, 4), ("fill", 7, 9)]


def vectors(text):
    """The structures that hold functions: more than one member is a pointer to one."""
    for name, members in re.findall(r"^struct (\w+) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        if len(re.findall(r"\(\*\w+\)\(", members)) > 1:
            yield name


def by_position(sources):
    """Initialisers of such structures that name no members, as lines."""
    sources = list(sources)
    names = {name for _, text in sources for name in vectors(text)}
    return [f"{inside}: {shown.strip()}" for inside, text in sources
            for name, shown in re.findall(r"^[ \w]*\bstruct (\w+) (\w+(?:\[\w*\])? = \{\s*[^.\s}][^;\n]*)", text,
                                          re.MULTILINE) if name in names]


def test_who_fills_in_functions_names_them():
    names = {name for _, text in kernel() for name in vectors(text)}
    assert {"vnodeops", "mountops", "file_ops", "rsp_target"} <= names
    assert not by_position(kernel())


OPS = "struct ops {\n    int (*read)(int n);\n    int (*write)(int n); /* or 0 */\n};\n"


@pytest.mark.parametrize("text, found", [
    ("static const struct ops of_a_disk = {reads,\n    writes};\n", 1),
    ("struct ops of_a_disk = {\n    reads, writes};\n", 1),
    ("struct ops of_a_disk = {.read = reads};\n    struct ops none = {};\n", 0),
    ("struct other of_a_disk = {reads, writes};\n", 0),
])
def test_functions_by_position_are_found(text, found):
    assert len(by_position([("fs/ops.h", OPS), ("fs/disk.c", text)])) == found


@pytest.mark.parametrize("width, found", [(COLUMNS, 0), (COLUMNS + 1, 1)])
def test_a_line_that_does_not_fit_is_found(width, found):
    assert len(beyond([("a.c", "int a;\n" + "/" * width + "\n")])) == found


@pytest.mark.parametrize("lines, found", [(LINES, set()), (LINES + 1, {"fill"})])
def test_a_long_function_is_found(lines, found):
    text = "static int fill(void)\n{\n" + "    n++;\n" * (lines - 3) + "}\n"
    assert too_long([("a.c", text)]).keys() == found


@pytest.mark.parametrize("lines, found", [(LINES, set()), (LINES + 1, {"fill"})])
def test_a_long_function_in_python_is_found(lines, found):
    text = "class Core:\n    def fill(self):\n" + "        self.n += 1\n" * (lines - 1) + "    less = 1\n"
    assert too_long_in_python([("a.py", text)]).keys() == found
