"""Requests to a board's loader and its answers, over a line that may lose, change and delay bytes.

Several requests are under way at a time, as many as the far end buffers while it executes the first of them, so that it
loses nothing however long that takes. The line keeps the order, so an answer to a later request shows that an earlier
one, or its answer, was lost: that is sent again at once. Otherwise the oldest is sent again after a time-out that
follows the answers' measured delay (as TCP's, RFC 6298), and grows with each retry and when an answer comes twice: so
slow lines and simulated boards work, too.
"""

import time
from dataclasses import dataclass

from sim.board.protocol import REPLY, Decoder, Frame, Request, Status, encode, numbers, words

FIRST_WAIT = 0.04       # for an answer, and the bounds of that time, as parts of the link's patience
LEAST_WAIT = 0.02
MOST_WAIT = 1.6
LEAST_TRIES = 2         # of a request before the board counts as lost
MOST_TRIES = 40         # of one request while others are answered
BITS = 10               # of a character on the line


class LinkError(Exception):
    """The board cannot be used; the text is one line."""


class Lost(LinkError):
    """The board does not answer any more."""


class Refused(LinkError):
    """The board has refused the request; `status` says why."""

    def __init__(self, request, status):
        super().__init__(f"the board refuses {Request(request).name}: {Status(status).name.lower().replace('_', ' ')}")
        self.status = status


@dataclass(eq=False)
class Waiting:
    """A request under way."""

    index: int
    type: int
    content: bytes
    most_tries: int
    answer_s: float     # the line's time for the answer to a READ
    order: int = 0      # of its last sending, among all
    arrives: float = 0.0    # when the line has carried the earlier ones and this one
    wait: float = 0.0       # for the answer, from then or from the previous answer on
    tries: int = 0


class Link:
    """The host's end. Text from the board goes to `on_text` (bytes), frames that are no answers to `on_note`.

    `slowdown`: factor by which the line is slower than its bit rate, if the board is simulated.
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
        self._busy_until = 0.0          # when all that was sent has left, by the bit rate
        self._mean = None
        self._spread = 0.0
        self._wait = FIRST_WAIT * patience
        self._heard = 0.0               # when the last answer came, expected or not
        self._again = 0.0               # when the line has carried the last repeated request

    def restart(self):
        """Drops the line's estimates, after a change of its bit rate or far end."""
        self.decoder = Decoder()
        self._busy_until = 0.0
        self._mean = None
        self._wait = FIRST_WAIT * self.patience

    def listen(self, timeout):
        """Receives for `timeout` seconds, at least briefly; returns the received frames."""
        frames = []
        for found in self.decoder.feed(self.port.read(timeout)):
            if isinstance(found, Frame):
                frames.append(found)
            else:
                self.on_text(found)
        return frames

    def ask(self, request, payload=b"", patience=None):
        """The answer to one request: its payload after the status. Lost, Refused, PortError."""
        return self.exchange([(request, payload)], patience=patience)[0]

    def exchange(self, requests, room=0, patience=None, most_tries=MOST_TRIES):
        """The answers to many, in order; one is under way at a time, or as many as fit into `room` characters.

        Lost after `patience` seconds without an answer or `most_tries` of one request, Refused, PortError.
        """
        patience = self.patience if patience is None else patience
        answers = [None] * len(requests)
        waiting = {}
        first, answered = 0, 0
        self._heard = time.monotonic()
        while answered < len(requests):
            while first < len(requests):
                type_, payload = requests[first]
                sequence = (self._sequence + 1) % 256
                content = encode(type_, sequence, payload)
                if waiting and sum(len(entry.content) for entry in waiting.values()) + len(content) > room:
                    break
                self._sequence = sequence
                brings = numbers(payload, 2)[1] if type_ == Request.READ else 0
                waiting[sequence] = Waiting(first, type_, content, most_tries, self._seconds_for(brings))
                self._send(waiting[sequence])
                first += 1
            oldest = min(waiting.values(), key=lambda entry: entry.order)
            for frame in self.listen(max(0.0, min(self._due(oldest) - time.monotonic(), 0.2))):
                before = self._heard
                if frame.type & REPLY:
                    self._heard = time.monotonic()
                entry = waiting.get(frame.sequence)
                if entry is None or frame.type != entry.type | REPLY:
                    self._unexpected(frame)
                    continue
                del waiting[frame.sequence]
                if entry.tries == 1:    # which attempt was answered is known only if there was one
                    self._measure(self._heard - max(entry.arrives, before) - entry.answer_s)
                answers[entry.index] = self._accept(entry, frame)
                answered += 1
                for earlier in [other for other in waiting.values() if other.order < entry.order]:
                    self._send(earlier)
            if waiting:
                self._repeat_late(min(waiting.values(), key=lambda entry: entry.order), patience)
        return answers

    def _due(self, entry):
        """When the answer is due, if it is the next one."""
        return max(entry.arrives, self._heard, self._again) + entry.answer_s + entry.wait

    def _repeat_late(self, oldest, patience):
        now = time.monotonic()
        if now < self._due(oldest):
            return
        silent = now - self._heard
        if silent > patience and oldest.tries >= LEAST_TRIES:
            raise Lost(f"the board on {self.port.device} does not answer any more, for {silent:.0f} s")
        self._send(oldest)
        self._again = self._busy_until      # others are not late before that, unless this answer shows it

    def _unexpected(self, frame):
        if frame.type & REPLY:      # a second answer: the request was repeated too early
            self._wait = min(2 * self._wait, MOST_WAIT * self.patience)
        else:
            self.on_note(frame)

    def _send(self, entry):
        if entry.tries == entry.most_tries:
            raise Lost(f"{Request(entry.type).name} does not get through to {self.port.device} in {entry.tries} tries")
        now = time.monotonic()
        self.port.write(entry.content)
        self._busy_until = max(now, self._busy_until) + self._seconds_for(len(entry.content))
        self._order += 1
        entry.order, entry.arrives = self._order, self._busy_until
        entry.wait = min(self._wait * 2 ** min(entry.tries, 3), MOST_WAIT * self.patience)
        self.sent_bytes += len(entry.content)
        self.repeated += entry.tries > 0
        entry.tries += 1

    def _seconds_for(self, count):
        """The seconds that so many bytes take on the line."""
        return self.slowdown * BITS * count / self.port.baud

    def _accept(self, entry, frame):
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
