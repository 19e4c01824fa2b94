"""One run of an image on a board, as the simulator does one: console, record, blobs, exit status (sim/harness)."""

import contextlib
import hashlib
import os
import select
import shlex
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from sim.board.board import BAUDS, Board
from sim.board.image import ImageError, pieces
from sim.board.link import LinkError
from sim.board.port import PortError
from sim.board.protocol import State
from sim.board.results import SCHEMA, machine_figures, results
from sim.results import record

LISTEN_S = 0.05
PROGRESS_S = 1.0
DONE, WRONG, REFUSED, LIMIT, LOST, INTERRUPTED = 0, 1, 2, 3, 6, 130     # exit status, as the simulator's, and LOST
PLAYER = " player=1"    # boot argument: the data line's bytes come from the board's line player


@dataclass(frozen=True)
class Asked:
    """The parameters of a run, in terms of the simulator's command line."""

    port: str
    image: Path
    bootargs: str
    seed: int | None = None
    out: Path | None = None
    feed: Path | None = None            # bytes for the data line
    max_cycles: int | None = None       # of the board's clock
    on_terminal: bool = True            # the console, else only in console.txt
    baud: int = BAUDS[0]
    slowdown: float = 1.0               # factor by which the board is slower than its clock, if simulated
    expect: int | None = None           # the board's fingerprint


def patience(slowdown):
    """Seconds of silence after which a board counts as lost."""
    return 5 + slowdown / 5


def say(text):
    print(text.replace("\n", "\\n"), file=sys.stderr, flush=True)


def prepared(port, slowdown=1.0, baud=BAUDS[0]):
    """A board out of reset, its link as fast as possible. LinkError, PortError."""
    board = Board(port, patience(slowdown), say, slowdown)
    with closed_on_error(board):
        if board.connect().state == State.STATE_ENDED:
            board.reset()
            board.connect()
        board.hurry(baud)
    return board


@contextlib.contextmanager
def closed_on_error(board):
    try:
        yield
    except BaseException:
        board.close()
        raise


def bootargs_for(asked, baud, feed):
    """The boot arguments: the console at the link's bit rate, the seed as added by the simulator."""
    words = [word for word in asked.bootargs.split() if not word.startswith("console.baud=")]
    if asked.seed is not None and not any(word.startswith("seed=") for word in words):
        words.append(f"seed={asked.seed}")
    return " ".join([*words, f"console.baud={baud}"]) + (PLAYER if feed else "")


class Console:
    """The image's output: kept, written to console.txt, shown on the terminal if requested."""

    def __init__(self, asked):
        self.text = bytearray()
        self.shown = asked.on_terminal
        self.file = open(asked.out / "console.txt", "wb") if asked.out else None

    def take(self, content):
        self.text += content
        if self.file:
            self.file.write(content)
            self.file.flush()
        if self.shown:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()

    def close(self):
        if self.file:
            self.file.close()


def carry_out(asked):
    """Executes the run; the exit status. Errors are one line on stderr."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if asked.out:
            record.make_directory(asked.out)
        return _run(asked)
    except (LinkError, PortError) as error:
        say(f"error: {error}")
        return LOST
    except (ImageError, record.RecordError) as error:
        say(f"error: {error}")
        return REFUSED
    except OSError as error:
        say(f"error: {error.filename or asked.port}: {error.strerror or error}")
        return REFUSED
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED


def _run(asked):
    feed = asked.feed.read_bytes() if asked.feed else b""
    board = prepared(asked.port, asked.slowdown, asked.baud)
    try:
        identity = board.identity
        say(f"board: {identity}; {board.fast} bit/s")
        if asked.expect not in (None, identity.fingerprint):
            raise LinkError(f"the board on {asked.port} is build {identity.fingerprint:016x}, not {asked.expect:016x}: "
                            "was another one put there?")
        bootargs = bootargs_for(asked, board.fast, feed)
        loaded = pieces(asked.image, bootargs, identity.ram_bytes, feed)
        shown = [0.0]

        def progress(done, total):
            if done == total or time.monotonic() - shown[0] > PROGRESS_S:
                shown[0] = time.monotonic()
                say(f"loading: {done >> 10} of {total >> 10} KiB")
        upload = board.upload(loaded, progress)
        say(f"loaded {upload.total} bytes, {upload.there} of them were there")
        begun = time.monotonic()
        console = Console(asked)
        try:
            limited = _converse(board, console, asked, begun)
        finally:
            console.close()
        status, made = _finish(board, console, limited)
        made |= {"schema": SCHEMA, "arguments": {"bootargs": bootargs, "seed": asked.seed, "uart0_baud": board.fast,
                                                 "max_cycles": asked.max_cycles},
                 "image": _file(asked.image), "uart1_in": _file(asked.feed) if feed else None,
                 "board": {"name": identity.name, "fingerprint": f"{identity.fingerprint:016x}",
                           "harts": identity.harts, "clock_hz": identity.clock_hz, "ram_bytes": identity.ram_bytes},
                 "results": results(console.text.decode(errors="replace")),
                 "host": {"seconds": time.monotonic() - begun, "loaded_bytes": upload.total - upload.there,
                          "repeated_requests": board.link.repeated, "command": shlex.join(sys.argv)}}
        if asked.out:
            _leave(made, asked.out)
        return status
    finally:
        board.close()


def _converse(board, console, asked, begun):
    """Runs the image until it ends, with its console; returns whether it was stopped at its time limit."""
    deadline = None
    if asked.max_cycles:
        deadline = begun + asked.slowdown * asked.max_cycles / board.identity.clock_hz + board.patience
    typed = asked.on_terminal
    said = begun
    board.run()
    while True:
        ended = board.ended is not None     # then all its output is there already: the line keeps the order
        console.take(board.listen(0 if ended else LISTEN_S))
        if ended:
            return False
        now = time.monotonic()
        if deadline and now > deadline:
            return True
        if typed and select.select([sys.stdin], [], [], 0)[0]:
            keys = os.read(sys.stdin.fileno(), 256)
            typed = bool(keys)
            board.port.write(keys)
        if not console.shown and now - said > PROGRESS_S:
            said = now
            cycles = (now - begun) * board.identity.clock_hz / asked.slowdown
            say(f"running for {now - begun:.0f} s, cycles {int(cycles)}")


def _finish(board, console, limited):
    """The outcome of the run: exit status, and the parts of its record that are read from the board."""
    if limited:
        reason = "the limit of its time was reached"
        say(f"ended: {reason}; what it printed last: {console.text[-80:].decode(errors='replace').strip()!r}")
        with contextlib.suppress(LinkError):
            board.reset()
        return LIMIT, {"exit": {"kind": "max-cycles", "status": LIMIT, "code": None}, "reason": reason}
    code, blobs = board.ended, board.blobs()
    interrupts, overruns, trace = machine_figures(board)
    board.reset()
    status = WRONG if code else DONE
    reason = f"the target ended with code {code}" if code else None
    if reason:
        say(f"ended: {reason}")
    return status, {"exit": {"kind": "target", "status": status, "code": code}, "reason": reason,
                    "interrupts": interrupts, "overruns": overruns, "trace": trace, "blobs": blobs}


def _file(path):
    content = path.read_bytes()
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def _leave(made, out):
    """Writes run.json and the files beside it into the directory `out`."""
    trace = made.pop("trace", [])
    blobs = made.get("blobs", [])
    lines = [f"{entry.cycle},{entry.hart},{entry.event},{entry.argument}\n" for entry in trace]
    record.write_text(out / "trace.csv", "cycle,hart,event,argument\n" + "".join(lines))
    for kind in {blob.kind for blob in blobs}:
        record.write_bytes(out / f"blob-{kind}.bin", b"".join(blob.content for blob in blobs if blob.kind == kind))
    made["trace_records"] = len(trace)
    made["blobs"] = [{"kind": blob.kind, "address": f"0x{blob.address:08x}", "length": len(blob.content)}
                     for blob in blobs]
    record.write_json(out / "run.json", made)
