"""The views into a run from outside: they show what happened, to the cycle, and change nothing."""

import csv
import json
import os
import re
import struct
import subprocess
from collections import Counter, defaultdict

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from sim.images.kernel import program_symbols
from soc.config import SoCConfig
from tests.kernel import machine
from tests.kernel.machine import boot
from tests.system import harness_player as player
from tests.system.harness_player import CLOCK_HZ, at
from tests.system.test_harness_locks import A0, ACQUIRED, ATTEMPT, BLOCK, INTERRUPT, MISS, RELEASED, Locks


@pytest.fixture
def play(tmp_path):
    binary = player.simulator()
    return lambda script, *options, out="out": player.run(binary, script.image(tmp_path), tmp_path / out, *options)


def slices(path):
    """By "group/track", the slices of a Perfetto trace: (begin, end, name, depth), in cycles, by their begin."""
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    tracks, names, found, open_slices = {}, {}, defaultdict(list), defaultdict(list)
    for packet in trace.packet:
        names |= {entry.iid: entry.name for entry in packet.interned_data.event_names}
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            above = tracks[track.parent_uuid] + "/" if track.parent_uuid else ""
            tracks[track.uuid] = above + track.name
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        cycle = round(packet.timestamp * CLOCK_HZ / 1e9)
        if event.name_iid:
            assert event.debug_annotations[0].uint_value == cycle
        stack = open_slices[event.track_uuid]
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            stack.append((cycle, names[event.name_iid]))
        elif event.type == TrackEvent.TYPE_SLICE_END:
            begin, name = stack.pop()
            found[tracks[event.track_uuid]].append((begin, cycle, name, len(stack)))
        elif event.type == TrackEvent.TYPE_INSTANT:
            found[tracks[event.track_uuid]].append((cycle, cycle, names[event.name_iid], len(stack)))
    assert not any(open_slices.values())
    return {track: sorted(its, key=lambda s: (s[0], s[3])) for track, its in found.items()}


def contended():
    """Thread 7 of hart 0 holds a lock that thread 8 of hart 1 waits for, and is interrupted meanwhile."""
    s = Locks()
    s.switch(5, 7)
    s.switch(8, 8, hart=1)
    s.step(10, ATTEMPT)
    s.step(15, ACQUIRED)
    s.step(20, ATTEMPT, hart=1)
    s.step(23, MISS, hart=1)
    s.wait_until(25)
    s.sources(1 << 9)
    s.wires(1)
    s.trap(INTERRUPT)
    s.wait_until(30)
    s.sources(0)
    s.wires(0)
    s.wait_until(34)
    s.trap_return()
    s.step(40, RELEASED)
    s.step(52, ACQUIRED, hart=1)
    s.step(60, RELEASED, hart=1)
    s.end(99)
    return s


def test_timeline(play, tmp_path):
    run = play(contended(), "--timeline", tmp_path / "t.pftrace")
    assert run.status == 0, run.stderr
    shown = slices(tmp_path / "t.pftrace")
    waits = "waits for first (simple lock, class red)"
    assert shown["hart 0/runs"] == [(0, 5, "boot of hart 0", 0), (5, 100, "thread 7", 0),
                                    (27, 34, "external interrupt", 1)]
    assert shown["hart 1/runs"] == [(0, 8, "boot of hart 1", 0), (8, 100, "thread 8", 0), (23, 52, waits, 1)]
    assert shown["hart 0/does"] == [(0, 27, "system", 0), (27, 34, "interrupt", 0), (34, 100, "system", 0)]
    assert shown["hart 1/does"] == [(0, 23, "system", 0), (23, 52, "spinning", 0), (52, 100, "system", 0)]
    assert shown["hart 0/interrupt wire"] == [(26, 31, "raised", 0)]
    assert shown["PIC sources/source 9"] == [(25, 30, "raised", 0)]
    assert shown["locks/first (simple lock, class red)"] == [(15, 40, "held by thread 7", 0),
                                                             (52, 60, "held by thread 8", 0)]


def test_whoever_looks_on_changes_nothing(tmp_path):
    image = contended().image(tmp_path)
    plain = player.run(player.simulator(), image, tmp_path / "plain")
    seen = player.run(player.simulator(), image, tmp_path / "seen", "--timeline", tmp_path / "t.pftrace",
                      "--probe-log", tmp_path / "p.csv")
    first, second = plain.record, seen.record
    assert first.pop("host") != second.pop("host")
    assert first == second


def test_hang_report_of_locks(play):
    """Two threads each wait for the other's lock; a third one sleeps for one of them, on no hart."""
    s = Locks()
    for hart, (own, other) in enumerate((("first_lock", "second_lock"), ("second_lock", "first_lock"))):
        s.switch(s.cycle + 5, 7 + hart, hart)
        s.step(s.cycle + 5, ATTEMPT, own, hart)
        s.step(s.cycle + 5, ACQUIRED, own, hart)
        s.step(s.cycle + 5, ATTEMPT, other, hart)
        s.step(s.cycle + 5, MISS, other, hart)
        if hart == 0:
            s.switch(s.cycle + 5, 9)
            s.step(s.cycle + 5, ATTEMPT, "mutex")
            s.step(s.cycle + 5, ACQUIRED, "mutex")
            s.step(s.cycle + 5, ATTEMPT, "first_lock")
            s.step(s.cycle + 5, MISS, "first_lock")
            s.step(s.cycle + 5, BLOCK, "first_lock")
            s.switch(s.cycle + 5, 7)
    s.wait_until(s.cycle + 5)
    s.retire("spin")
    s.retire("spin", hart=1)
    s.wait_until(10_000)
    s.jump(len(s.words) - 2)
    run = play(s, "--hang-cycles", 80_000)
    assert run.status == 4
    first, second = "first (simple lock, class red)", "second (simple lock, class red)"
    lines = run.stderr.splitlines()
    hart = {line[:6]: i for i, line in enumerate(lines) if line.startswith("hart ")}
    assert "thread 7" in lines[hart["hart 0"]]
    of_hart_0 = lines[hart["hart 0"] + 1:hart["hart 1"]]
    assert any(line.startswith(f"    holds {first} since cycle ") for line in of_hart_0)
    assert any(line.startswith(f"    waits for {second} since cycle ") and
               line.endswith("held by thread 8 (on hart 1)") for line in of_hart_0)
    assert "thread 9, on no hart" in lines
    assert lines[-1] == (f"deadlock: thread 7 waits for {second} held by thread 8 waits for {first} held by thread 7")


def test_samples(play, tmp_path):
    """Lines of 30 cycles, the last one shorter; together they are the run."""
    run = play(contended(), "--samples", tmp_path / "s.csv", "--sample-cycles", 30)
    assert run.status == 0, run.stderr
    with open(tmp_path / "s.csv") as file:
        lines = [{key: int(value) for key, value in line.items()} for line in csv.DictReader(file)]
    assert [(line["begin"], line["end"], line["hart"]) for line in lines] == [
        (begin, min(begin + 30, 100), hart) for begin in range(0, 100, 30) for hart in range(2)]
    first, second = ([line for line in lines if line["hart"] == hart] for hart in range(2))
    assert [line["interrupt"] for line in first] == [3, 4, 0, 0]
    assert [line["spinning"] for line in second] == [7, 22, 0, 0]
    assert all(sum(line[key] for key in ("user", "system", "interrupt", "spinning", "idle")) ==
               line["end"] - line["begin"] for line in lines)
    assert [line["arrivals"] for line in first] == [1, 0, 0, 0]
    assert [line["lock_misses"] for line in second] == [1, 0, 0, 0]
    for hart, of_hart in enumerate((first, second)):
        assert sum(line["instructions"] for line in of_hart) == run.record["harts"][hart]["retired"]


def test_latencies(play, tmp_path):
    """A second rise before the handler is the same interrupt; each has its way to the handler, and to the thread."""
    s = Locks()
    at(s, 5, "p10")
    s.wait_until(10)
    s.sources(1 << 9)
    s.sources(0)
    s.sources(1 << 9)
    s.register(A0, 9)
    at(s, 20, "p14")
    s.register(A0, 9, 1)
    at(s, 32, "p15", 1)
    s.end(99)
    play(s, "--latencies", tmp_path / "l.csv")
    assert (tmp_path / "l.csv").read_text().splitlines() == [
        "source,to,hart,rise,arrival,cycles,in_window", "9,handler,0,10,20,10,1", "9,thread,1,10,32,22,1"]


def test_flame_of_the_kernel(tmp_path):
    """On the machine itself: all cycles of all harts are in it, interrupts are above what they interrupted."""
    plain = boot(tmp_path / "plain", 2, "spl-optim", "run=hello")
    files = {name: tmp_path / name for name in ("flame", "samples", "timeline", "latencies")}
    options = [text for name, path in files.items() for text in (f"--{name}", str(path))]
    command = machine.command(tmp_path / "seen", 2, "spl-optim", "run=hello", "file", machine.CONSOLE_BAUD)
    subprocess.run([*command, *options], check=True, capture_output=True)
    seen = json.loads((tmp_path / "seen" / "run.json").read_text())
    assert seen.pop("host") and plain.record.pop("host")
    assert seen == plain.record
    stacks = {}
    for line in files["flame"].read_text().splitlines():
        stack, _, cycles = line.rpartition(" ")
        stacks[tuple(stack.split(";"))] = int(cycles)
    for hart in range(2):
        assert sum(cycles for stack, cycles in stacks.items() if stack[0] == f"hart {hart}") == seen["cycles"]
        shown = slices(files["timeline"])
        idle = sum(end - begin for begin, end, name, _ in shown[f"hart {hart}/does"] if name == "idle")
        assert idle == seen["harts"][hart]["statistics"]["accounting"]["idle"]
    above = {(stack[i - 1], stack[i + 1]) for stack in stacks for i in range(1, len(stack) - 1)
             if stack[i] == "[external interrupt]"}
    assert ("sched_idle", "trap_entry") in above
    assert {handler for _, handler in above} == {"trap_entry", "trap_return"}
    hello = [stack for stack in stacks if stack[1] == "thread 3 hello0"]
    assert any(stack[2:3] == ("thread_begin",) and "kprintf" in stack for stack in hello)
    assert not any(stack.count("context_switch") > 1 for stack in stacks)
    with open(files["latencies"]) as file:
        ways = list(csv.DictReader(file))
    for source, its in seen["interrupts"].items():
        count = sum(way["source"] == source and way["to"] == "handler" for way in ways)
        assert count == its["wire_to_handler"]["count"]


def folded(path):
    """The cycles of each stack."""
    return Counter({tuple(stack.split(";")): int(cycles) for stack, _, cycles in
                    (line.rpartition(" ") for line in path.read_text().splitlines())})


def test_windows_of_a_flame_graph_are_parts_of_the_whole(tmp_path):
    """Stack by stack, however the window's ends are given."""
    command = machine.command(tmp_path, 2, "spl-optim", "run=hello", "file", machine.CONSOLE_BAUD)
    command.remove("--quiet")

    def flame(name, *options):
        done = subprocess.run([*command, "--flame", str(tmp_path / name), *options], check=True, capture_output=True,
                              text=True)
        return folded(tmp_path / name), [int(cycle) for cycle in re.findall(r"^flame graph \w+ at cycle (\d+): ",
                                                                          done.stderr, re.MULTILINE)]

    whole, _ = flame("whole")
    cycles = json.loads((tmp_path / "run.json").read_text())["cycles"]
    middle, (begins, ends) = flame("middle", "--flame-begin", "pc:thread_begin", "--flame-end", "pc:host_exit")
    assert 0 < begins < ends < cycles
    for hart in range(2):
        assert sum(n for stack, n in middle.items() if stack[0] == f"hart {hart}") == ends - begins
    first, _ = flame("first", "--flame-end", str(begins))
    last, _ = flame("last", "--flame-begin", f"cycle:{ends}")
    assert first + middle + last == whole


def calls_in(elf):
    """For each function of a program: those that it calls or jumps to, and those that these jump to, which return to
    it; None if one does so by a pointer."""
    said = subprocess.run(["riscv64-unknown-elf-objdump", "-d", "-M", "no-aliases", elf], check=True,
                          capture_output=True, text=True).stdout
    found, jumps, own = {}, {}, ""
    for line in said.splitlines():
        if name := re.match(r"[0-9a-f]+ <([^.>][^>]*)>:", line):
            own = name[1]
            found[own], jumps[own] = set(), set()
        elif instruction := re.search(r"\t(jalr?)\t(zero|ra|t0),(.*)", line):
            to = re.search(r"<([^.>+][^>+]*)>", instruction[3])
            if to or (instruction[1] == "jalr" and instruction[3] != "0(ra)"):
                (jumps if instruction[2] == "zero" else found)[own].add(to[1] if to else None)
    for called in found.values():
        todo = list(called)
        while todo:
            for name in jumps.get(todo.pop(), set()) - called:
                called.add(name)
                todo.append(name)
    return {name: found[name] | jumps[name] for name in found}


@pytest.mark.parametrize("part, wanted", [("executes", {"status main", "status exit", "processes main"}),
                                          ("signals", {"processes [signal]", "processes signals"})])
def test_flame_of_programs_in_user_mode(tmp_path, part, wanted):
    """In user mode each stack has functions that call each other, of the program that the thread executes then."""
    programs = program_symbols(SoCConfig(harts=2))
    command = machine.command(tmp_path, 2, "spl-optim", f"run=user program=processes args={part} hz=1000", "file",
                              machine.CONSOLE_BAUD)
    symbols = [word for name, path in programs.items() for word in ("--symbols", f"{name}={path}")]
    subprocess.run([*command, "--flame", str(tmp_path / "f"), *symbols], check=True, capture_output=True)
    calls = {name: calls_in(programs[name]) for name in ("processes", "status")}
    seen, deepest = set(), 0
    for stack in folded(tmp_path / "f"):
        name = stack[1].rpartition(" ")[2]
        if name not in calls:
            continue
        of_user = stack[2:next((at for at, frame in enumerate(stack) if frame[0] == "["), len(stack))]
        if of_user and of_user[0] not in calls[name]:
            continue            # the kernel's, before the thread enters user mode
        for caller, called in zip(of_user, of_user[1:], strict=False):
            assert called in calls[name][caller] or None in calls[name][caller], stack
        deepest = max(deepest, len(of_user))
        seen.update(f"{name} {frame}" for frame in stack[2:3 + len(of_user)])
    assert seen >= wanted, sorted(seen)
    assert deepest >= 4, f"no function is called by another one's callee: {deepest} frames at most"


def dumped(path):
    """The first and the last time of an FST file: cycle c has its edges at 10 c - 5 and 10 c."""
    kind, _, begin, end = struct.unpack(">BQQQ", path.read_bytes()[:25])
    assert kind == 0
    return begin, end


@pytest.mark.parametrize(("options", "first", "last"), [
    (["--wave-begin", "pc:alpha+4", "--wave-cycles", 50], 221, 270),
    (["--wave-begin", "event:9:7", "--wave-end", "pc:spin"], 351, 400),
    (["--wave-begin", "cycle:100", "--wave-end", "event:9"], 100, 150),
])
def test_waves_from_and_to_moments(tmp_path, options, first, last):
    """From after the cycle of the first of its kind; an end counts only after the beginning."""
    s = Locks()
    at(s, 50, "spin")
    s.wait_until(150)
    s.trace(9, 6)
    at(s, 220, "alpha + 4")
    at(s, 230, "alpha + 4")
    s.wait_until(350)
    s.trace(9, 7)
    at(s, 400, "spin")
    s.end(1000)
    run = player.run(player.simulator(waves=True), s.image(tmp_path), tmp_path / "out", "--wave", tmp_path / "w.fst",
                     *options)
    assert run.status == 0, run.stderr
    assert dumped(tmp_path / "w.fst") == (10 * first - 5, 10 * last)


@pytest.mark.parametrize(("options", "words"), [
    (["--wave-begin", "9"], ["--wave-begin needs --wave"]),
    (["--wave", "w", "--wave-begin", "tuesday"], ["--wave-begin", "cycle:N"]),
    (["--wave", "w", "--wave-end", "9", "--wave-cycles", "9"], ["--wave-end and --wave-cycles"]),
    (["--samples", "s", "--sample-cycles", "0"], ["--sample-cycles"]),
    (["--sample-cycles", "100"], ["--sample-cycles needs --samples"]),
    (["--timeline", "/nowhere/t"], ["/nowhere/t"]),
    (["--flame", "/nowhere/f"], ["/nowhere/f"]),
])
def test_wrong_options_are_one_line(play, options, words):
    run = play(contended(), *options)
    assert run.status == 2 and run.stderr.count("\n") == 1, run.stderr
    assert all(word in run.stderr for word in words)


def test_a_stall_of_the_simulator_is_no_hang_of_the_target(tmp_path):
    """A pipe without a reader: the simulator says where it is, goes on when it can, or ends if it was told to."""
    s = Locks()
    at(s, 10, "p12")
    at(s, 11, "p13")
    s.jump(0)
    image, pipe = s.image(tmp_path), tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [str(player.simulator()), "--image", str(image), "--probe-log", str(pipe), "--max-cycles", "300000",
               "--stall-seconds", "1", "--console", "none", "--hang-cycles", "0", "--progress", "0"]
    for more, status in ((["--max-stall", "3"], 5), ([], 3)):
        process = subprocess.Popen([*command, *more], stderr=subprocess.PIPE, text=True)
        with open(pipe) as reader:
            said = process.stderr.readline()
            assert said.startswith("stall: the simulator has stood still for 1 s at cycle ")
            assert "while writing a file; it waits" in said and "The target does not hang." in said
            if status == 5:
                assert process.wait(10) == 5
                assert "It is ended." in process.stderr.read()
                continue
            reader.read()
        assert process.wait(60) == status
        assert "the simulator goes on" in process.stderr.read()


@pytest.mark.parametrize("kind", ["simple", "mutex"])
def test_hang_report_of_the_kernel(tmp_path, kind):
    """A deadlock on the machine itself: both threads with their calls, what they hold and wait for, and the cycle."""
    command = machine.command(tmp_path / "run", 2, "spl-optim", f"run=test-hang lock={kind}", "file",
                              machine.CONSOLE_BAUD)
    if kind == "simple":    # sleeping harts are skipped, spinning ones simulated
        command[command.index("--hang-cycles") + 1] = "400000"
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 4, ended.stderr
    lines = ended.stderr.splitlines()
    a, b = (next(i for i, line in enumerate(lines) if f" {name}, " in line and line.startswith(("hart", "thread")))
            for name in "ab")
    own, other = (f"{kind} of {name} ({kind} lock, class {kind} of {name})" for name in "ab")
    for at_line, held, wanted in ((a, own, other), (b, other, own)):
        block = lines[at_line:at_line + 4]
        assert f" < {'spins' if kind == 'simple' else 'hang_sleeps'}+0x" in block[1] and "thread_begin+0x" in block[1]
        assert any(line.startswith(f"    holds {held} since cycle ") for line in block)
        assert any(line.startswith(f"    waits for {wanted} since cycle ") for line in block)
    assert lines[-1].startswith("deadlock: thread ") and own in lines[-1] and other in lines[-1]
    if kind == "simple":
        assert lines[a].startswith("hart 0: ") and lines[b].startswith("hart 1: ")
    else:
        assert lines[a].endswith("on no hart") and lines[b].endswith("on no hart")
