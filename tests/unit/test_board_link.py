"""The host's tools against the real loader, a program under sanitizers, over good, bad, slow and cut lines."""

import random
import signal
import threading
import time

import pytest

from sim.board import board as board_module
from sim.board.board import Board
from sim.board.link import Lost, Refused
from sim.board.port import PortError
from sim.board.protocol import DATA, Request, Status, words
from tests.unit.board.far_end import bad_line

RAM = 0x4000_0000
RAM_BYTES = 0x10_0000
CONTENT = random.Random(1).randbytes(20_000) + bytes(30_000) + b"lock" * 2_000


def opened(line, patience=2.0, said=None):
    board = Board(str(line.device), patience, (said if said is not None else []).append)
    board.connect()
    return board


def test_a_board_says_who_it_is(tmp_path):
    with bad_line(tmp_path) as line:
        board = opened(line)
        identity = board.identity
        assert (identity.name, identity.fingerprint, identity.harts) == ("far end", 0x0123456789abcdef, 2)
        assert (identity.clock_hz, identity.ram_base, identity.ram_bytes) == (60_000_000, RAM, RAM_BYTES)
        assert board.hurry() == 3_000_000 == line.baud
        board.close()


def test_memory_is_written_where_it_differs(tmp_path):
    with bad_line(tmp_path) as line:
        board = opened(line)
        board.hurry()
        seen = []
        upload = board.upload([(RAM + 4096, CONTENT)], lambda done, total: seen.append((done, total)))
        assert (upload.total, upload.there) == (len(CONTENT), 0)
        assert seen == sorted(seen) and seen[-1] == (len(CONTENT), len(CONTENT))
        assert board.read(RAM + 4096, len(CONTENT)) == CONTENT
        assert board.read(RAM + 4096 - 64, 64) == b"\xa5" * 64      # nothing beside it

        sent = board.link.sent_bytes
        changed = CONTENT[:30_000] + b"!" + CONTENT[30_001:]
        upload = board.upload([(RAM + 4096, changed)])
        assert upload.there == len(CONTENT) - DATA
        assert board.link.sent_bytes - sent < 3_000
        assert board.read(RAM + 4096, len(CONTENT)) == changed
        board.close()


@pytest.mark.parametrize(("request_type", "payload", "status"), [
    (Request.WRITE, words(RAM - 4) + b"x" * 8, Status.BAD_ADDRESS),
    (Request.WRITE, words(RAM + RAM_BYTES - 4) + b"x" * 8, Status.BAD_ADDRESS),
    (Request.PACKED, words(RAM + RAM_BYTES - 4) + b"\x80abcdefgh", Status.BAD_VALUE),
    (Request.PACKED, words(RAM) + b"\x10a\x02\x00", Status.BAD_VALUE),      # copies from before its beginning
    (Request.PACKED, words(RAM) + b"\xf0\xff\xff", Status.BAD_VALUE),       # ends within a length
    (Request.PACKED, words(RAM) + b"\x40ab", Status.BAD_VALUE),             # ends within its bytes
    (Request.READ, words(RAM, DATA + 1), Status.BAD_VALUE),
    (Request.READ, words(RAM + RAM_BYTES, 1), Status.BAD_ADDRESS),
    (Request.READ, words(0xf000_0002, 4), Status.BAD_ADDRESS),
    (Request.READ, words(0xffff_fffc, 8), Status.BAD_ADDRESS),
    (Request.CRC, words(RAM, RAM_BYTES + 1), Status.BAD_ADDRESS),
    (Request.CRC, words(RAM), Status.BAD_LENGTH),
    (Request.BAUD, words(0), Status.BAD_VALUE),
    (Request.BAUD, words(60_000_000), Status.BAD_VALUE),
    (Request.TEST, words(3, 1), Status.BAD_VALUE),
    (Request.RUN, words(RAM), Status.NO_IMAGE),
    (Request.RUN, words(RAM + 2), Status.NO_IMAGE),
    (Request.RUN, words(RAM + RAM_BYTES - 4), Status.NO_IMAGE),
    (Request.ENDED, b"", Status.NOT_NOW),
])
def test_what_cannot_be_is_refused(link, request_type, payload, status):
    with pytest.raises(Refused) as refused:
        link.ask(request_type, payload)
    assert refused.value.status == status


def test_an_unknown_request_is_refused(link):
    link.tell(200)
    link.tell(0)
    frames = []
    while len(frames) < 2:
        frames += link.listen(1.0)
    assert [frame.payload for frame in frames] == [words(Status.UNKNOWN)] * 2


@pytest.fixture(scope="module")
def link(tmp_path_factory):
    with bad_line(tmp_path_factory.mktemp("line")) as line:
        board = opened(line)
        yield board.link
        board.close()


@pytest.mark.parametrize("faults", [
    {"lost": 0.0005}, {"changed": 0.0005}, {"lost": 0.001, "changed": 0.001}, {"late": 0.1},
], ids=["lost", "changed", "both, many", "late"])
def test_a_bad_line_delays_and_spoils_nothing(tmp_path, faults):
    with bad_line(tmp_path, **faults) as line:
        board = opened(line)
        board.hurry()
        upload = board.upload([(RAM + 4096, CONTENT)])
        assert upload.total == len(CONTENT)
        assert board.read(RAM + 4096, 20_000) == CONTENT[:20_000]
        assert board.link.repeated > 0 or "late" in faults
        board.close()


def test_a_cable_that_is_put_back_resumes(tmp_path):
    with bad_line(tmp_path) as line:
        said = []
        board = opened(line, said=said)
        board.hurry()
        line.cut_at = line.carried + 15_000
        threading.Timer(1.0, line.mend).start()
        upload = board.upload([(RAM + 4096, CONTENT)])
        assert 8_000 < upload.there < len(CONTENT)
        assert "gone" in said[0] or "takes nothing" in said[0] or "does not answer" in said[0]
        assert said[1] == "found far end again, going on"
        assert board.read(RAM + 4096, 2_000) == CONTENT[:2_000]
        board.close()


def test_a_cable_that_stays_out_is_told_and_nothing_is_lost(tmp_path):
    with bad_line(tmp_path) as line:
        board = opened(line, 1.0)
        board.hurry()
        line.cut_at = line.carried + 15_000
        with pytest.raises(PortError, match="cannot be opened: No such file"):
            board.upload([(RAM + 4096, CONTENT)])
        board.close()
        line.mend()
        again = opened(line)        # another session, which finds the loader at its last bit rate
        assert 8_000 < again.upload([(RAM + 4096, CONTENT)]).there < len(CONTENT)
        again.close()


def test_a_board_that_is_reset_meanwhile_begins_anew(tmp_path):
    with bad_line(tmp_path) as line:
        said = []
        board = opened(line, said=said)
        board.hurry()
        threading.Timer(0.05, line.reset).start()
        line.faults.late = 0.05     # so that it is under way
        upload = board.upload([(RAM + 4096, CONTENT)])
        assert upload.there == 0
        assert said[-1] == "found far end again, going on" and line.baud == 3_000_000
        assert board.read(RAM + 4096, 100) == CONTENT[:100]
        board.close()


def test_silence_is_told_in_one_line(tmp_path):
    with bad_line(tmp_path) as line:
        line.program.send_signal(signal.SIGSTOP)
        board = Board(str(line.device), 0.5)
        begun = time.monotonic()
        with pytest.raises(Lost, match="^no board answers on .*make flash.*$"):
            board.connect()
        assert time.monotonic() - begun < 10
        line.program.send_signal(signal.SIGCONT)
        board.close()


def test_a_bit_rate_that_does_not_work_is_taken_back(tmp_path, monkeypatch):
    with bad_line(tmp_path) as line:
        board = opened(line, 1.0)
        monkeypatch.setattr(board_module, "BAUDS", (3_000_000, 1_000_000))
        set_baud = board.port.set_baud

        def refuses(baud):
            if baud == 3_000_000:
                raise PortError("this adaptor cannot")
            set_baud(baud)
        monkeypatch.setattr(board.port, "set_baud", refuses)
        assert board.hurry() == 1_000_000 == line.baud
        board.close()


def test_a_self_test_is_done_once_whatever_is_lost(tmp_path):
    with bad_line(tmp_path, lost=0.01) as line:
        board = opened(line)
        failures, report = board.self_test(seconds=20)
        assert (failures, report) == (1, "memory ok\ntimes failed: 1\n")
        board.close()


def test_a_port_that_is_in_use_is_told(tmp_path):
    with bad_line(tmp_path) as line:
        board = opened(line)
        with pytest.raises(PortError, match="cannot be opened: another program has it open"):
            Board(str(line.device))
        board.close()
