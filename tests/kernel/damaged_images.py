"""Damaged images of a file system in simulation: each is mounted, walked, read, written and unmounted; operations may
give errors, but none panics or loops (kernel/test/damaged.c).

    python -m tests.kernel.damaged_images --count 200 --seed 1 --out build/damaged

A boot has many of them, a seed's. `--kernels` names the kernels; `test/host/ext2.c` does the same on the host,
under sanitizers and by the hundred thousand."""

import argparse
import subprocess
from pathlib import Path

from tests.kernel.machine import DEVICES, boot
from tests.kernel.power_cuts import ENVIRONMENT, KERNELS, host

CYCLES_EACH = 3_000_000     # at most: an image that takes longer loops
KILOBYTES = 256


def sound_image(folder):
    """A small image with all features of a file system: indirect blocks, links of both kinds, a folder with a hash
    tree, extended attributes, of which two files share one block."""
    files = folder / "files"
    (files / "a/deep/e").mkdir(parents=True)
    (files / "bb/a").mkdir(parents=True)
    for n in range(12):
        (files / "bb" / f"{n:050}").write_bytes(bytes([n]) * n)
    (files / "a/long").write_bytes(b"\x11" * 30_000)
    (files / "d.d").write_bytes(b"\x22" * 5000)
    (files / "bb/bb").hardlink_to(files / "d.d")
    for n in range(60):
        (files / "bb" / f"link-{n:050}").hardlink_to(files / "d.d")
    with open(files / "long", "wb") as sparse:
        sparse.seek(290_000)
        sparse.write(b"\x33" * 2000)
    (files / "c").symlink_to("a/long")
    (files / "link").symlink_to("/".join(["bb"] * 40))
    path = folder / "sound.img"
    path.write_bytes(bytes(KILOBYTES << 10))
    host("mke2fs", "-q", "-F", "-t", "ext2", "-O", "none,filetype,sparse_super,ext_attr,dir_index", "-b", 1024, "-I",
         128, "-N", 64, "-g", 256, "-m", 0, "-d", files, path)
    commands = [f"ea_set {name} user.{name[-1]} {'x' * 40}"
                for name in ("a", "c", "d.d", "long", "link", "bb", "a/long")]
    (folder / "commands").write_text("\n".join(commands) + "\n")
    host("debugfs", "-w", "-f", folder / "commands", path)
    shared = host("debugfs", "-R", "stat d.d", path).decode().split("File ACL: ")[1].split()[0]
    host("debugfs", "-w", "-R", f"set_inode_field long file_acl {shared}", path)    # e2fsck counts, and frees its own
    done = subprocess.run(["e2fsck", "-fyD", path], capture_output=True, env=ENVIRONMENT)
    assert done.returncode <= 1, done.stdout
    host("e2fsck", "-fn", path)
    assert "Flags: 0x1000" in host("debugfs", "-R", "stat bb", path).decode(), "the folder has no hash tree"
    return path


def damage(folder, options, count, seed=1, first=0, sync="cli-optim"):
    """How the kernel ended after images `first` to `first` + `count` of a seed."""
    bootargs = f"run=test-damaged images={count} first={first} hz=0 bufs=24"
    return boot(folder / "run", 1, sync, bootargs, seed, options=options, machine=DEVICES,
                max_cycles=6_000_000 + CYCLES_EACH * count, hang_cycles=2 * CYCLES_EACH,
                more=["--disk", f"{sound_image(folder)},profile=fast"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="images in all")
    parser.add_argument("--first", type=int, default=0, help="number of the first: to repeat one alone")
    parser.add_argument("--kernels", nargs="+", default=["parallel"], choices=KERNELS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="new folder for images and runs")
    given = parser.parse_args()
    each, status = -(-given.count // len(given.kernels)), 0
    for kernel in given.kernels:
        run = damage(given.out.resolve() / kernel, KERNELS[kernel], each, given.seed, given.first)
        if run.status:
            print(f"unix={kernel}: {run.report()}")
            status = 1
            continue
        found = run.result("test")
        print(f"unix={kernel}: {found['images']} images, {found['refused']} not mounted, {found['operations']} "
              f"operations, {found['errors']} errors, no panic and no loop; {run.record['cycles']} cycles", flush=True)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
