"""A board at the other end of a serial port: finds, queries, loads, runs and reads it."""

import random
import time
from dataclasses import dataclass

from sim.board.image import BASE
from sim.board.link import Link, LinkError, Lost, Refused
from sim.board.memory import Memory
from sim.board.port import Port, PortError
from sim.board.protocol import NOTE_ENDED, VERSION, Request, State, Test, numbers, words

RESET_BAUD = 115_200
BAUDS = (3_000_000, 1_000_000, 460_800)     # in the order of trial
BAUD_TOLERANCE = 0.015      # allowed difference of both ends' bit rates
ROUNDS = 5                  # of saying RUN
BREAK_S = 0.5
TRIAL_S = 2.0               # after which the loader reverts an unused bit rate, by its clock


@dataclass(frozen=True)
class Identity:
    """A board's description of itself."""

    name: str
    fingerprint: int
    harts: int
    clock_hz: int
    ram_base: int
    ram_bytes: int
    room: int           # characters that its receiver buffers
    state: State

    def __str__(self):
        return (f"{self.name}, {self.harts} hart{'s' * (self.harts > 1)}, {self.clock_hz / 1e6:g} MHz, "
                f"{self.ram_bytes >> 20} MiB, build {self.fingerprint:016x}")


@dataclass(frozen=True)
class Blob:
    """A piece of memory that a run requested to be copied out."""

    kind: int
    address: int
    content: bytes


class Board:
    """A board whose loader answers. LinkError or PortError, in one line, if it does not.

    `patience`: seconds of silence after which it counts as lost; a simulated board needs more than a real one.
    `slowdown`: how many times slower than its clock it is.
    """

    def __init__(self, device, patience=5.0, say=lambda text: None, slowdown=1.0):
        self.device = device
        self.patience = patience
        self.say = say
        self.text = bytearray()     # text received since the last read
        self.ended = None           # exit code announced at a run's end
        self.port = Port(device, RESET_BAUD)
        self.link = Link(self.port, patience, self.text.extend, self._note, slowdown)
        self.identity = None
        self.fast = RESET_BAUD      # the bit rate agreed on last
        self.memory = None

    def close(self):
        self.port.close()

    def _note(self, frame):
        if frame.type == NOTE_ENDED:
            self.ended, = frame.numbers(1)

    # Finding it -------------------------------------------------------------------------------------------------------

    def connect(self):
        """Finds the loader at any bit rate, after a reset if nothing else helps; its Identity."""
        for attempt in range(2):
            for baud in dict.fromkeys((self.fast, RESET_BAUD, *BAUDS[:1])):
                if self._answers(baud, self.patience / 5):
                    return self._identified()
            if not attempt and not self._reset_by_break():
                break
        if self._answers(RESET_BAUD, self.patience):
            return self._identified()
        raise Lost(f"no board answers on {self.device}: see that it is powered, that its bitstream is loaded "
                   "(make flash BOARD=...) and that this is its console")

    def _identified(self):
        if self.identity.ram_base != BASE:
            raise LinkError(f"main RAM of {self.identity.name} lies at {self.identity.ram_base:#x}, not at {BASE:#x}, "
                            "which images are linked to")
        return self.identity

    def _answers(self, baud, patience):
        self.port.set_baud(baud)
        self.port.discard()
        self.link.restart()
        try:
            self.identity = self._hello(patience)
        except Lost:
            return False
        self.memory = Memory(self.link, self.identity.room)
        return True

    def _hello(self, patience=None):
        payload = self.link.ask(Request.HELLO, patience=patience)
        version, state, low, high, harts, clock_hz, base, size, room = numbers(payload, 9)
        if version != VERSION:
            raise LinkError(f"the boot ROM of the board speaks version {version} of the link, this tree has {VERSION}: "
                            "build and flash its bitstream anew")
        return Identity(payload[36:].decode(errors="replace"), high << 32 | low, harts, clock_hz, base, size, room,
                        State(state))

    def _reset_by_break(self):
        """Resets the board by a long break, which works in any state; False if the port cannot send one."""
        self.port.set_baud(RESET_BAUD)
        return self.port.send_break(BREAK_S)

    def hurry(self, most=BAUDS[0]):
        """Changes to the fastest bit rate up to `most` that both ends support and that works; returns it."""
        for baud in [rate for rate in dict.fromkeys((most, *BAUDS)) if self.port.baud < rate <= most]:
            try:
                made, = numbers(self.link.ask(Request.BAUD, words(baud)), 1)
            except Refused:
                continue        # its clock does not allow it
            if abs(made - baud) <= BAUD_TOLERANCE * baud and self._tried(baud):
                break
            self._slow_again()
        self.fast = self.port.baud
        return self.fast

    def _tried(self, baud):
        try:
            return self._answers(baud, self.patience / 2)
        except PortError:
            return False

    def _slow_again(self):
        """Waits until the loader is back at the bit rate it has after a reset."""
        time.sleep(TRIAL_S)
        if not self._answers(RESET_BAUD, 2 * self.patience):
            raise Lost(f"the board on {self.device} is lost since a change of the bit rate: give a lower --baud")

    def _found_again(self):
        """Reconnects after the board was lost or its cable was out, at the agreed bit rate."""
        before, baud = self.identity, self.fast
        self.port.open_again(self.patience)
        self.connect()
        if (self.identity.fingerprint, self.identity.harts) != (before.fingerprint, before.harts):
            raise LinkError(f"another board answers on {self.device} now: {self.identity}")
        if self.port.baud != baud:
            self.hurry(baud)

    def _carried(self, work):
        """Does `work`, and resumes it once if the board was lost meanwhile and is found again."""
        try:
            return work()
        except (Lost, PortError) as error:
            self.say(f"{error}; looking for it")
            self._found_again()
            self.say(f"found {self.identity.name} again, going on")
            return work()

    # Memory -----------------------------------------------------------------------------------------------------------

    def upload(self, pieces, progress=lambda done, total: None):
        """As in Memory; after a loss of the board it resumes with the missing pieces."""
        return self._carried(lambda: self.memory.upload(pieces, progress))

    def read(self, address, count):
        """As in Memory."""
        return self._carried(lambda: self.memory.read(address, count))

    # Running ----------------------------------------------------------------------------------------------------------

    def run(self, entry=BASE):
        """Starts the image on the board. Its output from now on is the console's (`listen`)."""
        self.text.clear()
        self.ended = None
        for _ in range(ROUNDS):
            try:
                self.link.ask(Request.RUN, words(entry), self.patience / 4)
                return
            except Lost:
                if self.text:       # the answer was lost: the image runs
                    return
                try:
                    self._hello()   # the request was lost: the image does not run
                except Lost:
                    return          # neither loader nor console: the image runs silently
        raise Lost(f"RUN does not get through to {self.device}")

    def listen(self, timeout):
        """The image's output within `timeout` seconds; `ended` is its exit code once it has ended."""
        for frame in self.link.listen(timeout):
            self._note(frame)
        text = bytes(self.text)
        self.text.clear()
        return text

    def blobs(self):
        """The memory that the ended run requested to be copied out."""
        payload = self._carried(lambda: self.link.ask(Request.ENDED))
        _, count = numbers(payload, 2)
        entries = [numbers(payload, 3, 8 + 12 * index) for index in range(count)]
        return [Blob(kind, address, self.read(address, length) if length else b"") for kind, address, length in entries]

    def reset(self):
        """Resets the board through its loader, or by a break if that does not answer."""
        try:
            self.link.ask(Request.RESET, patience=self.patience / 2)
        except Lost:
            if not self._reset_by_break():
                raise
        self.port.set_baud(RESET_BAUD)
        self.link.restart()

    # Self-test --------------------------------------------------------------------------------------------------------

    def self_test(self, which=Test.TEST_SHORT, seconds=60.0, show=lambda text: None):
        """Runs the board's self-test; returns how many tests failed, and the report as text.

        Its output is passed to `show`; LinkError after `seconds` without any.
        """
        if self.identity.state == State.STATE_ENDED:
            self.reset()
            self.identity = self._hello()
        self.text.clear()
        number = random.getrandbits(31) + 1
        self.link.ask(Request.TEST, words(which, number))
        spoke = time.monotonic()
        while time.monotonic() - spoke < seconds:
            text = self.listen(self.patience / 4)
            if text:
                show(text)
                spoke = time.monotonic()
                continue
            try:
                payload = self.link.ask(Request.REPORT, patience=self.patience / 4)
            except Lost:
                continue        # it is still running
            done, failures = numbers(payload, 2)
            if done == number:
                return failures, payload[8:].decode(errors="replace")
        raise Lost(f"the self-test of the board on {self.device} has said nothing for {seconds:.0f} s")
