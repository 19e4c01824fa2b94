"""Frames on a board's console line, as firmware/protocol.h defines them; the numbers are read from there."""

import re
import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum

from support.cache import REPO

_NUMBERS = {name: int(value, 0) for name, value in re.findall(
    r"^#define (\w+) (0x[0-9a-f]+|\d+)\b", (REPO / "firmware/protocol.h").read_text(), re.MULTILINE)}

VERSION = _NUMBERS["PROTOCOL_VERSION"]
BEGIN, END, ESCAPE, ESCAPED_BY = (_NUMBERS[f"FRAME_{name}"] for name in ("BEGIN", "END", "ESCAPE", "ESCAPED_BY"))
MARKS = bytes((BEGIN, END, ESCAPE))
DATA = _NUMBERS["FRAME_DATA"]           # most bytes of memory in one frame
REPLY, NOTE_ENDED = _NUMBERS["LINK_REPLY"], _NUMBERS["LINK_NOTE_ENDED"]
_MOST = _NUMBERS["FRAME_HEADER"] + _NUMBERS["FRAME_CRC"] + DATA + 64    # bytes of a frame, without marks


def _group(name, members):
    return IntEnum(name, {member: _NUMBERS[f"LINK_{member}"] for member in members.split()})


Request = _group("Request", "HELLO WRITE READ CRC BAUD RUN ENDED TEST REPORT PACKED RESET")
Status = _group("Status", "OK UNKNOWN BAD_LENGTH BAD_ADDRESS BAD_VALUE NO_IMAGE NOT_NOW")
State = _group("State", "STATE_IDLE STATE_ENDED")
Test = _group("Test", "TEST_SHORT TEST_LONG")


@dataclass(frozen=True)
class Frame:
    """A frame received whole and correct."""

    type: int
    sequence: int
    payload: bytes

    def numbers(self, count, offset=0):
        """`count` numbers of 32 bits from the payload. ValueError if it is too short."""
        return numbers(self.payload, count, offset)


def numbers(payload, count, offset=0):
    """`count` numbers of 32 bits from `offset` on. ValueError if they are not all there."""
    if len(payload) < offset + 4 * count:
        raise ValueError(f"{len(payload)} bytes where {offset + 4 * count} at least should be")
    return struct.unpack_from(f"<{count}I", payload, offset)


def words(*values):
    """Numbers of 32 bits, encoded for a payload."""
    return struct.pack(f"<{len(values)}I", *values)


def encode(type_, sequence, payload=b""):
    """A frame encoded for the line."""
    content = bytes((type_, sequence)) + payload
    content += words(zlib.crc32(content))
    escaped = b"".join(bytes((ESCAPE, byte ^ ESCAPED_BY)) if byte in MARKS else bytes((byte,)) for byte in content)
    return bytes((BEGIN,)) + escaped + bytes((END,))


class Decoder:
    """Separates frames from text in the line's input. What begins as a frame and is none is text."""

    def __init__(self):
        self.damaged = 0        # frames that began and were wrong
        self._raw = None        # the raw bytes of the frame that has begun

    def feed(self, received):
        """The items that `received` completes, in order: bytes (text) and Frames."""
        found, text = [], bytearray()
        for byte in received:
            if byte == BEGIN:
                text += self._give_up()
                self._raw = bytearray((byte,))
            elif self._raw is None:
                text.append(byte)
            else:
                self._raw.append(byte)
                if byte == END:
                    frame = self._frame()
                    if frame is None:
                        text += self._give_up()
                        continue
                    if text:
                        found.append(bytes(text))
                        text.clear()
                    found.append(frame)
                    self._raw = None
                elif len(self._raw) > 2 * _MOST:
                    text += self._give_up()
        return [*found, *([bytes(text)] if text else [])]

    def flush(self):
        """The text still held back because it looked like the beginning of a frame."""
        return bytes(self._give_up())

    def _give_up(self):
        raw, self._raw = self._raw, None
        self.damaged += bool(raw)
        return raw or b""

    def _frame(self):
        content, escaped = bytearray(), False
        for byte in self._raw[1:-1]:
            if byte == ESCAPE and not escaped:
                escaped = True
                continue
            content.append(byte ^ ESCAPED_BY if escaped else byte)
            escaped = False
        if escaped or len(content) < 6 or numbers(content, 1, len(content) - 4)[0] != zlib.crc32(content[:-4]):
            return None
        return Frame(content[0], content[1], bytes(content[2:-4]))
