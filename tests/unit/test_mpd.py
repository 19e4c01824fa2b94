"""MPD on the host: the verification suite, that the compiler handles any text, its code for operations,
the context switch primitives, and the commands. `MPD_MUTANTS` (1000): how many mutants are made of the programs."""

import ast
import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sim.cli import app
from sim.images import mpd, vsuite
from support.cache import REPO
from tests.limited import run_limited
from user.mpd.compiler import CompileError, compile_text
from user.mpd.compiler.check import Checker

SLICE = REPO / "docs/examples/slice.mpd"
MUTANTS = int(os.environ.get("MPD_MUTANTS", 1000))
COMPILED = MUTANTS // 40      # mutants that the compiler accepts: its output for them must be C


@pytest.mark.parametrize("topic", sorted({case.topic for case in vsuite.cases()}))
def test_the_verification_suite_on_the_host(topic):
    wrong = [vsuite.difference(*one) for one in vsuite.on_host(vsuite.cases([topic]))]
    assert not any(wrong), "\n".join(one for one in wrong if one)


def test_a_sample_of_the_suite_with_contexts_by_system_calls():
    chosen = vsuite.cases(["bag-of-tasks", "deadlock", "reply-copies-back", "stack-overflow-in-a-process", "co-tree"])
    wrong = [vsuite.difference(*one) for one in vsuite.on_host(chosen, "system-calls")]
    assert not any(wrong), wrong


def test_the_suite_with_four_threads():
    """A program's output is a function of the program, in any order of threads."""
    chosen = [case for case in vsuite.cases(["concurrency", "limits"]) if case.topic != "limits" or
              case.name.startswith("destroy")]
    wrong = [vsuite.difference(*one, 4) for one in vsuite.on_host(chosen, threads=4, times=3, more=mpd.DISTURBED)]
    assert not any(wrong), "\n".join(one for one in wrong if one)


# A loop of a hundred rounds whose procedure goes through nearly 10,000 each time, and leaves them by `return`.
SHORT_LOOPS = """resource short()
  sem stop_it
  procedure most() returns int n { for [i = 1 to 9999] { n = i; if (i == 9000) return } }
  process calls { for [k = 1 to 100] { if (most() < 9000 or ?stop_it > 0) exit }; write(?stop_it) }
  process ends { V(stop_it) }
end
"""


def test_rounds_of_loops_that_end_count(tmp_path):
    source = tmp_path / "short.mpd"
    source.write_text(SHORT_LOOPS)
    assert run_limited([mpd.build_mpd(source, host=True)], 20, capture_output=True, text=True).stdout == "1\n"


# Neither of the two waits, so that each stays on its thread.
MESSAGES = """resource messages()
  op ch(int n); sem done; int last
  process producer { for [i = 1 to 200000] { while (?ch > 1000) skip; send ch(i) } }
  process consumer { int n; for [i = 1 to 200000] { while (?ch == 0) skip; receive ch(n) }; last = n; V(done) }
  P(done); write(last); flush(stdout); read(last)
end
"""


def test_memory_of_messages_between_threads_is_taken_again(tmp_path):
    source = tmp_path / "messages.mpd"
    source.write_text(MESSAGES)
    with subprocess.Popen([mpd.build_mpd(source, host=True, threads=4)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout and running.stdout.readline() == "200000\n"
        most = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{running.pid}/status").read_text())
    assert running.returncode == 0 and most and int(most[1]) < 5_000, most      # 200,000 blocks are 19,000


@pytest.mark.parametrize("name", ["meetings", "lives"])
def test_processes_of_several_threads_meet_and_end(name):
    program = mpd.build_mpd(REPO / f"user/mpd/programs/{name}.mpd", host=True, threads=4)
    for _ in range(5):
        done = run_limited([program], 20, capture_output=True, text=True)
        assert (done.stdout, done.stderr, done.returncode) == ("wrong 0\n", "", 0), done


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextlib.contextmanager
def managers(program, count):
    """So many execution managers, and the environment of a program that makes virtual machines with them."""
    ports = free_ports(count)
    running = [subprocess.Popen([program, "mpdx", str(port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for port in ports]
    places = {f"MPD_NODE_{number}": f"127.0.0.1:{port}" for number, port in enumerate(ports, 1)}
    try:
        yield running, os.environ | places
    finally:
        for one in running:
            one.kill()
            one.communicate()


@pytest.mark.parametrize("others", [1, 3])
def test_virtual_machines(others):
    program = mpd.build_mpd(REPO / "user/mpd/programs/nodes.mpd", host=True)
    with managers(program, others) as (running, environment):
        done = run_limited([program, str(others)], 20, capture_output=True, text=True, env=environment)
        assert done.stdout.startswith(f"sum 55 relayed {others}\n{others} {3 * others} from node {others}\n"
                                      f"@mpd_nodes nodes={others + 1} "), done
        assert done.returncode == 0
        assert [one.wait(60) for one in running] == [0] * others


WAITS = """resource far
  op wait(), tell(cap (int x) c), silent(int x)
body far()
  sem never
  proc wait() { WAIT }
  proc tell(c) { send c(1) }
end
resource main()
  import far
  op got(int x)
  cap vm m = create vm() on 1; cap far f = create far() on m
  int x; f.tell(got); receive got(x); write("waits"); flush(stdout)
  ENDS
end
"""
CALLS = "f.wait()"
RECEIVES = "send f.wait(); receive f.silent(x)"
CHOOSES = "send f.wait(); in f.silent(x) st x > 0 -> skip [] got(x) -> skip ni"


def children(process):
    return [int(word) for word in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


@pytest.mark.parametrize("ends", [CALLS, RECEIVES, CHOOSES])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_virtual_machine_that_is_lost_ends_the_program(tmp_path, how, ends):
    source = tmp_path / "waits.mpd"
    source.write_text(WAITS.replace("WAIT", "nap(60000)").replace("ENDS", ends))
    program = mpd.build_mpd(source, host=True)
    with managers(program, 1) as (running, environment):
        main = subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=environment | {"MPD_PATIENCE": "2000"})
        assert main.stdout and main.stdout.readline() == "waits\n"
        machine, = children(running[0])
        os.kill(machine, how)
        _, said = main.communicate(timeout=60)
        os.kill(machine, signal.SIGKILL)
        assert said == "mpd: virtual machine 2 on node 1 has ended, or is out of reach\n" and main.returncode == 1


@pytest.mark.parametrize("ends, what", [(CALLS, "the end of wait at waits.mpd:13:5"),
                                        (RECEIVES, "an invocation of silent at waits.mpd:13:18"),
                                        (CHOOSES, "one of several operations at waits.mpd:13:18")])
def test_a_deadlock_across_virtual_machines_is_found(tmp_path, ends, what):
    source = tmp_path / "waits.mpd"
    source.write_text(WAITS.replace("WAIT", "P(never)").replace("ENDS", ends))
    program = mpd.build_mpd(source, host=True)
    with managers(program, 1) as (_, environment):
        done = run_limited([program], 10, capture_output=True, text=True, env=environment)
    assert done.stderr == ("mpd: 1 process is blocked at the end:\n"
                           f"mpd:   main waits for {what}\n")
    assert done.returncode == 1


DESTROYED = """resource far
  op wait(cap () c) returns int n, through(cap far other; cap () c) returns int n, ends(cap vm m), hold()
body far()
  sem never
  proc wait(c) returns n { n = 1; send c(); P(never); n = 2 }
  proc through(other, c) returns n { n = 7 + other.wait(c) }
  proc ends(m) { destroy m }; proc hold() { P(never) }
end
resource main()
  import far
  op begun(); sem served[2], done
  cap vm a = create vm() on 1, b = create vm() on 2
  cap far f = create far() on a, g = create far() on b
  process one { int n = f.wait(begun); P(served[1]); write("from here", n); V(served[2]) }
  process two { int n = g.through(f, begun); P(served[2]); write("from another one", n); V(done) }
  send f.hold(); receive begun(); receive begun()
  DESTROY; V(served[1]); P(done); write("end")
end
"""


@pytest.mark.parametrize("how", ["destroy a", "g.ends(a)"])
def test_who_waits_for_a_virtual_machine_that_is_destroyed_goes_on(tmp_path, how):
    source = tmp_path / "destroyed.mpd"
    source.write_text(DESTROYED.replace("DESTROY", how).replace('write("end")', 'write("end"); f.ends(b)'))
    program = mpd.build_mpd(source, host=True)
    with managers(program, 2) as (running, environment):
        done = run_limited([program], 10, capture_output=True, text=True, env=environment)
        assert done.stdout == "from here 0\nfrom another one 7\nend\n", done
        assert re.fullmatch(r"destroyed.mpd:17:\d+: this virtual machine has ended\n", done.stderr), done
        assert running[0].wait(60) == 0         # and the other machine ends with the program


def test_a_program_ends_that_has_destroyed_a_virtual_machine(tmp_path):
    """Though its messages were never answered."""
    source = tmp_path / "destroyed.mpd"
    source.write_text(DESTROYED.replace("DESTROY", "destroy a"))
    program = mpd.build_mpd(source, host=True)
    with managers(program, 2) as (running, environment):
        done = run_limited([program], 3, capture_output=True, text=True, env=environment)
        assert (done.stdout, done.stderr) == ("from here 0\nfrom another one 7\nend\n", ""), done
        assert done.returncode == 0 and [one.wait(60) for one in running] == [0, 0]


def test_an_operation_that_has_ended_is_told_where_it_is_called_from_another_virtual_machine(tmp_path):
    source = tmp_path / "ended.mpd"
    source.write_text(WAITS.replace("WAIT", "skip").replace("ENDS", "destroy f; f.wait()"))
    program = mpd.build_mpd(source, host=True)
    with managers(program, 1) as (_, environment):
        done = run_limited([program], 10, capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and done.stderr == "ended.mpd:13:16: a capability's operation no longer exists\n"


SERVED_THERE = "far 1 -1 2\nfar 2 8 7\nfar 3 3 5\n"
SERVED_PRINTS = """1 2 3
waited 1
signals 0
second 2
none 2
seventh 7
greatest 9
 1 20 3 40
drained 12345 0
forwarded 42
"""


def test_receive_and_input_statements_for_operations_of_another_virtual_machine():
    program = mpd.build_mpd(REPO / "user/mpd/programs/served.mpd", host=True)
    with managers(program, 1) as (running, environment):
        done = run_limited([program], 20, capture_output=True, text=True, env=environment)
        there = running[0].communicate(timeout=60)[0]
    assert (done.stdout, there, done.stderr, done.returncode) == (SERVED_PRINTS, SERVED_THERE, "", 0), done


# It ends where something is received of it, or while it serves what it has taken.
RECEIVED = """resource far
  op put(int n), serve(cap (int n) returns int r c; cap () b), none()
body far()
  sem never
  proc serve(c, b) { in c(n) returns r st n > 0 -> r = n; send b(); P(never) ni }
  proc none() { P(never) }
end
resource near
body near(cap (int n) c)
  process waits { int n; receive c(n); write("near", n) }
end
resource main()
  import far, near
  op asked(int n) returns int r, begun()
  cap vm m = create vm() on 1; cap far f = create far() on m
  int n
  cap near w = create near(f.put); nap(50); destroy w; send f.put(1); receive f.put(n); write("main", n)
  w = create near(f.put); nap(50); send f.put(2); nap(50)
  send f.serve(asked, begun)
  process asks { int r = asked(3); write("served", r) }
  receive begun(); END
end
"""


# The answer and the next question cross: what is sent then comes behind the look, and before the watch.
CROSSING = """resource far
  op serve(cap (int n) c, d; cap (int n) ack)
body far()
  proc serve(c, d, ack) {
    int n
    for [i = 1 to 400] {
      if (i % 3 == 0) receive c(n); else in c(k) st k == i -> n = k [] d(k) -> n = k ni
      send ack(n)
    }
  }
end
resource main()
  import far
  op box(int n), other(int n), ack(int n)
  cap vm m = create vm() on 1; cap far f = create far() on m
  int n, wrong = 0
  send f.serve(box, other, ack)
  for [i = 1 to 400] {
    if (i % 4 == 0) nap(0)
    if (i % 6 == 2) send other(i); else send box(i)
    receive ack(n); if (n != i) wrong++
  }
  write("wrong", wrong, ?box, ?other)
end
"""


def test_what_comes_between_a_look_and_a_watch_is_told(tmp_path):
    source = tmp_path / "crossing.mpd"
    source.write_text(CROSSING)
    program = mpd.build_mpd(source, host=True)
    with managers(program, 1) as (_, environment):
        done = run_limited([program], 20, capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr, done.returncode) == ("wrong 0 0 0\n", "", 0), done


@pytest.mark.parametrize("how, printed, said", [
    ("destroy m; nap(50)", "served 0\n", ""),
    ("destroy m; receive f.put(n)", "", "received.mpd:21:31: this virtual machine has ended\n"),
    ("process late { nap(50); destroy m }; receive f.put(n)", "served 0\n",
     "received.mpd:21:57: this virtual machine has ended\n"),
    ("receive f.none()", "", "received.mpd:21:20: this operation has a proc, which serves all its invocations\n"),
    ("destroy f; in f.put(n) -> skip [] begun() -> skip ni", "served 3\n",
     "received.mpd:21:34: a capability's operation no longer exists\n")])
def test_processes_and_virtual_machines_that_end_lose_no_invocation(tmp_path, how, printed, said):
    source = tmp_path / "received.mpd"
    source.write_text(RECEIVED.replace("END", how, 1))
    program = mpd.build_mpd(source, host=True)
    with managers(program, 1) as (_, environment):
        done = run_limited([program], 10, capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("main 1\nnear 2\n" + printed, said), done


# Of a program with the type `far` and its virtual machine m: a statement, and what is said.
FAR = """resource far
  type link = ptr int
  op take(link p), more(cap far f), none(), each[2]()
body far()
  proc take(p) { }
  proc more(f) { cap vm m = create vm() on 1 }
  proc none() { }
  process serves { in each[1]() -> skip [] each[2]() -> skip ni }
end
resource main()
  import far
  cap vm m = create vm() on 1, more; cap far f = create far() on m; ptr int p
  STATEMENT
end
"""
SAID_OF_FAR = [
    ("p = new(int); f.take(p)",
     "far.mpd:13:19: pointers, files and parameters by reference do not go to another virtual machine"),
    ("f.more(f)", "far.mpd:6:29: only the first virtual machine can create others"),
    ("for [i = 1 to 32] more = create vm() on 1", "far.mpd:13:28: there are too many virtual machines"),
    ("f.each[1]()", "far.mpd:13:5: arrays of operations stay in their virtual machine"),
    ("destroy m; destroy m", "far.mpd:13:14: this virtual machine has ended already"),
    ("locate(64, \"10.0.0.1\")",
     "far.mpd:13:3: a node's number is 0 to 63, its place an address of up to 31 characters"),
    ("more = create vm() on 64", "far.mpd:13:10: a node's number is 0 to 63"),
    ("more = create vm() on \"nowhere\"",
     "far.mpd:13:10: this is no place of a virtual machine: an address, perhaps with a port, 10.0.0.3:7039"),
]


@pytest.mark.parametrize("statement, said", SAID_OF_FAR, ids=range(len(SAID_OF_FAR)))
def test_errors_of_virtual_machines(tmp_path, statement, said):
    source = tmp_path / "far.mpd"
    source.write_text(FAR.replace("STATEMENT", statement))
    program = mpd.build_mpd(source, host=True)
    with managers(program, 1) as (running, environment):
        done = run_limited([program], 20, capture_output=True, text=True, env=environment)
        there = running[0].communicate(timeout=60)[1]
    assert f"{said}\n" in (done.stderr, there) and done.returncode == 1, (done, there)


def test_a_program_that_is_lost_ends_its_virtual_machines(tmp_path):
    source = tmp_path / "waits.mpd"
    source.write_text(WAITS.replace("WAIT", "P(never)").replace("ENDS", CALLS.replace("f.wait()", "nap(60000)")))
    program = mpd.build_mpd(source, host=True)
    with managers(program, 1) as (running, environment):
        with subprocess.Popen([program], stdout=subprocess.PIPE, text=True, env=environment) as main:
            assert main.stdout and main.stdout.readline() == "waits\n"
            main.kill()
        assert running[0].communicate(timeout=60)[1] == (
            "mpd: the first virtual machine has ended, or is out of reach\n")
        port = running[0].args[2]
        with socket.create_server(("", int(port))):
            done = run_limited([program, "mpdx", port], 20, capture_output=True, text=True)
    assert done.stderr == "mpd: another program has the execution manager's port\n" and done.returncode == 1


def test_a_number_of_threads_that_cannot_be():
    program = mpd.build_mpd(SLICE, host=True, threads=4)
    done = run_limited([program], 20, capture_output=True, text=True, env=os.environ | {"MPD_PARALLEL": "0"})
    assert done.stderr == "mpd: MPD_PARALLEL is a number of threads, 1 to 64\n" and done.returncode == 1


def test_virtual_machines_run_one_program(tmp_path):
    source = tmp_path / "waits.mpd"
    source.write_text(WAITS.replace("WAIT", "P(never)").replace("ENDS", CALLS))
    other = mpd.build_mpd(REPO / "user/mpd/programs/nodes.mpd", host=True)
    with managers(other, 1) as (running, environment):
        done = run_limited([mpd.build_mpd(source, host=True)], 10, capture_output=True, text=True, env=environment)
        assert done.returncode == 1 and "virtual machine 2 on node 1 has ended" in done.stderr
        assert "the execution manager is of another program" in running[0].communicate(timeout=60)[1]
    done = run_limited([other, "1"], 10, capture_output=True, text=True,
                       env=os.environ | {"MPD_NODE_1": f"127.0.0.1:{free_ports(1)[0]}", "MPD_PATIENCE": "200"})
    assert done.returncode == 1 and "no execution manager answers there" in done.stderr


def test_the_suite_is_as_wide_as_the_language():
    """Each word of the grammar occurs in a program that is executed, and in it are hundreds."""
    cases = vsuite.cases()
    assert len(cases) >= 300 and len({case.name for case in cases}) == len(cases)
    text = " ".join(case.source for case in cases if case.refused is None)
    words = set(re.findall(r'"([a-z]+)"', (REPO / "user/mpd/compiler/grammar.lark").read_text()))
    assert not {word for word in words if not re.search(rf"\b{word}\b", text)} - {"any"}


def test_each_mistake_that_the_compiler_tells_is_made_in_the_suite(monkeypatch):
    checked, told = sys.modules[Checker.__module__], set()
    wrong = Checker.wrong

    def noted(self, at, what):
        told.add(sys._getframe(1).f_lineno)
        wrong(self, at, what)

    monkeypatch.setattr(Checker, "wrong", noted)
    for case in vsuite.cases():
        if case.refused is not None:
            with pytest.raises(CompileError):
                vsuite.compiled(case)
    calls = [one for one in ast.walk(ast.parse(Path(checked.__file__).read_text())) if isinstance(one, ast.Call)
             and isinstance(one.func, ast.Attribute) and one.func.attr == "wrong"]
    assert len(calls) > 150
    assert not [ast.unparse(one) for one in calls if not told & set(range(one.lineno, one.end_lineno + 1))]


def test_each_error_that_the_run_time_system_tells_is_made_in_a_test():
    text = "".join(path.read_text() for path in sorted(mpd.RUN_TIME.glob("*.[ch]")))
    messages = set(re.findall(r'mpd_error\([^;]*?"((?:[^"\\]|\\.)*)"', text)) - {
        # Of memory, threads and sockets that the system refuses, and of messages that no program sends.
        "there is no memory left", "there is no memory left for a process", "there is no memory left for a message",
        "a thread cannot be made", "there are no sockets here: the kernel has no network",
        "there is no room for another virtual machine", "a message of another virtual machine ends too early",
        "a string of another virtual machine is too long", "an answer of another virtual machine is to nothing",
        "a message is for a virtual machine that does not exist", "a message of another virtual machine is too long",
        # By cstest: no program in MPD does it.
        "a process returns from its first procedure", "a process's stack is overwritten"}
    tests = Path(__file__).read_text() + "".join(path.read_text() for path in vsuite.FOLDER.glob("*.txt"))
    assert len(messages) > 40 and not [one for one in messages if one not in tests]


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
                words[at] = draw.choice(["\n", "{", "}", "(", ")", "[", "]", "ref", "true", "0", "in", "\0",
                                         "9999999999", "null", "'a'", "2.5", "*", "int"])
    return "".join(words)


def test_any_text_is_compiled_or_told_what_is_wrong(tmp_path):
    draw = random.Random(39)
    texts = [case.source for case in vsuite.cases() if case.source and not case.files]
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
        done = subprocess.run(["gcc", *mpd.FLAGS, "-O0", "-fsyntax-only", tmp_path / f"{number}.c"],
                              capture_output=True, text=True)
        assert done.returncode == 0, f"{text}\n{done.stderr}"


def test_long_expressions_and_deep_brackets():
    with pytest.raises(CompileError) as caught:
        compile_text("resource t()\nwrite(" + "(" * 200 + "1" + ")" * 200 + ")\nend\n", "t.mpd")
    assert caught.value.of("t.mpd") == "t.mpd:2:106: more than 100 brackets within each other"
    with pytest.raises(CompileError) as caught:
        compile_text("resource t()\nint x = 1" + " + 1" * 9000 + "\nend\n", "t.mpd")
    assert caught.value.of("t.mpd") == "t.mpd:1:1: an expression or a statement is too long"
    with pytest.raises(CompileError) as caught:
        compile_text("resource t()\nwrite(\u00e9)\nend\n", "t.mpd")
    assert caught.value.of("t.mpd") == "t.mpd:2:7: the character '\\xe9' has no place in a program"


def test_programs_of_length():
    long = "1" + " + 1" * 1000, " || ".join(['"ab"'] * 1000), "if (x == 0) x = 1" + "\nelse if (x == 1) x = 2" * 500
    made = compile_text(f"resource t()\nint x = {long[0]}\nstring[2000] s = {long[1]}\n{long[2]}\nend\n", "t.mpd")
    assert made.count("mpd_concatenate(") == 999


def test_bytes_of_comments_and_strings():
    """A file's bytes are its characters: UTF-8 may stand in comments and strings, and at the beginning."""
    text = "\ufeff# \u00fcber\nresource t() /* \u20ac */\nwrite(\"\u00e9\")\nend\n".encode().decode("latin-1")
    assert r'MPD_TEXT("\303\251")' in compile_text(text, "t.mpd")
    for wrong in ("\0", "\x7f", "\u20ac"):
        with pytest.raises(CompileError, match="has no place"):
            compile_text(f"resource t()\nwrite(\"{wrong}\")\nend\n", "t.mpd")


def made_of(text):
    return compile_text(f"resource t()\n{text}\nend\n", "t.mpd")


# What the rows of the paper's tables depend on: an operation, its uses, text that its C contains, and text it does not.
ANALYSES = [
    ("op f(int x)\nproc f(x) { }\nf(1)", "p_t_f(self, 1)", "mpd_call("),
    ("op f(int x)\nproc f(x) { reply }\nf(1)", "mpd_call(", "MPD_PROC"),
    ("op f(int x), g(int x)\nproc f(x) { forward g(x) }\nproc g(x) { }\nf(1)", "MPD_APART", "p_t_f(self, 1)"),
    ("op s()\nsend s(); receive s()", "mpd_P(&self->s_s", "mpd_send("),
    ("op s()\nsend s(); in s() -> skip ni", "mpd_V(&self->s_s", "mpd_receive("),
    ("op s()\nsend s(); in s() -> skip [] else -> skip ni", "mpd_send(", "mpd_P("),
    ("op s()\ncall s(); receive s()", "mpd_receive(", "mpd_P("),
    ("op s()\ncap s c = s; send s(); receive s()", "mpd_receive(", "mpd_P("),
    ("sem s = 1, t[3]\nP(s); V(t[2])", "mpd_V(&(*(struct mpd_sem *)", "mpd_send("),
    ("op f(int x)\nint y; receive f(y); send f(1)", "mpd_receive(", "struct mpd_in "),
    ("int sum\nfor [i = 1 to 3] sum += i", "mpd_ahead(&rounds, ", "mpd_more("),
    ("op f(int x)\nproc f(x) { }\nco [i = 1 to 3] f(i) oc", "mpd_more(&rounds)", "mpd_ahead("),
    ("op f(int x), g()\nin f(x) -> skip [] g() -> skip ni", "struct mpd_in ", "mpd_receive("),
]


@pytest.mark.parametrize("text, there, absent", ANALYSES, ids=range(len(ANALYSES)))
def test_operations_become_what_is_cheapest(text, there, absent):
    made = made_of(text)
    assert there in made and absent not in made, made


def test_resources_call_each_other_by_invocation():
    made = compile_text("resource a\nop f()\nbody a()\nproc f() { }\nend\nresource t()\nimport a\n"
                        "cap a c = create a()\nc.f()\nend\n", "t.mpd")
    assert "mpd_call(" in made and "mpd_export(" in made


@pytest.mark.parametrize("back_end", ["assembler", "system-calls"])
def test_the_context_switch_primitives(back_end):
    done = run_limited([mpd.build_primitives("cstest", True, back_end)], 20, capture_output=True, text=True)
    assert re.fullmatch(r"@cstest checks=\d{3} failed=0\n", done.stdout), done.stdout
    assert done.returncode == 0


def test_the_commands(tmp_path):
    run = CliRunner().invoke
    out = tmp_path / "slice"
    done = run(app, ["mpd", str(SLICE), "--host", "--out", str(out)])
    assert done.exit_code == 0 and done.stdout.strip().endswith("/slice")
    assert subprocess.run([out], capture_output=True, text=True).stdout.endswith("got 9\nsum 14\n")
    assert '#include "mpd.h"' in run(app, ["mpd", str(SLICE), "--c"]).stdout
    assert run(app, ["mpd", str(tmp_path / "none.mpd")]).exit_code != 0
    done = run(app, ["vsuite", "hello", "division-by-zero", "--verbose"])
    assert done.exit_code == 0 and "2 of 2 programs" in done.stdout and "values/hello" in done.stdout
    done = run(app, ["vsuite", "nothing-of-this-name"])
    assert done.exit_code == 1 and "no topic and no program" in str(done.exception)


def test_programs_of_the_tour_print_what_stands_behind_them():
    text = (REPO / "docs/mpd-tour.md").read_text()
    programs = re.findall(r"```mpd\n(.*?)```\n```text\n(.*?)```", text, re.DOTALL)
    assert len(programs) == text.count("```mpd") >= 8
    chosen = [vsuite.Case("tour", "tour", program) for program, _ in programs]
    for (_, outcome), (program, printed) in zip(vsuite.on_host(chosen), programs, strict=True):
        assert outcome.refused is None and outcome.prints + outcome.says == printed, f"{program}\n{outcome}"
