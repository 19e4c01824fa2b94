"""Put files into a cpio archive of the format "newc" (cpio(5)): archive.py OUT FILE.elf...; names are cut of `.elf`."""

import sys
from pathlib import Path


def entry(name: str, data: bytes) -> bytes:
    """The same for the same contents: no times, owners or inode numbers."""
    raw = name.encode() + b"\0"
    fields = (0, 0o100755, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
    header = b"070701" + b"".join(b"%08x" % field for field in fields) + raw
    return header + bytes(-len(header) % 4) + data + bytes(-len(data) % 4)


def main():
    out, *files = map(Path, sys.argv[1:])
    entries = [entry(path.stem, path.read_bytes()) for path in sorted(files)]
    out.write_bytes(b"".join(entries) + entry("TRAILER!!!", b""))


if __name__ == "__main__":
    main()
