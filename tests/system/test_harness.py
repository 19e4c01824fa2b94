"""The simulator's harness against a player of pin changes: loading, input, measurement, output and ends."""

import os
import select
import shlex
import signal
import struct
import subprocess
import time

import pytest

from tests.system import harness_player as player
from tests.system.harness_player import BOOTARGS, BOOTARGS_SIZE, CLOCK_HZ, Script, at, spread

BAUD = 115_200


@pytest.fixture(scope="module")
def binary():
    return player.simulator()


@pytest.fixture
def play(binary, tmp_path):
    """Plays a script: `play(script, options...)`."""
    def play(script, *options, out="out", **keywords):
        return player.run(binary, script.image(tmp_path), tmp_path / out, *options, **keywords)
    return play


def ending(code=0, at=100):
    script = Script()
    script.wait_until(at)
    script.exit(code)
    return script


def one_line(run, status, *words):
    """The run ended with `status` and printed one line with all `words`."""
    assert run.status == status, run.stderr
    assert run.stderr.count("\n") == 1, run.stderr
    for word in words:
        assert word in run.stderr


# How a run ends

def test_exit_code_0(play):
    run = play(ending())
    assert (run.status, run.stderr) == (0, "")
    record = run.record
    assert record["exit"] == {"kind": "target", "status": 0, "code": 0}
    assert record["reason"] is None
    assert record["cycles"] == 101       # cycles 0 to 100
    assert len(record["harts"]) == record["harness"]["harts"] == 2


def test_other_exit_code(play):
    run = play(ending(0xB007))
    assert run.status == 1
    assert run.record["exit"]["code"] == 0xB007
    assert "45063" in run.stderr and "hart 1: pc" in run.stderr
    assert run.record["reason"] == "the target ended with code 45063"


def looping(*labels, hart_count=2):
    """All harts retire `labels` for ever."""
    script = Script()
    for label in labels:
        for hart in range(hart_count):
            script.retire(label, hart)
    script.jump(0)
    return script


def test_cycle_limit_names_functions(play):
    run = play(looping("alpha", "spin", "spin + 4"), "--max-cycles", 1007)
    assert run.status == 3
    assert run.record["cycles"] == 1007
    assert run.record["exit"]["kind"] == "max-cycles"
    assert "limit of 1,007 cycles" in run.stderr
    assert "spin+0x4" in run.stderr and "alpha spin" in run.stderr
    assert run.record["harts"][0]["at_end"]["function"] in ("alpha", "spin", "spin+0x4")


def test_wall_clock_limit(play):
    begin = time.monotonic()
    run = play(looping("alpha", "spin"), "--max-seconds", 0.5)
    assert run.status == 3
    assert 0.5 <= time.monotonic() - begin < 10
    assert "limit of 0.5 s" in run.stderr


def test_hang_when_all_spin(play):
    run = play(looping("spin", "spin + 4"), "--hang-cycles", 80_000, "--max-cycles", 10_000_000)
    assert run.status == 4
    assert 80_000 <= run.record["cycles"] <= 100_000
    assert run.stderr.startswith("hang: ")
    assert "hart 0: pc 0x" in run.stderr and "hart 1: pc 0x" in run.stderr and "spin" in run.stderr


def waiting(ticks):
    """All harts wait; with `ticks`, hart 0 takes an interrupt every 1000 cycles, which runs a handler."""
    script = Script()
    script.retire("spin")
    script.wfi(True)
    script.wfi(True, 1)
    begin = len(script.words)
    if ticks:
        script.wfi(False)
        script.trap(0x80000007)
        script.retire("handler")
        script.trap_return()
        script.wfi(True)
    script.wait_until(script.cycle + 1000)
    script.jump(begin)
    return script


@pytest.mark.parametrize("ticks", [False, True])
def test_hang_when_all_wait(play, ticks):
    run = play(waiting(ticks), "--hang-cycles", 80_000, "--max-cycles", 10_000_000)
    assert run.status == 4
    assert "waiting for an interrupt" in run.stderr


def test_no_hang_when_a_loop_stores(play):
    run = play(looping("storing", "storing + 4"), "--hang-cycles", 80_000, "--max-cycles", 1_000_000)
    assert run.status == 3


def test_no_hang_when_functions_change(play):
    run = play(looping("alpha", "spin", "beta"), "--hang-cycles", 80_000, "--max-cycles", 1_000_000)
    assert run.status == 3


def test_no_hang_while_something_comes_out(play):
    script = Script()
    script.wfi(True)
    script.wfi(True, 1)
    script.wait_until(5000)
    script.trace(9, 9)
    script.jump(0)
    assert play(script, "--hang-cycles", 80_000, "--max-cycles", 1_000_000).status == 3


def test_hang_detection_off(play):
    assert play(looping("spin"), "--hang-cycles", 0, "--max-cycles", 1_000_000).status == 3


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143),
                                                (signal.SIGHUP, 129)])
def test_interrupted_keeps_partial_results(binary, tmp_path, number, status):
    script = Script()
    script.trace(5, 6)
    script.jump(2)
    out = tmp_path / "out"
    process = subprocess.Popen([binary, "--image", script.image(tmp_path), "--out", out, "--quiet"],
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                               preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    time.sleep(0.5)
    process.send_signal(number)
    assert process.wait(10) == status
    process.stderr.close()
    run = player.Run(status, "", "", out)
    assert run.record["exit"]["kind"] == "interrupted"
    assert run.record["cycles"] > 10_000
    assert (out / "trace.csv").read_text().endswith("0,0,5,6\n")


@pytest.mark.parametrize(("out", "err", "console", "shown"), [
    ("terminal", "terminal", "tty", None), ("pipe", "terminal", "tty", "\r\x1b[K"), ("terminal", "pipe", "tty", "\n"),
    ("terminal", "terminal", "none", "\r\x1b[K"), ("pipe", "pipe", "tty", "\n")])
def test_progress_stays_out_of_the_targets_console(binary, tmp_path, out, err, console, shown):
    """Nothing where the terminal is the console; else a line that is renewed on a terminal, lines in a pipe."""
    main, terminal = os.openpty()
    read, write = os.pipe()
    ends = {"terminal": terminal, "pipe": write}
    image = ending(at=400_000).image(tmp_path)
    process = subprocess.Popen([binary, "--image", image, "--console", console, "--progress", "0.000001"],
                               stdin=subprocess.DEVNULL, stdout=ends[out], stderr=ends[err])
    os.close(write)
    found = b""
    while process.poll() is None or select.select([main], [], [], 0)[0]:     # unread output would stop it
        for file in select.select([main, read], [], [], 0.01)[0]:
            found += os.read(file, 65536)
    os.close(terminal)
    while piece := os.read(read, 65536):
        found += piece
    os.close(main)
    os.close(read)
    assert process.returncode == 0
    lines = found.decode(errors="replace").count(" ms simulated, cycles ")
    assert bool(lines) == bool(shown), found
    assert (b"\r\x1b[K" in found) == (shown == "\r\x1b[K"), found


# What goes in

def test_boot_arguments(play):
    script = Script()
    script.blob(3, BOOTARGS, BOOTARGS_SIZE)
    script.exit()
    run = play(script, "--bootargs", "run=table5 x=1", "--seed", 42)
    assert (run.out / "blob-3.bin").read_bytes() == b"run=table5 x=1 seed=42".ljust(BOOTARGS_SIZE, b"\0")
    assert run.record["arguments"]["seed"] == 42


def test_the_command_in_the_record_can_be_executed(play):
    words = ["run=x y=1", "a'b", "", "$HOME", "a;b", "\\", "\"", "*", "~", "#", "a\nb", "%+,-./:=@_", "\u00e4 \u20ac"]
    for text in (*words, " ".join(words)[:BOOTARGS_SIZE // 2]):
        run = play(ending(), "--bootargs", text)
        command = run.record["host"]["command"]
        assert shlex.split(command)[shlex.split(command).index("--bootargs") + 1] == text, command
        echo = subprocess.run(["sh", "-c", f"printf '%s\\0' {command}"], capture_output=True, text=True, check=True)
        assert echo.stdout.split("\0")[:-1] == shlex.split(command)


def test_seed_in_boot_arguments_wins(play):
    run = play(ending(), "--bootargs", "seed=1", "--seed", 42)
    assert run.record["arguments"]["bootargs"] == "seed=1"


@pytest.mark.parametrize(("length", "fits"), [(BOOTARGS_SIZE - 1, True), (BOOTARGS_SIZE, False)])
def test_boot_arguments_must_fit(play, length, fits):
    run = play(ending(), "--bootargs", "x" * length)
    if fits:
        assert run.status == 0
    else:
        one_line(run, 2, "boot arguments do not fit", "room for 63")


def test_image_is_loaded(play):
    script = Script()
    script.blob(0, 0x40000000, 8)
    script.exit()
    run = play(script)
    assert struct.unpack("<II", (run.out / "blob-0.bin").read_bytes()) == (0x0000006F, 0x314B4C49)


@pytest.mark.parametrize("keep", [0, 10, 51, 60, 0x1100, -1000, -1])
def test_truncated_image(binary, tmp_path, keep):
    image = ending().image(tmp_path)
    whole = image.read_bytes()
    assert len(whole) > 0x1100
    image.write_bytes(whole[:keep])
    one_line(player.run(binary, image, tmp_path / "out"), 2, "truncated", "player.elf")


def test_wrong_images(binary, play, tmp_path):
    one_line(player.run(binary, tmp_path / "none", tmp_path / "out"), 2, "none", "No such file")
    one_line(player.run(binary, tmp_path, tmp_path / "out"), 2, "directory")
    text = tmp_path / "text"
    text.write_text("not a program " * 10)
    one_line(player.run(binary, text, tmp_path / "out"), 2, "not an ELF file")
    one_line(player.run(binary, "/bin/true", tmp_path / "out"), 2, "32-bit")
    one_line(player.run(binary, ending().image(tmp_path, magic=1), tmp_path / "out"), 2, "header", "0x00000001")


@pytest.mark.parametrize(("options", "words"), [
    (["--speed", "1"], ["unknown option --speed"]),
    (["--max-cycles"], ["--max-cycles needs a value"]),
    (["--max-cycles", "many"], ["--max-cycles", "'many'"]),
    (["--max-cycles=-1"], ["--max-cycles", "'-1'"]),
    (["--max-seconds", "x"], ["--max-seconds", "'x'"]),
    (["--uart1-baud", "20"], ["--uart1-baud", "50 to 125000000"]),
    (["--console", "screen"], ["--console", "tty, pty, file, none"]),
    (["--uart1-in", "nowhere.bin"], ["serial file nowhere.bin"]),
    (["--uart1-in", "/dev/null"], ["serial file /dev/null is empty"]),
    (["--uart1-in", "/dev/zero"], ["serial file /dev/zero", "no ordinary file", "256 MiB"]),
    (["--ether-in", "/dev/null"], ["pcap file /dev/null is empty"]),
    (["--uart1", "tty"], ["--uart1", "file, pty"]),
    (["--uart1", "pty", "--uart1-in", "/dev/null"], ["--uart1 pty and --uart1-in"]),
    (["--wave", "w.fst"], ["built without waves"]),
    (["--wave", "w.fst", "--wave-begin", "9", "--wave-end", "9"], ["--wave-begin"]),
    (["--probe-log", "/nowhere/log"], ["/nowhere/log"]),
    (["--hang-cycles", "7"], ["--hang-cycles"]),
])
def test_bad_usage(play, options, words):
    one_line(play(ending(), *options), 2, *words)


# Serial lines: the player's ports are loops of wire.

def bits(count, baud=BAUD):
    """The cycle nearest to the end of `count` bits."""
    return (2 * count * CLOCK_HZ + baud) // (2 * baud)


@pytest.mark.parametrize("baud", [BAUD, 921_600, 7_000_000])
def test_file_through_the_data_line(play, tmp_path, baud):
    data = bytes(range(256)) * 2
    source = tmp_path / "in.bin"
    source.write_bytes(data)
    script = Script()
    script.wait_until(1000)
    script.trace(1023, 0)
    script.wait_until(1001 + bits(10 * len(data) + 20, baud))
    script.exit()
    run = play(script, "--uart1-in", source, "--uart1-baud", baud)
    assert run.status == 0
    assert (run.out / "uart1.out").read_bytes() == data
    assert run.record["serial"]["uart1"] == {
        "bytes_to_target": len(data), "bytes_from_target": len(data), "framing_errors": 0,
        "feed_began": 1001, "feed_ended": 1001 + bits(10 * len(data), baud)}
    assert run.record["uart1_in"]["bytes"] == len(data)


def test_feed_begins_at_a_given_cycle(play, tmp_path):
    source = tmp_path / "in.bin"
    source.write_bytes(b"U")
    run = play(ending(at=20_000), "--uart1-in", source, "--uart1-start", 77, "--uart1-out", tmp_path / "elsewhere")
    assert run.record["serial"]["uart1"]["feed_began"] == 77
    assert (tmp_path / "elsewhere").read_bytes() == b"U"


def test_feed_never_begins_without_the_target(play, tmp_path):
    source = tmp_path / "in.bin"
    source.write_bytes(b"U")
    run = play(ending(at=20_000), "--uart1-in", source)
    assert run.record["serial"]["uart1"]["feed_began"] is None
    assert (run.out / "uart1.out").read_bytes() == b""


def test_console_and_results(play):
    text = ('hello\n@pair primitive=off-chip cycles=304 share=0.5 mask=0x1f low=-3 crc=2687e218 quick\n'
            '@pair primitive=flag cycles=18446744073709551616\nnot @a=1\n@total \x01"n"=1\n')
    script = ending(at=400_000 + bits(10 * len(text) + 20))     # it may take a while until the text is there
    run = play(script, "--console", "tty", stdin=text)
    assert run.status == 0
    assert run.stdout == text
    assert (run.out / "console.txt").read_text() == text
    assert run.record["results"] == {
        "pair": [{"primitive": "off-chip", "cycles": 304, "share": 0.5, "mask": 31, "low": -3, "crc": "2687e218",
                  "quick": True},
                 {"primitive": "flag", "cycles": 18446744073709551616.0}],
        "total": [{'\x01"n"': 1}],
    }


@pytest.mark.parametrize(("options", "name"), [
    (["--console", "pty"], "console"),
    (["--console", "none", "--uart1", "pty"], "data line"),
])
def test_pseudo_terminal(binary, tmp_path, options, name):
    process = subprocess.Popen([binary, "--image", looping("alpha").image(tmp_path), *options, "--quiet"],
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        line = process.stderr.readline()
        assert line.startswith(f"{name} on /dev/")
        with open(line.split()[-1], "r+b", buffering=0) as console:
            console.write(b"hi\r\n\x00")
            got = b""
            while len(got) < 5:
                got += console.read(5)
        assert got == b"hi\r\n\x00"
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        process.stderr.close()


def test_a_debugger_on_the_data_line_may_think(play):
    assert play(ending(), "--uart1", "pty").record["arguments"]["hang_cycles"] == 0
    assert play(ending(), "--uart1", "pty", "--hang-cycles", 80).record["arguments"]["hang_cycles"] == 80
    assert play(ending()).record["arguments"]["hang_cycles"] == 100_000_000


def test_last_characters_arrive_after_the_end(play, tmp_path):
    """Output still in the port when the target ends is not lost, and does not count as the target's time."""
    script = ending(at=40_000 + bits(5))
    run = play(script, "--console", "tty", stdin="0123456789")
    assert run.stdout.startswith("0")
    assert run.record["cycles"] == 40_001 + bits(5)


# What comes out

def test_trace(play):
    script = Script()
    script.wait_until(10)
    rows = []
    for hart, event, argument in [(0, 0, 0), (1, 1022, 0xFFFFFFFF), (1, 2, 17)]:
        rows.append(f"{script.trace(event, argument, hart)},{hart},{event},{argument}\n")
    script.exit()
    run = play(script)
    assert (run.out / "trace.csv").read_text() == "cycle,hart,event,argument\n" + "".join(rows)
    assert run.record["trace_records"] == 3


def test_blobs_of_a_kind_are_appended(play, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "blob-1.bin").write_bytes(b"of an earlier run")
    script = Script()
    script.blob(1, 0x40000004, 4)
    script.blob(1, 0x40000004, 2)
    script.exit()
    run = play(script)
    assert (run.out / "blob-1.bin").read_bytes() == b"ILK1"[:4] + b"IL"
    assert [blob["length"] for blob in run.record["blobs"]] == [4, 2]


@pytest.mark.parametrize(("address", "length"), [(0x3FFFFFFF, 1), (0x4007FFFF, 2), (0x40000000, 0xFFFFFFFF), (0, 4)])
def test_blob_outside_memory(play, address, length):
    script = Script()
    script.blob(1, address, length)
    script.exit()
    run = play(script)
    one_line(run, 2, "blob outside main RAM", f"{length} bytes at 0x{address:08x}")
    assert run.record["exit"]["kind"] == "error"


@pytest.mark.parametrize("name", ["console.txt", "trace.csv", "uart1.out", "run.json", "blob-1.bin"])
def test_full_disk(play, tmp_path, name):
    out = tmp_path / "out"
    out.mkdir()
    (out / name).symlink_to("/dev/full")
    source = tmp_path / "in.bin"
    source.write_bytes(b"xy")
    script = Script()
    script.trace(1023, 0)
    script.blob(1, 0x40000000, 100_000)
    script.wait_until(100_000)
    script.exit()
    run = play(script, "--console", "tty", "--uart1-in", source, "--uart1-baud", 921_600, stdin="hello\n")
    one_line(run, 2, "cannot write", name, "No space left on device")
    if name != "run.json":
        assert run.record["reason"] in run.stderr
        assert run.record["exit"]["kind"] == "error"
    if name != "trace.csv":
        assert "1023" in (out / "trace.csv").read_text()


def test_same_inputs_same_record(binary, tmp_path):
    image = sections()[0].image(tmp_path)
    first, second = (player.run(binary, image, tmp_path / out, "--seed", 3, "--probe-log", tmp_path / f"{out}.csv")
                     for out in "ab")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    a, b = first.record, second.record
    assert a.pop("host") != b.pop("host")
    assert a == b


def test_digest_tells_runs_apart(play):
    digests = set()
    for steps in ([], ["trace"], ["retire"], ["later"], ["seed"]):
        script = Script()
        script.wait_until(50 if "later" in steps else 51)
        if "retire" in steps:
            script.retire("alpha")
        if "trace" in steps:
            script.trace(1, 1)
        script.wait_until(100)
        script.exit()
        digests.add(play(script, *(["--seed", 1] if "seed" in steps else [])).record["digest"])
    assert len(digests) == 5


# Measuring from outside

ENTER, ENTERED, LEAVE, LEFT, BEGIN, END, QUEUED, SWITCH = range(1, 9)


def marked(*, window=False, switch=False):
    """A script whose labels p1 .. p8 carry the probe kinds 1 .. 8, and p9 a kind without meaning."""
    script = Script()
    for kind in (ENTER, ENTERED, LEAVE, LEFT, QUEUED, 99):
        script.mark(f"p{min(kind, 9)}", kind)
    if window:
        script.mark("p5", BEGIN)
        script.mark("p6", END)
    if switch:
        script.mark("p8", SWITCH)
    return script


def sections():
    """On hart 0 a nested section; on hart 1 a section with an interrupt in its body and one in its leave primitive."""
    s = marked()
    for cycle, label in [(10, "p1"), (14, "p2"), (20, "p1"), (23, "p2"), (30, "p3"), (32, "p4"), (50, "p3"),
                         (57, "p4")]:
        at(s, cycle, label)
    at(s, 100, "p1", 1)
    at(s, 101, "p2", 1)
    s.wait_until(110)
    s.wires(0b10)
    s.wait_until(112)
    s.trap(0x8000000B, 1)
    at(s, 113, "handler", 1)
    s.wires(0)
    s.wires(0b10)
    at(s, 120, "p1", 1)     # the handler's own section
    at(s, 125, "p2", 1)
    at(s, 130, "p7", 1)
    at(s, 135, "p3", 1)
    at(s, 139, "p4", 1)
    at(s, 142, "back", 1)
    at(s, 200, "p3", 1)
    s.wait_until(203)
    s.trap(0x80000007, 1)
    at(s, 210, "p1", 1)     # interrupted outside a body: an outermost section
    at(s, 211, "p2", 1)
    at(s, 217, "p3", 1)
    at(s, 218, "p4", 1)
    at(s, 223, "back", 1)
    at(s, 230, "p4", 1)
    at(s, 240, "p9", 1)
    s.wait_until(300)
    return s, s.exit()


def test_nested_sections(play):
    script, _ = sections()
    s = play(script).statistics(0)
    assert (s["entered"], s["outermost"]) == (2, 1)
    assert s["enter_cycles"] == spread(4, 3)
    assert s["leave_cycles"] == spread(2, 7)
    assert s["body_cycles"] == s["body_net_cycles"] == spread(36)
    assert s["instructions"] == 8
    assert s["traps"] == s["interrupts"] == s["arrivals"] == s["queued"] == s["unmatched_probes"] == 0


def test_traps_in_sections(play):
    script, _ = sections()
    s = play(script).statistics(1)
    assert (s["entered"], s["outermost"]) == (3, 2)
    assert s["enter_cycles"] == spread(1, 5, 1)
    assert s["leave_cycles"] == spread(4, 1, 230 - 200 - (223 - 203))
    assert s["body_cycles"] == spread(99, 6)
    assert s["body_net_cycles"] == spread(99 - (142 - 112), 6)
    assert (s["traps"], s["interrupts"], s["interrupts_by_cause"]) == (2, 2, {"7": 1, "11": 1})
    assert (s["interrupts_in_section"], s["interrupts_in_primitive"]) == (1, 1)
    assert (s["arrivals"], s["arrivals_in_section"], s["sections_interrupted"]) == (2, 2, 1)
    assert s["queued"] == 1
    assert s["other_probes"] == {"99": 1}
    assert s["unmatched_probes"] == 0


def test_window(play):
    s = marked(window=True)
    at(s, 5, "p1")
    at(s, 8, "p2")
    s.wfi(True)
    at(s, 20, "p5")
    begin = 20
    s.wait_until(25)
    s.wfi(False)
    at(s, 30, "p3")       # begun before the window: its leave primitive counts, its body does not
    at(s, 33, "p4")
    at(s, 40, "p1")
    at(s, 41, "p2")
    at(s, 45, "p3")
    at(s, 47, "p4")
    s.wait_until(50)
    s.privilege(0)
    s.wait_until(60)
    s.privilege(3)
    at(s, 70, "p6")
    at(s, 80, "p1")
    at(s, 81, "p2")
    s.trap(0x80000003)
    s.wires(1)
    s.exit()
    run = play(s)
    assert run.record["window"] == {"from_probes": True, "count": 1, "begin": begin, "end": 70, "cycles": 50}
    s = run.statistics()
    assert (s["entered"], s["outermost"]) == (1, 1)
    assert s["body_cycles"] == spread(4)
    assert s["enter_cycles"] == spread(1)
    assert s["leave_cycles"] == spread(3, 2)
    assert s["wfi_cycles"] == 5
    assert s["privilege_cycles"] == {"user": 10, "supervisor": 0, "machine": 40}
    assert s["traps"] == s["arrivals"] == 0
    # The instruction that opens the window is outside it, the one that closes it is inside.
    assert s["instructions"] == 7


def test_whole_run_is_the_window_without_probes(play):
    script, end = sections()
    record = play(script).record
    assert record["window"] == {"from_probes": False, "count": 1, "begin": 0, "end": end + 1, "cycles": end + 1}


def test_whole_run_is_the_window_while_none_began(play):
    script = marked(window=True)
    at(script, 5, "p6")
    script.trap(2)
    end = script.exit()
    run = play(script)
    assert run.record["window"] == {"from_probes": False, "count": 1, "begin": 0, "end": end + 1, "cycles": end + 1}
    assert run.statistics()["traps"] == 1


def test_windows_add_up(play):
    script = marked(window=True)
    for begin, end in ((10, 20), (30, 37)):
        at(script, begin, "p5")
        script.trap(2)
        at(script, end, "p6")
    script.exit()
    run = play(script)
    assert run.record["window"] == {"from_probes": True, "count": 2, "begin": 30, "end": 37, "cycles": 17}
    assert run.statistics()["traps"] == 2


def test_probes_that_share_an_address_come_in_order(play):
    s = Script()
    s.mark("p0", ENTER, ENTERED, LEAVE, LEFT, LEAVE)
    at(s, 10, "p0")
    s.exit()
    statistics = play(s).statistics()
    assert statistics["entered"] == statistics["outermost"] == 1
    assert statistics["body_cycles"] == statistics["enter_cycles"] == statistics["leave_cycles"] == spread(0)
    assert statistics["unmatched_probes"] == 1


@pytest.mark.parametrize("switch_probe", [False, True])
def test_thread_switch(play, switch_probe):
    """Thread 1 switches in a nested section to thread 2, which is new; the section is the hart's: it goes on until
    thread 2 leaves. Back in thread 1, its nesting is as it was."""
    s = marked(switch=switch_probe)

    def switch(cycle, thread):
        s.wait_until(cycle)
        s.trace(1, thread)
        s.wait_until(cycle + 5)
        s.retire("p8")

    switch(10, 1)                # the thread so far had no name: 1 is new, so it is in a section
    at(s, 20, "p3")
    at(s, 21, "p4")
    at(s, 30, "p1")
    at(s, 32, "p2")
    at(s, 40, "p1")
    at(s, 41, "p2")
    switch(50, 2)
    at(s, 60, "p3")              # thread 2, new
    at(s, 66, "p4")
    at(s, 70, "p1")
    at(s, 71, "p2")
    switch(80, 1)
    at(s, 90, "p3")              # the inner section
    at(s, 93, "p4")
    at(s, 100, "p3")
    at(s, 102, "p4")
    s.wait_until(110)
    s.exit()
    statistics = play(s).statistics()
    opened = 15 if switch_probe else 10
    assert statistics["thread_switches"] == 3
    assert statistics["body_cycles"] == spread(20 - opened, 60 - 32, 100 - 71)
    assert statistics["enter_cycles"] == spread(2, 1, 1)
    assert statistics["leave_cycles"] == spread(1, 6, 3, 2)
    assert (statistics["entered"], statistics["outermost"], statistics["unmatched_probes"]) == (3, 2, 0)


def test_preempted_thread_keeps_its_trap(play):
    """An interrupt in the enter primitive of thread 1 switches to thread 2; none of that counts for the primitive,
    which ends on the other hart."""
    s = marked(switch=True)
    s.trace(1, 1)
    at(s, 5, "p8")
    at(s, 6, "p3")
    at(s, 7, "p4")
    at(s, 10, "p1")
    s.wait_until(12)
    s.trap(0x8000000B)
    at(s, 20, "p1")
    at(s, 21, "p2")
    s.trace(1, 2)
    at(s, 24, "p8")
    at(s, 30, "p3")
    at(s, 31, "p4")
    s.trace(1, 1, 1)             # hart 1 goes on with thread 1
    at(s, 50, "p8", 1)
    at(s, 52, "p3", 1)
    at(s, 53, "p4", 1)
    at(s, 60, "back", 1)
    at(s, 64, "p2", 1)
    at(s, 74, "p3", 1)
    at(s, 75, "p4", 1)
    s.exit()
    run = play(s)
    assert run.statistics(0)["enter_cycles"] == spread(1)
    assert run.statistics(1)["enter_cycles"] == spread(64 - 10 - (60 - 12))
    assert run.statistics(1)["body_cycles"] == spread(2, 10)
    assert run.statistics(0)["interrupts_in_primitive"] == 1
    assert run.statistics(0)["unmatched_probes"] == run.statistics(1)["unmatched_probes"] == 0


def test_trap_during_an_announced_switch_belongs_to_the_old_thread(play):
    s = marked(switch=True)
    s.trace(1, 1)
    at(s, 5, "p8")
    s.trace(1, 2)
    s.trap(0x8000000B)           # still on thread 1's stack
    at(s, 10, "back")
    at(s, 12, "p8")
    s.exit()
    record = play(s).record
    assert record["harts"][0]["at_end"]["thread"] == 2
    assert record["harts"][0]["at_end"]["trap_depth"] == 0
    assert record["harts"][0]["at_end"]["section_depth"] == 1


def test_source_rises_are_seen_by_harts_in_sections(play):
    s = marked()
    s.sources(1 << 16)
    at(s, 10, "p1")
    at(s, 11, "p2")
    s.sources(0)
    s.sources(1 << 16 | 1 << 31)
    at(s, 20, "p3")
    at(s, 21, "p4")
    s.sources(0)
    s.sources(1)
    s.exit()
    run = play(s)
    assert run.statistics(0)["source_rises_in_section"] == {"16": 1, "31": 1}
    assert run.statistics(1)["source_rises_in_section"] == {}


def test_probe_log(play, tmp_path):
    script, _ = sections()
    log = tmp_path / "probes.csv"
    play(script, "--probe-log", log)
    lines = log.read_text().splitlines()
    assert lines[0] == "cycle,hart,event,value,pc,thread,depth,traps"
    first = lines[1].split(",")
    assert (first[0], first[1], first[2]) == ("10", "0", "crit_enter")
    events = [line.split(",")[2] for line in lines[1:] if line.split(",")[1] == "1"]
    assert events == ["crit_enter", "crit_entered", "arrival", "trap", "arrival", "crit_enter", "crit_entered",
                      "crit_queued", "crit_leave", "crit_left", "trap_return", "crit_leave", "trap", "crit_enter",
                      "crit_entered", "crit_leave", "crit_left", "trap_return", "crit_left", "probe_99"]


def test_waves(tmp_path):
    """A dump covers exactly the cycles asked for: the rising edge of cycle c is at time 10 c."""
    wave = tmp_path / "w.fst"
    run = player.run(player.simulator(waves=True), ending(at=1000).image(tmp_path), tmp_path / "out",
                     "--wave", wave, "--wave-begin", 200, "--wave-end", 300)
    assert run.status == 0, run.stderr
    kind, _, begin, end = struct.unpack(">BQQQ", wave.read_bytes()[:25])
    assert (kind, begin, end) == (0, 10 * 200 - 5, 10 * 299)
