"""Put files into a cpio archive of the format "newc" (cpio(5)): archive.py OUT FILE.elf...; names lose `.elf`."""

import sys
from collections.abc import Mapping
from pathlib import Path

TRAILER = "TRAILER!!!"
FILE, LINK = 0o100755, 0o120777


def entry(name: str, data: bytes, mode: int = FILE) -> bytes:
    """The same for the same contents: no times, owners or inode numbers."""
    raw = name.encode() + b"\0"
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
    header = b"070701" + b"".join(b"%08x" % field for field in fields) + raw
    return header + bytes(-len(header) % 4) + data + bytes(-len(data) % 4)


def archive(files: Mapping[str, bytes], behind: bytes = b"") -> bytes:
    """An archive of the files by their names, in order of these, and behind them what is in the archive `behind`. A
    file that is another one of them, too, has that one's name instead, with a 0 behind it.

    Of two of one name, the kernel finds the first."""
    last, first = entry(TRAILER, b""), dict[bytes, str]()
    made = b""
    for name in sorted(files):
        data = files[name]
        other = first.setdefault(data, name) if data else name
        made += entry(name, data) if other == name else entry(name, other.encode() + b"\0", LINK)
    return made + behind.removesuffix(last) + last


def main():
    out, *files = map(Path, sys.argv[1:])
    out.write_bytes(archive({path.stem: path.read_bytes() for path in files}))


if __name__ == "__main__":
    main()
