"""The disk's driver and the block devices (kernel/dev/disk.c, block.c) on the simulator's drives: an image made by the
host is read, written and compared byte for byte; faults are retried or reported; time is skipped exactly."""

import hashlib
import json
import subprocess
import zlib

import pytest

from sim.images.kernel import SCHEMES
from soc.config import SoCConfig
from tests.kernel.machine import CONSOLE_BAUD, DEVICES, DISK_BUILDS, boot, command, simulator_of

SECTOR = 512
SECTORS = 40
UNEVEN = "link_read_latency=20 link_write_latency=10 link_delivery_delay=40 link_jitter=30 ram_jitter=7"


def image(folder, sectors=SECTORS, seed=0):
    content = hashlib.shake_128(f"{seed}".encode()).digest(SECTOR * sectors)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "disk.img"
    path.write_bytes(content)
    return path


def run(folder, harts, sync, bootargs, disk, seed=0, more=(), sectors=SECTORS, **limits):
    """The kernel with a drive; `disk` is what follows the image in --disk."""
    path = image(folder, sectors, seed)
    return boot(folder / "out", harts, sync, bootargs, seed, options=DISK_BUILDS[sync], machine=DEVICES,
                more=["--disk", f"{path},{disk}", *more], **limits)


def crc(path):
    return f"{zlib.crc32(path.read_bytes()):08x}"


def check(made, folder):
    """The image was read, and written, byte for byte; each request was completed once."""
    assert made.status == 0, made.report()
    line = made.result("test")
    assert str(line["crc_in"]).rjust(8, "0") == crc(folder / "disk.img"), made.report()
    assert str(line["crc"]).rjust(8, "0") == crc(made.folder / "disk0.img"), made.report()
    assert line["requests"] == line["told"] > 10
    return line


@pytest.mark.sampled(6)
@pytest.mark.parametrize("sync", SCHEMES)
@pytest.mark.parametrize("harts", (1, 2, 4))
def test_an_image_is_read_and_written(tmp_path, harts, sync):
    """By DMA and by programmed I/O, in turn; completion in a thread or a soft interrupt, as in the scheme's build.
    Soft interrupts under the other schemes: test_intr.py."""
    n = SCHEMES.index(sync) + 3 * (1, 2, 4).index(harts)
    mode = ("dma", "pio disk.cluster=3")[n % 2]
    made = run(tmp_path, harts, sync, f"run=test-disk hz=1000 rounds=2 disk.mode={mode} {UNEVEN if n % 3 else ''}",
               "write=copy", n, sectors=24)
    line = check(made, tmp_path)
    assert line["errors"] == line["retried"] == line["timed_out"] == 0


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", ("dma", "pio"))
@pytest.mark.parametrize("fault", ("bad=3:2,bad=17:3", "bad=3", "silent=0,silent=4"))
def test_faults_are_retried_or_reported(tmp_path, mode, fault):
    made = run(tmp_path, 1, "spl-optim", f"run=test-disk hz=1000 rounds=2 faults=1 disk.patience=15 disk.mode={mode}",
               f"{fault},write=copy", seed=len(fault), sectors=24)
    assert made.status == 0, made.report()
    line, drive = made.result("test"), made.record["disks"]["disk0"]
    assert line["requests"] == line["told"], made.report()
    if fault == "bad=3":
        assert line["errors"] >= 1 and line["retried"] >= 3, made.report()   # an error after four tries
    else:
        check(made, tmp_path)
        assert line["errors"] == 0 and line["retried"] >= 1
        assert drive["unanswered"] == fault.count("silent") <= 2 * line["timed_out"]


def test_patience_for_less_than_a_clock_tick_ends(tmp_path):
    made = run(tmp_path, 1, "cli-optim", "run=test-disk hz=100 rounds=1 disk.patience=5", "silent=0,write=copy",
               sectors=24)
    assert check(made, tmp_path)["timed_out"] >= 1, made.report()


def test_a_drive_that_answers_no_command_is_told_before_it_looks_like_a_hang(tmp_path):
    """With the default limits: the kernel times out before the simulator does."""
    made = run(tmp_path, 1, "cli-optim", "run=test-disk hz=100 rounds=1", "profile=fast,silent=0,write=copy",
               sectors=24, hang_cycles=100_000_000, max_cycles=300_000_000)
    assert check(made, tmp_path)["timed_out"] == 1, made.report()


@pytest.mark.parametrize("requests", [1, 2])
def test_a_long_request_is_waited_for_longer(tmp_path, requests):
    """A floppy takes 1.6 s for 64 KiB, which is no reason for a retry, and twice that for two."""
    made = run(tmp_path, 1, "cli-optim", f"run=disk hz=100 op=read request=65536 bytes=131072 requests={requests} "
               "disk.patience=600", "profile=floppy", sectors=256, hang_cycles=0, max_cycles=300_000_000)
    assert made.status == 0 and made.result("disk")["interrupts"] == 2, made.report()
    assert made.result("disk")["retried"] == made.result("disk")["errors"] == 0, made.report()


def test_a_power_cut_leaves_what_was_flushed(tmp_path):
    """Each sector is old or new; the drive counts what it lost."""
    path = image(tmp_path)
    made = run(tmp_path, 1, "cli-optim", "run=disk hz=1000 op=write bytes=20480 request=2048 disk.patience=8",
               "profile=scsi,write=copy,overhead_us=10,rpm=60000,cut=700000", max_cycles=30_000_000)
    assert made.status == 1, made.report()      # the drive answers no more: that is reported, without waiting
    assert "errors=" in made.console and made.result("disk")["errors"] > 0
    causes = {line["cause"]: line["count"] for line in made.record["results"]["disk_handler"]}
    assert causes.get("done", 0) > 2, "a watcher set before the disk was opened was told of no interrupt"
    before, after = path.read_bytes(), (made.folder / "disk0.img").read_bytes()
    changed = [n for n in range(SECTORS) if before[SECTOR * n:SECTOR * (n + 1)] != after[SECTOR * n:SECTOR * (n + 1)]]
    assert changed == list(range(len(changed))) and 0 < len(changed) < SECTORS
    assert len(changed) == made.record["disks"]["disk0"]["sectors_written"] - made.record["disks"]["disk0"][
        "sectors_lost"]


def test_seeks_are_skipped_exactly_and_a_checkpoint_goes_on_in_the_midst(tmp_path):
    bootargs = "run=disk hz=0 bytes=4096 request=2048 disk.mode=pio disk.cluster=2 disk.seek=1"
    disk = "profile=floppy,rpm=6000,seek_near_us=2000"
    whole = run(tmp_path / "whole", 1, "spl-pessim", bootargs, disk)
    assert whole.status == 0, whole.report()
    host = whole.record["host"]
    assert host["skipped_cycles"] > 0.7 * whole.record["cycles"], host

    # Evaluated twice, a cycle takes twenty times as long: a run of its own simulates the skipped ones.
    for name, more in (("all", ["--no-skip"]), ("twice", ["--evaluate-twice"]), ("checked", ["--check-skip"])):
        other = run(tmp_path / name, 1, "spl-pessim", bootargs, disk, more=more)
        assert other.status == 0 and other.record["digest"] == whole.record["digest"], other.report()

    middle = whole.record["window"]["begin"] + (whole.record["window"]["end"] - whole.record["window"]["begin"]) // 2
    saved = tmp_path / "saved"
    first = run(tmp_path / "first", 1, "spl-pessim", bootargs, disk,
                more=["--checkpoint", saved, "--checkpoint-at", f"cycle:{middle}", "--checkpoint-stop"])
    assert first.status == 0, first.report()
    simulator = simulator_of(SoCConfig(harts=1, **DEVICES))
    subprocess.run([simulator, "--restore", saved, "--out", tmp_path / "again", "--quiet", "--console", "file"],
                   check=True, capture_output=True)
    again = json.loads((tmp_path / "again" / "run.json").read_text())
    assert again["digest"] == whole.record["digest"] and again["disks"] == whole.record["disks"]


@pytest.mark.parametrize("disk, said", (
    ("profile=ssd", "there is no profile 'ssd'"), ("bad=x", "'x' is not a whole number"), ("rpm", "not a whole number"),
    ("colour=3", "there is no 'colour=3'"), ("burst=0", "burst is at least 1"), ("write=yes", "write=yes is not one"),
))
def test_wrong_options_are_told(tmp_path, disk, said):
    made = run(tmp_path, 1, "spl-pessim", "run=hello", disk, more=[])
    assert made.status == 2 and said in made.messages, made.messages


def test_an_image_of_half_a_sector_and_a_machine_without_controller_are_told(tmp_path):
    path = tmp_path / "half.img"
    path.write_bytes(bytes(700))
    arguments = command(tmp_path, 1, "spl-pessim", "run=hello", "file", CONSOLE_BAUD,
                        options=DISK_BUILDS["spl-pessim"], machine=DEVICES)
    done = subprocess.run([*arguments, "--disk", path], capture_output=True, text=True)
    assert done.returncode == 2 and "some sectors of 512 bytes" in done.stderr
    path.write_bytes(bytes(1024))
    done = subprocess.run([*arguments, *["--disk", path] * 3], capture_output=True, text=True)
    assert done.returncode == 2 and "this machine has 2 disk controllers" in done.stderr


def test_without_a_drive_the_run_says_so(tmp_path):
    made = boot(tmp_path, 1, "spl-pessim", "run=test-disk", options=DISK_BUILDS["spl-pessim"], machine=DEVICES)
    assert made.status == 1 and "there is no drive" in made.console


def test_what_a_handler_cannot_do_without(tmp_path):
    """run=handler-floor: at least the bus's cycles of each access (docs/registers.md), and one line of memory."""
    read, write, miss = 16, 14, 20
    least = {"dma": write + miss, "pio": 1 + 16 * 256 * read, "ether": 2 * write + miss, "request": 512}
    for device, floor in least.items():
        made = run(tmp_path / device, 1, "spl-optim", f"run=handler-floor hz=0 device={device} rounds=4",
                   "profile=fast")
        assert made.status == 0, made.report()
        line = made.result("handler_floor")
        assert line["count"] == 4, made.report()
        assert floor <= line["min"] <= line["p50"] <= line["max"] < 3 * floor + 100, made.report()


def test_two_disks_at_once_and_one_of_them_dies(tmp_path):
    """A thread's requests to each: as fast as the drives are, each completed once; then the second answers no more."""
    for name, more in {"both": "", "one": ",cut=900000"}.items():
        disks = [word for unit in range(2) for word in ("--disk", f"{image(tmp_path, 512)},profile=fast"
                                                        f"{more if unit else ''}")]
        made = boot(tmp_path / name, 1, "spl-optim", f"run=test-disks hz=1000 rounds=8 dies={2 if more else 0} "
                    "disk.patience=4", 3, machine=DEVICES, more=disks, options=DISK_BUILDS["spl-optim"])
        assert made.status == 0, made.report()
        first, second = made.record["results"]["disk"]
        assert first["rounds"] == 8 and first["requests"] == first["told"] == 48 and not first["errors"], made.report()
        assert second["requests"] == second["told"] and bool(second["errors"]) == bool(more), made.report()
        assert min(first["interrupts"], second["interrupts"]) > 6, made.report()
        assert [made.record["disks"][f"disk{unit}"]["commands"] for unit in range(1 if more else 2)] == \
            [48] * (1 if more else 2), made.report()
