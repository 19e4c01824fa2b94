"""The models of the protocol between nodes (tests/kernel/remote_model.py): none of their states is wrong, and the
search finds errors planted on purpose, as does the check of frames."""

import struct

import pytest

from tests.kernel.remote_model import DATA, HEADER, Epochs, Rights, Share, Wrong, check_frames, search

MOST = 100_000


@pytest.mark.parametrize("model", [Rights(sends=3), Rights(sends=3, parts=1), Epochs(), Share(asks=4)],
                         ids=["rights", "rights-parted", "epochs", "shared-page"])
def test_no_state_is_wrong(model):
    assert search(model, MOST) > 500


@pytest.mark.parametrize("model, said", [
    (Rights(sends=3, flaw="any node is the parent"), "more comes back than was given"),
    (Rights(sends=3, flaw="what is abroad does not count"), "no senders, but there is one"),
    (Rights(sends=3, parts=1, flaw="the parent is not told"), "rights are counted that no node has"),
    (Rights(sends=4, parts=1, flaw="a node that got it from here is not told"), "rights are counted that no node has"),
    (Epochs(flaw="what was seen is forgotten"), "a message is taken twice"),
    (Share(flaw="readers keep it"), "a page is written that others have"),
    (Share(flaw="what was asked before counts"), "a page is written that others have"),
    (Share(flaw="an unwanted page stays"), "a node waits for ever"),
    (Share(asks=5, writes=1, evictions=0, flaw="what is there is not granted"), "0 sees what is not the newest"),
    (Share(flaw="a grant to a node without the page"), "a node waits for ever"),
    (Share(flaw="a page leaves that waits"), "a node waits for ever"),
], ids=["parent", "abroad", "not-told", "child-not-told", "forgotten", "readers", "before", "unwanted", "there",
        "grant", "leaves"])
def test_what_is_wrong_is_found(model, said):
    with pytest.raises(Wrong, match=said):
        search(model, MOST)


def frame(kind, source, to, number, index=0, content=b"", epoch=1, to_epoch=1):
    content = content or struct.pack("<IIIHHIHH", 16, 7, 0, 0, 0, 0, 0, 0)
    return bytes([2, 0, 0, 0, 0, to + 2, 2, 0, 0, 0, 0, source + 2, 0x88, 0xb5]) + HEADER.pack(
        kind, source, number, index, 0, to_epoch, epoch) + (content if kind == DATA else b"")


@pytest.mark.parametrize("transport, frames, said", [
    ("window", [frame(1, 0, 1, 0), frame(1, 0, 1, 32)], "frame 32 is sent, 0 are acknowledged"),
    ("norma", [frame(1, 0, 1, 0), frame(1, 0, 1, 1)], "frame 1 is sent, 0 are acknowledged"),
    ("window", [frame(1, 0, 1, 0), frame(2, 1, 0, 2)], "were not all sent"),
    ("norma", [frame(1, 0, 1, 0), frame(2, 1, 0, 1)], "packet 1 is acknowledged"),
    ("window", [frame(1, 0, 1, 0), frame(1, 0, 1, 0, content=bytes(24))], "is another one"),
    ("window", [frame(1, 0, 1, 0, epoch=2), frame(1, 0, 1, 0)], "back from epoch 2 to 1"),
    ("window", [frame(2, 1, 0, 0, to_epoch=9)], "which has sent nothing in it"),
    ("window", [frame(4, 1, 0, 0)], "a frame of kind 4"),
])
def test_frames_that_are_wrong_are_found(transport, frames, said):
    with pytest.raises(Wrong, match=said):
        check_frames(list(enumerate(frames)), transport)


def test_frames_that_are_right():
    counts = check_frames(enumerate([frame(1, 0, 1, 0), frame(2, 1, 0, 1), frame(1, 0, 1, 1), frame(1, 0, 1, 1)]),
                          "window")
    assert (counts[DATA], counts["again"]) == (3, 1)
