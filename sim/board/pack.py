"""LZ4 blocks for a board's loader: the library's own packer, which fills a frame with as much as fits."""

import ctypes
import functools

MOST = 4096     # bytes of an unpacked block: answers to blocks take similar times


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
    at = 0
    while at < len(content):
        block, taken = _block(content[at:at + MOST], size)
        yield address + at, block
        at += taken


def _block(content, size):
    """A block of at most `size` bytes, and how much of the beginning of `content` it holds."""
    room = ctypes.create_string_buffer(size)
    taken = ctypes.c_int(len(content))
    made = _library().LZ4_compress_destSize(content, room, ctypes.byref(taken), size)
    if made <= 0 or taken.value <= 0:
        raise ValueError(f"LZ4 packs nothing into {size} bytes")
    return room.raw[:made], taken.value
