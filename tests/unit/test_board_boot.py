"""Runs of an image on a board that is a program of this machine: their results, and messages when they fail."""

import json

import pytest
from elftools.elf.elffile import ELFFile

from sim.board import boot
from sim.board.boot import Asked, carry_out
from sim.board.image import ImageError, pieces
from sim.board.results import results, value_of
from tests.unit.board.far_end import bad_line
from tests.unit.board.image import make_image

BLOB = bytes(i * 7 & 0xff for i in range(3000))


@pytest.fixture
def quick(monkeypatch):
    """A board that is lost after a second."""
    monkeypatch.setattr(boot, "patience", lambda slowdown: 1.0)


def ran(tmp_path, line, bootargs, **more):
    """A run's exit status, and its record."""
    status = carry_out(Asked(str(line.device), make_image(tmp_path), bootargs, 4, tmp_path / "out", on_terminal=False,
                             **more))
    path = tmp_path / "out/run.json"
    return status, json.loads(path.read_text()) if path.exists() else None


def test_a_run_leaves_what_the_simulator_leaves(tmp_path):
    with bad_line(tmp_path) as line:
        status, record = ran(tmp_path, line, "run=it console.baud=6000000")
    assert status == 0
    assert record["arguments"]["bootargs"] == "run=it seed=4 console.baud=3000000"
    assert record["exit"] == {"kind": "target", "status": 0, "code": 0} and record["reason"] is None
    assert record["results"] == {"done": [{"words": 1, "real": 2.5, "hex": 16, "flag": True}]}
    assert record["board"] == {"name": "far end", "fingerprint": "0123456789abcdef", "harts": 2,
                               "clock_hz": 60_000_000, "ram_bytes": 1 << 20}
    assert record["interrupts"] == {"16": {"rises": 3, "deliveries": 0, "merged": 0, "max_wait_cycles": 99,
                                           "total_wait_cycles": 0}}
    assert record["overruns"] == {"uart0": 0, "uart1": 5} and record["trace_records"] == 1
    assert [blob["length"] for blob in record["blobs"]] == [3000]
    out = tmp_path / "out"
    assert (out / "blob-1.bin").read_bytes() == BLOB
    assert (out / "trace.csv").read_text() == f"cycle,hart,event,argument\n{(1 << 32) + 0x1234},1,7,42\n"
    assert (out / "console.txt").read_text().startswith("image: run=it seed=4")
    assert not {"cycles", "window", "harts", "digest"} & set(record)      # a board cannot measure those


def test_an_exit_code_is_told(tmp_path, capfd):
    with bad_line(tmp_path) as line:
        status, record = ran(tmp_path, line, "exit=7")
    assert status == 1
    assert record["exit"]["code"] == 7 and record["reason"] == "the target ended with code 7"
    assert "ended: the target ended with code 7\n" in capfd.readouterr().err


def test_several_runs_follow_each_other_over_a_bad_line(tmp_path):
    with bad_line(tmp_path, changed=0.0003) as line:
        for _ in range(3):
            status, record = ran(tmp_path, line, "again")
            assert status == 0 and (tmp_path / "out/blob-1.bin").read_bytes() == BLOB


def test_a_hang_ends_at_the_limit(tmp_path, quick, capfd):
    with bad_line(tmp_path) as line:
        status, record = ran(tmp_path, line, "hang", max_cycles=30_000_000)
    assert status == 3
    assert record["exit"]["kind"] == "max-cycles" and record["exit"]["code"] is None
    assert "ended: the limit of its time was reached; what it printed last: " in capfd.readouterr().err


def test_bytes_for_the_data_line_go_where_the_image_keeps_them(tmp_path, quick, capfd):
    feed = tmp_path / "feed"
    feed.write_bytes(b"some bytes")
    with bad_line(tmp_path) as line:
        status, record = ran(tmp_path, line, "run=serial", feed=feed)
        assert status == 0 and record["arguments"]["bootargs"].endswith(" player=1")
        assert record["uart1_in"]["bytes"] == 10
        feed.write_bytes(bytes(33))
        assert ran(tmp_path, line, "run=serial", feed=feed)[0] == 2
    assert "33 bytes are too many for the data line" in capfd.readouterr().err
    loaded = pieces(make_image(tmp_path), "", 1 << 20, b"some bytes")
    assert loaded[-1][1] == b"some bytes" and loaded[-1][0] % 8 == 0


def test_another_board_is_refused(tmp_path, quick, capfd):
    with bad_line(tmp_path) as line:
        assert ran(tmp_path, line, "", expect=0xabc) == (6, None)
    assert "is build 0123456789abcdef, not 0000000000000abc: was another one put there?" in capfd.readouterr().err


def test_no_port_and_no_image_are_told_in_one_line(tmp_path, quick, capfd):
    assert carry_out(Asked(str(tmp_path / "none"), make_image(tmp_path), "")) == 6
    said = capfd.readouterr().err
    assert said.count("\n") == 1 and "none cannot be opened: No such file or directory; see which ports" in said
    with bad_line(tmp_path) as line:
        assert carry_out(Asked(str(line.device), tmp_path / "missing.elf", "")) == 2
    assert capfd.readouterr().err.endswith("missing.elf cannot be read: No such file or directory\n")


@pytest.mark.parametrize(("made", "bootargs", "ram_bytes", "why"), [
    ({"magic": 1}, "", 1 << 20, "has no header at 0x40000000"),
    ({"base": 0x4000_1000}, "", 1 << 20, "has no header at 0x40000000"),
    ({"base": 0x1000_0000}, "", 1 << 20, "does not fit main RAM: a segment wants 0x10000000 to"),
    ({}, "", 4096, "does not fit main RAM"),
    ({}, "x" * 64, 1 << 20, "the boot arguments have 64 bytes, the image's buffer takes 63: give fewer"),
])
def test_an_image_that_cannot_be_loaded_is_told(tmp_path, made, bootargs, ram_bytes, why):
    with pytest.raises(ImageError, match=why):
        pieces(make_image(tmp_path, **made), bootargs, ram_bytes)


def test_files_that_are_no_images_are_told(tmp_path):
    path = tmp_path / "file"
    for content, why in ((b"hello", "is not a whole ELF file"), (make_image(tmp_path).read_bytes()[:60], "not a whole"),
                         ((tmp_path / "image.elf").read_bytes()[:18] + b"\x3e\x00", "is not a")):
        path.write_bytes(content)
        with pytest.raises(ImageError, match=why):
            pieces(path, "", 1 << 20)


def test_boot_arguments_lie_in_the_image(tmp_path):
    (base, content), = pieces(make_image(tmp_path), "run=x", 1 << 20)
    at = int.from_bytes(content[12:16], "little") - base
    assert content[at:at + 8] == b"run=x\0\0\0" and content[20:30] == b"\x5a" * 10


def test_what_is_reserved_between_is_not_loaded(tmp_path):
    """Though the linker fills it with zeroes, as it lies in the middle of a segment."""
    image = make_image(tmp_path, archived=40)
    with open(image, "rb") as file:
        assert max(segment["p_filesz"] for segment in ELFFile(file).iter_segments()) >= 5064 + 32 + 40
    (base, content), (address, archived) = pieces(image, "", 1 << 20)
    assert archived == b"\xa5" * 40
    assert 5064 < len(content) < 5064 + 32 and base + len(content) + 32 <= address < base + len(content) + 48


def test_results_are_read_as_the_harness_reads_them():
    console = "boot\r\n@a x=1 y=-2 z=0x1f w=1.50 v=2687e218 u=abc t=12ab flag x=9 =3\r\n@ no\n@b\n @c d=1\n@a n=007\n"
    assert results(console) == {"a": [{"x": 1, "y": -2, "z": 31, "w": 1.5, "v": "2687e218", "u": "abc", "t": "12ab",
                                       "flag": True}, {"n": 7}], "b": [{}], "no": [{}]}
    assert value_of("-") == "-" and value_of("") == "" and value_of("1.") == 1.0 and value_of("-0x10") == "-0x10"
