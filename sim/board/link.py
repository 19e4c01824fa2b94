"""Requests to a board's loader and its answers, over a line that may lose, change and delay what goes over it.

Several requests are under way at a time. The line keeps the order, so an answer to a later request says that an
earlier one, or its answer, was lost: that is sent again at once. What else goes unanswered is sent again after a time
that follows the answers' measured delay (as TCP's, RFC 6298), and grows with each try and when an answer comes twice:
so slow lines and simulated boards work, too.
"""

import time
from dataclasses import dataclass

from sim.board.protocol import REPLY, Decoder, Frame, Request, Status, encode, numbers, words

FIRST_WAIT = 0.1        # for an answer, and the bounds of that time, as parts of the link's patience
LEAST_WAIT = 0.02
MOST_WAIT = 1.6
LEAST_TRIES = 2         # of a request before the board counts as silent
MOST_TRIES = 40         # of one request while others are answered
BITS = 10               # of a character on the line


class LinkError(Exception):
    """The board cannot be worked with; the text is one line."""


class Lost(LinkError):
    """The board does not answer any more."""


class Refused(LinkError):
    """The board has answered that it will not; `status` says why."""

    def __init__(self, request, status):
        super().__init__(f"the board refuses {Request(request).name}: {Status(status).name.lower().replace('_', ' ')}")
        self.status = status


@dataclass(eq=False)
class Waiting:
    """A request under way."""

    index: int
    type: int
    content: bytes
    order: int = 0      # of its last sending, among all
    sent: float = 0.0
    line_s: float = 0.0     # that the line takes for what is before it and for itself
    deadline: float = 0.0
    tries: int = 0


class Link:
    """The host's end. Text from the board goes to `on_text` (bytes), frames that answer nothing to `on_note`.

    `slowdown`: how many times longer than its bit rate says the line takes, if the board is simulated.
    """

    def __init__(self, port, patience=5.0, on_text=None, on_note=None, slowdown=1.0):
        self.port = port
        self.slowdown = slowdown
        self.patience = patience        # seconds of silence after which a board is lost
        self.on_text = on_text or (lambda text: None)
        self.on_note = on_note or (lambda frame: None)
        self.decoder = Decoder()
        self.repeated = 0               # requests sent again
        self.sent_bytes = 0
        self._sequence = 0
        self._order = 0
        self._busy_until = 0.0          # when all that was sent has left, as the bit rate has it
        self._mean = None
        self._spread = 0.0
        self._wait = FIRST_WAIT * patience
        self._heard = 0.0               # when the last answer came, wanted or not

    def restart(self):
        """Forgets what was learnt of the line: its bit rate or far end is another now."""
        self.decoder = Decoder()
        self._busy_until = 0.0
        self._mean = None
        self._wait = FIRST_WAIT * self.patience

    def listen(self, timeout):
        """Takes in what comes within `timeout` seconds, at least a little; gives the frames among it."""
        frames = []
        for found in self.decoder.feed(self.port.read(timeout)):
            if isinstance(found, Frame):
                frames.append(found)
            else:
                self.on_text(found)
        return frames

    def ask(self, request, payload=b"", patience=None):
        """The answer to one request: its payload behind the status. Lost, Refused, PortError."""
        return self.exchange([(request, payload)], 1, patience)[0]

    def exchange(self, requests, window, patience=None, done=None):
        """The answers to many, in order, `window` of them under way at a time; `done(answered)` is told how many.

        Lost after `patience` seconds without an answer, Refused, PortError.
        """
        patience = self.patience if patience is None else patience
        answers = [None] * len(requests)
        waiting = {}
        first, answered = 0, 0
        self._heard = time.monotonic()
        while answered < len(requests):
            while first < len(requests) and len(waiting) < window:
                type_, payload = requests[first]
                self._sequence = (self._sequence + 1) % 256
                waiting[self._sequence] = Waiting(first, type_, encode(type_, self._sequence, payload))
                self._send(waiting[self._sequence])
                first += 1
            due = min(entry.deadline for entry in waiting.values())
            for frame in self.listen(max(0.0, min(due - time.monotonic(), 0.2))):
                if frame.type & REPLY:
                    self._heard = time.monotonic()
                entry = waiting.get(frame.sequence)
                if entry is None or frame.type != entry.type | REPLY:
                    self._unexpected(frame)
                    continue
                del waiting[frame.sequence]
                answers[entry.index] = self._accept(entry, frame)
                answered += 1
                if done:
                    done(answered)
                for earlier in [other for other in waiting.values() if other.order < entry.order]:
                    self._send(earlier)
            self._repeat_late(waiting, patience)
        return answers

    def _repeat_late(self, waiting, patience):
        now = time.monotonic()
        late = [entry for entry in waiting.values() if now >= entry.deadline]
        if not late:
            return
        silent = now - self._heard
        if silent > patience and all(entry.tries >= LEAST_TRIES for entry in late):
            raise Lost(f"the board on {self.port.device} does not answer any more, for {silent:.0f} s")
        for entry in late:
            self._send(entry)

    def _unexpected(self, frame):
        if frame.type & REPLY:      # a second answer: the request was repeated too early
            self._wait = min(2 * self._wait, MOST_WAIT * self.patience)
        else:
            self.on_note(frame)

    def _send(self, entry):
        if entry.tries == MOST_TRIES:
            raise Lost(f"{Request(entry.type).name} does not get through to {self.port.device} in {MOST_TRIES} tries")
        now = time.monotonic()
        self.port.write(entry.content)
        self._busy_until = max(now, self._busy_until) + self._seconds_for(len(entry.content))
        self._order += 1
        entry.order, entry.sent, entry.line_s = self._order, now, self._busy_until - now
        wait = min(self._wait * 2 ** min(entry.tries, 3), MOST_WAIT * self.patience)
        entry.deadline = self._busy_until + wait
        self.sent_bytes += len(entry.content)
        self.repeated += entry.tries > 0
        entry.tries += 1

    def _seconds_for(self, count):
        """How long so many bytes take on the line."""
        return self.slowdown * BITS * count / self.port.baud

    def _accept(self, entry, frame):
        if entry.tries == 1:        # of one sent twice nobody knows which was answered
            self._measure(time.monotonic() - entry.sent - entry.line_s)
        try:
            status, = numbers(frame.payload, 1)
        except ValueError as error:
            raise LinkError(f"the answer to {Request(entry.type).name} is too short: {error}") from error
        if status != Status.OK:
            raise Refused(entry.type, status)
        return frame.payload[4:]

    def _measure(self, seconds):
        seconds = max(0.0, seconds)
        if self._mean is None:
            self._mean, self._spread = seconds, seconds / 2
        else:
            self._spread += (abs(seconds - self._mean) - self._spread) / 4
            self._mean += (seconds - self._mean) / 8
        least, most = LEAST_WAIT * self.patience, MOST_WAIT * self.patience
        self._wait = min(max(self._mean + 4 * self._spread, least), most)

    def tell(self, request, *values):
        """Sends a request once, without waiting for its answer."""
        self._sequence = (self._sequence + 1) % 256
        self.port.write(encode(request, self._sequence, words(*values)))
