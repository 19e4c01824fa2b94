"""Put files into a cpio archive of the format "newc" (cpio(5)): archive.py OUT FILE.elf...; names are cut of `.elf`."""

import sys
from collections.abc import Mapping
from pathlib import Path

TRAILER = "TRAILER!!!"


def entry(name: str, data: bytes) -> bytes:
    """The same for the same contents: no times, owners or inode numbers."""
    raw = name.encode() + b"\0"
    fields = (0, 0o100755, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
    header = b"070701" + b"".join(b"%08x" % field for field in fields) + raw
    return header + bytes(-len(header) % 4) + data + bytes(-len(data) % 4)


def archive(files: Mapping[str, bytes], behind: bytes = b"") -> bytes:
    """An archive of the files by their names, in order of these, and behind them what is in the archive `behind`.

    Of two of one name, the kernel finds the first."""
    last = entry(TRAILER, b"")
    return b"".join(entry(name, files[name]) for name in sorted(files)) + behind.removesuffix(last) + last


def main():
    out, *files = map(Path, sys.argv[1:])
    out.write_bytes(archive({path.stem: path.read_bytes() for path in files}))


if __name__ == "__main__":
    main()
