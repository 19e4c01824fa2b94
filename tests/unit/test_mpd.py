"""MPD on the host: what programs print and how they end, what the compiler says to wrong ones, that it says something
to any text, and the context switch primitives."""

import os
import random
import re
import subprocess

import pytest
from typer.testing import CliRunner

from sim.cli import app
from sim.images import mpd
from support.cache import REPO
from tests.limited import run_limited
from user.mpd.compiler import CompileError, compile_text

SLICE = REPO / "docs/examples/slice.mpd"
MUTANTS = int(os.environ.get("MPD_MUTANTS", 2500))
COMPILED = MUTANTS // 60      # mutants that the compiler takes: what it makes of them must be C

# What they are about, the text, what it prints, its exit status, what stands on stderr.
PROGRAMS = {
    "arithmetic": ("""
        write(7 / 2, -7 / 2, 7 % 3, -7 % 3, 2 ** 10, 2 + 3 * 4, (2 + 3) * 4, -2 ** 2, 10 - 4 - 3)
        int big = 2147483647; big++; write(big, -big, big / -1, big % -1)
        write(1 < 2 and 2 <= 2, 3 > 4 or 4 >= 5, true xor true, not false, 1 == 2, 1 != 2, !true || true && false)
        int x = 10; x += 5; x -= 3; x *= 2; x /= 5; x %= 3; x--; write(x)
        """, "3 -3 1 -1 1024 14 20 -4 3\n-2147483648 -2147483648 -2147483648 0\n"
             "true false false true false true false\n0\n", 0, ""),
    "order-of-evaluation": ("""
        int n = 0
        procedure next_one(int add) returns int r { n += add; r = n }
        write(next_one(1) - next_one(10), next_one(1), n)
        procedure three(int a, int b, int c) { write(a, b, c) }
        three(next_one(1), n, next_one(1))
        int m = n; m += next_one(5); write(m, n)
        write(n + next_one(1), n * next_one(1) - n)
        """, "-10 12 12\n13 13 14\n33 19\n39 399\n", 0, ""),
    "control": ("""
        int i = 0
        while (true) { i++; if (i == 2) next; if (i > 4) exit; writes(i, ",") }
        if (i > 100) write("big");
        else if (i == 5) write("five")
        else write("small")
        for [a = 1 to 3, b = a to 3 st a + b != 4] { if (b == 2 and a == 2) next; writes(a, b, " ") }
        for [a = 5 downto 1 by 2] writes(a, " ")
        for [a = 2147483646 to 2147483647] writes(a, " ")
        for [a = -2147483647 downto -2147483647 - 1] writes(a, " ")
        for [a = 1 to 0] write("never")
        for [a = 1 to 9, b = 1 to 9] { if (a * b == 6) { write(a, b); exit } }
        int x = 1, y =
            x +
            1
        x :=: y; write(x, y)
        """, "1,3,4,five\n11 12 23 33 5 3 1 2147483646 2147483647 -2147483647 -2147483648 1 6\n2 1\n", 0, ""),
    "procs": ("""
        op sum(int a, int b) returns int r
        op plus(ref int x; int more)
        proc sum(p, q) returns total { total = p + q; return; total = 0 }
        proc plus(x, more) { x += more }
        procedure factorial(int n) returns int f { if (n < 2) { f = 1; return }; f = n * factorial(n - 1) }
        int k = 5
        plus(k, 3); call plus(k, sum(1, 1)); write(k, factorial(10))
        { int k = 1; plus(k, 1); write(k) }
        procedure even(int n) returns bool b { b = n == 0 or not even(n - 1) }
        write(even(10), even(7))
        const string word = "a\\tb\\\\"; const limit = 3; write(word, limit, "\\"")
        """, "10 3628800\n2\ntrue false\na\tb\\ 3 \"\n", 0, ""),
    "co": ("""
        int a, b, n = 0
        sem mutex = 1
        procedure square(int x) returns int y { y = x * x }
        procedure add(int x) { P(mutex); n += x; V(mutex) }
        co a = square(3) // b = square(4) // [i = 1 to 10 st i % 2 == 0] add(i) // [i = 1 to 3, j = 1 to 3] add(100)
        oc
        write(a, b, n)
        procedure tree(int depth) { if (depth > 0) { co tree(depth - 1) // tree(depth - 1) oc } else add(1) }
        n = 0; tree(5); write(n)
        co [i = 1 to 0] add(i) oc
        """, "9 16 930\n32\n", 0, ""),
    "processes": ("""
        const int n = 4
        sem go = 0, done = 0
        int sum = 0
        process worker[i = 1 to n] { P(go); sum += i; V(done) }
        process starter { for [i = 1 to n] { V(go) } }
        for [i = 1 to n] { P(done) }
        write("sum", sum)
        procedure later(int x) { write("later", x) }
        send later(1); send later(2); write("sent")
        final { write("final", sum) }
        """, "sum 10\nsent\nlater 1\nlater 2\nfinal 10\n", 0, ""),
    "deadlock": ("""
        sem a = 1, b = 1
        procedure hold() { P(a); V(a) }
        process one { P(a); hold() }
        process two { P(b); P(b) }
        P(a)
        P(a)
        write("never")
        final { write("final") }
        """, "final\n", 1, "mpd: 3 processes are blocked at the end:\nmpd:   test waits for a at FILE:8:9\n"
                           "mpd:   one waits for a at FILE:5:23\nmpd:   two waits for b at FILE:6:29\n"),
    "servers-that-wait": ("""
        sem work = 0
        process server { while (true) { P(work); write("served") } }
        V(work); V(work)
        """, "served\nserved\n", 0,
        "mpd: 1 process is blocked at the end:\nmpd:   server waits for work at FILE:4:41\n"),
    "fair-loops": ("""
        bool stop_it = false
        process spins { while (not stop_it) { } ; write("stopped") }
        process ends { stop_it = true }
        """, "stopped\n", 0, ""),
    "division-by-zero": ("int zero = 0\nwrite(1)\nwrite(1 / zero)", "1\n", 1, "FILE:4:9: division by zero\n"),
    "overflow": ("procedure f(int n) returns int r { r = f(n + 1) + f(n) + n }\nwrite(f(0))", "", 1,
                 "FILE:2:1: a process overflows its stack\n"),
    "too-many": ("sem s\nprocedure f() { P(s) }\nfor [i = 1 to 2000] { send f() }", "", 1,
                 "FILE:4:23: there are too many processes\n"),
    "negative-semaphore": ("int n = -1\nsem s = n", "", 1, "FILE:3:5: a semaphore's first value is negative\n"),
    "a-step-of-zero": ("int n = 0\nfor [i = 1 to 3 by n] { }", "", 1,
                       "FILE:3:20: a quantifier's step is not positive\n"),
}
TWO_RESOURCES = """
resource cell
  const int base = 100          # a spec and a body /* in one */
body cell(int id; bool loud)
  int n = base + id
  if (loud) { write("cell", id, n) }
  process own { write("of", id); V(s) }
  sem s
  P(s)
end cell
/* a comment /* within */ another */ resource main()
  import cell
  create cell(1, true); create cell(2, false)
  write("made")
end main
"""


def ended(folder, name, text):
    source = folder / f"{name}.mpd"
    source.write_text(text)
    return run_limited([mpd.build_mpd(source, host=True)], 20, capture_output=True, text=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_program_prints_and_how_it_ends(tmp_path, name):
    text, printed, status, told = PROGRAMS[name]
    done = ended(tmp_path, name, f"resource test()\n{text}\nend test\n")
    assert (done.stdout, done.returncode) == (printed, status), done.stderr
    assert done.stderr == told.replace("FILE", f"{name}.mpd")


def test_resources_are_created_with_parameters(tmp_path):
    done = ended(tmp_path, "two", TWO_RESOURCES)
    assert (done.stdout, done.stderr, done.returncode) == ("cell 1 101\nof 1\nof 2\nmade\n", "", 0)


def test_the_context_switch_primitives():
    done = run_limited([mpd.build_cstest(host=True)], 20, capture_output=True, text=True)
    assert re.fullmatch(r"@cstest checks=\d{3} failed=0 switch=0\n", done.stdout), done.stdout
    assert done.returncode == 0


# Statements within a resource, from line 2 on, and the messages without the file's name.
WRONG = [
    ("int x = true", "2:5: bool cannot be assigned to 'x', which is int"),
    ("int x\nint x", "3:5: 'x' is declared twice, first in line 2"),
    ("int write", "2:5: 'write' is a predefined function's name"),
    ("x = 1", "2:1: 'x' is not declared"),
    ("const n = 1\nn = 2", "3:1: 'n' is a constant: it cannot be assigned to"),
    ("for [i = 1 to 2] i = 3", "2:18: 'i' is a quantifier's variable: it cannot be assigned to"),
    ("for [i = true to 2] { }", "2:10: a quantifier's bound is int, not bool"),
    ("if (1) skip", "2:5: a condition is bool, not int"),
    ("int x = 1 + true", "2:13: an operand of '+' is int, not bool"),
    ("bool b = not 1", "2:14: the operand of 'not' is bool, not int"),
    ("bool b = 1 == true", "2:12: int and bool cannot be compared"),
    ("bool b = true; b += 1", "2:16: int cannot be assigned to 'b', which is bool"),
    ("bool b = true; b *= b", "2:16: bool has no operator '*'"),
    ("int x; bool b; x :=: b", "2:16: what is swapped is of two types"),
    ("procedure f(int a) { }\nf()\nf(true)",
     "3:1: 'f' takes 1 arguments, not 0\n4:3: parameter 'a' is int, not bool"),
    ("procedure f() { }\nint x = f()", "3:9: 'f' returns nothing"),
    ("procedure f(ref int a) { }\nf(1)\nconst n = 1; f(n)",
     "3:3: parameter 'a' is by reference: it wants a variable\n4:16: 'n' is a constant: it cannot be assigned to"),
    ("procedure f(ref int a) { }\nint x; send f(x)",
     "3:13: 'f' has parameters by reference: send would leave them without their variables"),
    ("procedure f(a) { }", "2:13: parameter 'a' has no type"),
    ("op f()", "2:4: no proc implements 'f' (input statements cannot be compiled yet)"),
    ("proc f() { }", "2:6: there is no op 'f' for this proc"),
    ("op f(int a)\nproc f() returns r { }", "3:6: 'f' has 1 parameters, not 0\n3:6: 'f' returns nothing"),
    ("op f()\nproc f() { }\nproc f() { }", "4:6: 'f' has its code already"),
    ("process p { }\np()", "3:1: 'p' is a process, it cannot be invoked"),
    ("int x; x()", "2:8: 'x' is no operation"),
    ("external f() returns int r\nco f() oc", "3:4: 'f' is external, it can only be called"),
    ("int x; P(x)", "2:10: 'x' is no semaphore"),
    ("sem s; int x = s", "2:16: 's' has no value"),
    ("procedure f() { sem s }", "2:21: semaphores within blocks cannot be compiled yet"),
    ("string s", "2:8: variables of type string cannot be compiled yet"),
    ("exit", "2:1: 'exit' stands in no loop"),
    ("while (true) { procedure f() { } }", "2:16: unexpected 'procedure'"),
    ("final { }\nfinal { }", "3:1: there are two final codes"),
    ("import other", "2:8: there is no resource 'other' in this file"),
    ("create other()", "2:8: there is no resource 'other' in this file"),
    ("write(write(1))", "2:7: 'write' returns nothing"),
    ("bool b = \"a\" == \"b\"", "2:14: strings cannot be compared yet"),
    ("int x = 2147483648", "2:9: the number is more than 2147483647"),
    ("write(\"\\q\")", "2:8: '\\q' stands for no character"),
    ("write(\"a)", "2:7: a string has no end in its line"),
    ("/* /* */", "2:1: a comment has no end"),
    ("int x = 1 ? 2", "2:11: unexpected character '?'"),
    ("int x = \u00e9", "2:9: the character '\\xe9' has no place in a program"),
    ("int x = (1", "3:1: unexpected 'end'"),
    ("in f() -> skip ni", "2:1: 'in': input statements cannot be compiled yet"),
    ("real x", "2:1: 'real': type real cannot be compiled yet"),
    ("procedure f(var int a) { }",
     "2:13: 'var': parameters that are copied back cannot be compiled yet"),
    ("write(" + "(" * 200 + "1" + ")" * 200 + ")", "2:106: more than 100 brackets within each other"),
    ("int x = 1" + " + 1" * 5000, None),
]


@pytest.mark.parametrize("text, told", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_told_with_its_place(text, told):
    with pytest.raises(CompileError) as caught:
        compile_text(f"resource test()\n{text}\nend test\n", "t.mpd")
    if told is None:
        told = "1:1: an expression or a statement is too long"
    assert caught.value.of("t.mpd") == "\n".join(f"t.mpd:{line}" for line in told.splitlines())


@pytest.mark.parametrize("text, told", [
    ("", "1:1: the program ends too early"),
    ("resource a() end b", "1:18: 'b' stands where 'a' should"),
    ("resource a() end\nresource a() end", "2:10: there are two resources 'a'"),
    ("resource a(int n) end", "1:16: 'a' is the main resource, the last one of the file: it has no parameters"),
    ("resource a(ref int n) end\nresource b() end", "1:20: parameters of resources are passed by value"),
    ("resource a() end\nresource b() create a() end", "2:21: resource 'a' is not imported"),
    ("global a end", "1:1: 'global': globals cannot be compiled yet"),
    ("resource a()", "1:13: the program ends too early"),
])
def test_what_is_wrong_with_resources(text, told):
    with pytest.raises(CompileError) as caught:
        compile_text(text, "t.mpd")
    assert caught.value.of("t.mpd") == f"t.mpd:{told}"


def mutated(draw, text):
    """The text with a few of its words lost, doubled, exchanged, or taken from elsewhere."""
    words = re.findall(r"\w+|\s+|[^\w\s]", text)
    for _ in range(draw.randrange(1, 4)):
        at, other = draw.randrange(len(words)), draw.randrange(len(words))
        match draw.randrange(5):
            case 0:
                words[at] = ""
            case 1:
                words.insert(at, words[other])
            case 2:
                words[at], words[other] = words[other], words[at]
            case 3:
                words[at] = words[other]
            case 4:
                words[at] = draw.choice(["\n", "{", "}", "(", ")", "ref", "true", "0", "in", "\0", "9999999999"])
    return "".join(words)


def test_any_text_is_compiled_or_told_what_is_wrong(tmp_path):
    draw = random.Random(39)
    texts = [f"resource test()\n{text}\nend test\n" for text, *_ in PROGRAMS.values()] + [TWO_RESOURCES]
    taken = []
    for _ in range(MUTANTS):
        text = mutated(draw, draw.choice(texts))
        try:
            taken.append((text, compile_text(text, "t.mpd")))
        except CompileError as error:
            assert error.mistakes and all(one.at.line >= 1 and one.at.column >= 1 for one in error.mistakes), text
    assert len(taken) > MUTANTS / 50
    for number, (text, made) in enumerate(taken[:COMPILED]):
        (tmp_path / f"{number}.c").write_text(made)
        done = subprocess.run(["gcc", *mpd.FLAGS, "-Werror", "-fsyntax-only", tmp_path / f"{number}.c"],
                              capture_output=True, text=True)
        assert done.returncode == 0, f"{text}\n{done.stderr}"


def test_the_command(tmp_path):
    run = CliRunner().invoke
    out = tmp_path / "slice"
    done = run(app, ["mpd", str(SLICE), "--host", "--out", str(out)])
    assert done.exit_code == 0 and done.stdout.strip().endswith("/slice")
    assert subprocess.run([out], capture_output=True, text=True).stdout.endswith("got 9\nsum 14\n")
    assert '#include "mpd.h"' in run(app, ["mpd", str(SLICE), "--c"]).stdout
    assert run(app, ["mpd", str(tmp_path / "none.mpd")]).exit_code != 0
