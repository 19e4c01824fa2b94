"""python -m tests.smoltcp FIRST LAST [KERNEL...]: 1 MB each way between the kernel's TCP/IP and smoltcp for each of
these seeds, under each of these kernels of the network (serial, connection, krp), over a wire that loses, repeats,
reorders, delays and damages packets. Prints a digest of all packets for each kernel: that of the seeds alone."""

import hashlib
import os
import shutil
import sys
from pathlib import Path

from support.cache import cached
from tests.host_stack import HOST, StackError, build, checked_kernel, run

FOLDER = HOST / "smoltcp"
CRATE = FOLDER / "crate"
SOME = ["serial", "connection", "krp"]


def _vendor(out: Path):
    """The crates that Cargo.lock names, unpacked. Cargo checks their SHA-256."""
    shutil.copytree(CRATE, out / "crate")
    run("the crates that smoltcp needs cannot be had (is there a network?)",
        ["cargo", "vendor", "--quiet", "--locked", "--manifest-path", out / "crate/Cargo.toml", out / "vendor"])
    shutil.rmtree(out / "crate")


def peer() -> Path:
    """The library with smoltcp."""
    if not shutil.which("cargo"):
        raise StackError("there is no cargo, which builds smoltcp: setup/setup.sh test")
    lock = CRATE / "Cargo.lock"
    vendor = cached("smoltcp-crates", {"lock": lock, "crate": CRATE / "Cargo.toml"}, _vendor) / "vendor"

    def make(out: Path):
        shutil.copytree(CRATE, out / "crate")
        config = out / "crate/.cargo/config.toml"
        config.parent.mkdir()
        config.write_text('[source.crates-io]\nreplace-with = "vendored"\n'
                          f'[source.vendored]\ndirectory = "{vendor}"\n')
        run("smoltcp does not build",
            ["cargo", "build", "--quiet", "--release", "--locked", "--offline", "--target-dir", out / "target"],
            cwd=out / "crate")
        shutil.copy(out / "target/release/libpeer.a", out)
        shutil.rmtree(out / "target")

    version = run("cargo does not run", ["cargo", "--version"])
    return cached("smoltcp", {"crate": CRATE, "cargo": version}, make) / "libpeer.a"


def transfers(kernel: str, first: int, last: int) -> list[str]:
    """A line for each seed; StackError with what was wrong."""
    program = build(kernel, FOLDER / "transfers.c", "transfers", [peer(), "-lm", "-lpthread", "-ldl", "-lgcc_s"])
    said = run(f"{kernel}, seeds {first} to {last}", [program], env=os.environ | {"SMOLTCP_SEEDS": f"{first} {last}"})
    return [line for line in said.splitlines() if line.startswith("seed ")]


def main(words: list[str]) -> str | None:
    try:
        first, last = int(words[0]), int(words[1])
        if not 0 <= first <= last:
            raise ValueError
    except (IndexError, ValueError):
        return __doc__
    try:
        for kernel in [checked_kernel(name) for name in words[2:] or SOME]:
            lines = transfers(kernel, first, last)
            whole = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
            print(f"{kernel}: {len(lines)} seeds, 1 MB each way: every byte right, every connection ended; {whole}",
                  flush=True)
    except StackError as error:
        return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
