"""Frames of a board's link: the host's parsing of good, damaged and false ones, mixed with text."""

import random

import pytest

from sim.board.protocol import BEGIN, END, ESCAPE, MARKS, Decoder, Frame, Request, encode, words


def fed(decoder, content, step):
    """The results of feeding `content` in pieces, with neighbouring text joined."""
    found = []
    for at in range(0, len(content), step):
        for one in decoder.feed(content[at:at + step]):
            if isinstance(one, bytes) and found and isinstance(found[-1], bytes):
                found[-1] += one
            else:
                found.append(one)
    return found


@pytest.mark.parametrize("step", [1, 3, 10_000])
@pytest.mark.parametrize("payload", [b"", MARKS * 3, bytes(range(256)) * 4])
def test_frames_come_back_between_text(step, payload):
    line = b"one\r\n" + encode(5, 7, payload) + b"two" + encode(6, 8, payload[::-1])
    assert fed(Decoder(), line, step) == [b"one\r\n", Frame(5, 7, payload), b"two", Frame(6, 8, payload[::-1])]


def test_no_frame_holds_a_mark_but_its_own():
    frame = encode(Request.WRITE, 0xc1, bytes(range(256)))
    assert frame[0] == BEGIN and frame[-1] == END
    assert not set(frame[1:-1]) & {BEGIN, END}
    assert not set("Grüße, “λ” — ✓".encode()) & set(MARKS)      # console output has none of them


@pytest.mark.parametrize("damage", [
    lambda frame: frame[:-1],                               # the end is lost
    lambda frame: frame[1:],                                # the beginning is
    lambda frame: frame[:5] + frame[6:],                    # a byte is
    lambda frame: frame[:5] + bytes([frame[5] ^ 1]) + frame[6:],
    lambda frame: frame[:-1] + bytes([ESCAPE, END]),
    lambda frame: bytes([BEGIN, END]),
])
def test_a_damaged_frame_is_text_and_spoils_no_other(damage):
    spoilt = damage(encode(1, 1, words(1, 2, 3)))
    decoder = Decoder()
    found = fed(decoder, spoilt + encode(2, 2, b"good"), 1)
    assert found == [spoilt, Frame(2, 2, b"good")]
    assert decoder.damaged == (spoilt[0] == BEGIN)


def test_what_only_begins_as_a_frame_is_given_back():
    decoder = Decoder()
    text = bytes([BEGIN]) + b"x" * 20_000
    assert b"".join(decoder.feed(text)) + decoder.flush() == text
    assert decoder.flush() == b""


def test_random_lines_are_told_apart():
    source = random.Random(3)
    for _ in range(200):
        line, meant = b"", []
        for _ in range(source.randrange(1, 6)):
            if source.random() < 0.5:
                text = bytes(source.choice(b"ab\r\n @=") for _ in range(source.randrange(1, 9)))
                line += text
                meant.append(text)
            else:
                frame = Frame(source.randrange(256), source.randrange(256), source.randbytes(source.randrange(40)))
                line += encode(frame.type, frame.sequence, frame.payload)
                meant.append(frame)
        joined = []
        for one in meant:
            if isinstance(one, bytes) and joined and isinstance(joined[-1], bytes):
                joined[-1] += one
            else:
                joined.append(one)
        assert fed(Decoder(), line, source.randrange(1, 20)) == joined
