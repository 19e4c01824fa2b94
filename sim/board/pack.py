"""LZ4 blocks for a board's loader: the library's own packer, which fills a frame with as much as goes into it."""

import ctypes
import functools

MOST = 4096     # bytes that one block unpacks to: while the loader is at it, what comes from the line has to wait


@functools.cache
def _library():
    library = ctypes.CDLL("liblz4.so.1")
    library.LZ4_compress_destSize.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int),
                                              ctypes.c_int)
    return library


def packed(address, content, size):
    """`content` for `address` as pairs of address and LZ4 block, each block at most `size` bytes.

    OSError if the library (Debian's liblz4-1) is not installed.
    """
    room = ctypes.create_string_buffer(size)
    at = 0
    while at < len(content):
        piece = content[at:at + MOST]
        taken = ctypes.c_int(len(piece))
        made = _library().LZ4_compress_destSize(piece, room, ctypes.byref(taken), size)
        if made <= 0 or taken.value <= 0:
            raise ValueError(f"LZ4 packs nothing into {size} bytes")
        yield address + at, room.raw[:made]
        at += taken.value
