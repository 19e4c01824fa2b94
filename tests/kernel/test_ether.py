"""The kernel's network over the simulated wire: frames from files, other nodes, bad frames, too many of them."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from sim.images.kernel import OPTIONS, SCHEMES
from sim.wires import frames
from soc.config import SoCConfig
from tests.kernel.machine import CONSOLE_BAUD, DEVICES, DISK_BUILDS, command, ended, simulator_of
from tests.kernel.tap_ping import namespace

WAYS = OPTIONS["net"].choices
PAIRS = [(sync, WAYS[n % len(WAYS)]) for n, sync in enumerate(SCHEMES)]
BOTH = ["--wire", "0.ether:1.ether:600", "--wire", "1.ether:0.ether:600"]
# The long form: RESTARTS=12.
RESTARTS = int(os.environ.get("RESTARTS", "3"))
SIZES = (0, 1, 2, 17, 56, 57, 58, 500, 1471, 1472)


def wire_cycles(frame):
    """The time of a frame on the wire at 100 Mbit/s, with preamble and FCS."""
    return -(-(8 + len(frame) + 4) * 8 * 60 // 100)


def build(sync, way):
    """Compiled files differ from those of the disks' tests at most in net/."""
    return DISK_BUILDS[sync] | {"net": way}


def simulate(folder, bootargs, *options, harts=1, sync="cli-optim", way=WAYS[0], hz=1000, max_cycles=20_000_000):
    words = command(folder, harts, sync, f"hz={hz} {bootargs}", "file", CONSOLE_BAUD, 0, max_cycles, build(sync, way),
                    None, DEVICES)
    done = subprocess.run([*words, *map(str, options)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return words, done


def net(folder, played, echoes, *options, ms=60, fcs=False, **how):
    """The kernel with the frames `played`, (microseconds, frame): how it ended, and the frames that it sent."""
    folder.mkdir(parents=True, exist_ok=True)
    file = frames.write_pcap(folder / "in.pcap", played, fcs)
    bootargs = f"run=net echoes={echoes} ms={ms} {how.pop('bootargs', '')}"
    _, done = simulate(folder, bootargs, "--ether-in", file, *options, **how)
    boot = ended(folder, done.returncode, done.stdout + done.stderr)
    assert boot.status == 0, boot.report()
    return boot, [frame for _, frame in frames.read_pcap(folder / "ether.pcap")]


def paced(frames_of, microseconds, start=0):
    return [(start + n * microseconds, frame) for n, frame in enumerate(frames_of)]


@pytest.mark.parametrize("sync, way", PAIRS)
def test_every_echo_is_answered_as_it_came(tmp_path, sync, way):
    every_echo(tmp_path, sync, way)


@pytest.mark.parametrize("sync, way", PAIRS)
def test_two_harts_answer_every_echo(tmp_path, sync, way):
    every_echo(tmp_path, sync, way, harts=2)


@pytest.mark.parametrize("way", ("threads", "softint"))
def test_four_harts_without_a_clock_answer_every_echo(tmp_path, way):
    every_echo(tmp_path, "cli-optim", way, harts=4, hz=0)


def every_echo(tmp_path, sync, way, harts=1, hz=1000):
    requests = [frames.echo(n, size) for n, size in enumerate(SIZES)]
    boot, sent = net(tmp_path, [(0, frames.arp()), *paced(requests, 250, 2000)], len(requests), harts=harts,
                     sync=sync, way=way, bootargs="net.threads=2", hz=hz)
    assert sorted(sent) == sorted([frames.arp_answer(), *map(frames.answer, requests)])
    assert boot.result("test")["echoes"] == len(requests)


def test_a_loop_that_answers_each_echo_is_the_floor_of_who_does(tmp_path):
    """The same replies, to the byte, without a kernel; and the record's delays of them."""
    carries = next(request for request in map(frames.echo, range(1000, 60_000))
                   if request[36] >= 0xf8 and request[37] == 0xff)      # the reply's checksum, out of its 16 bits
    start, pace = 1_500_000, 1000
    requests = [*(frames.echo(n, size) for n, size in enumerate(SIZES)), carries]
    file = frames.write_pcap(tmp_path / "in.pcap", paced(requests, pace), False)
    _, done = simulate(tmp_path, f"run=handler-floor device=reply rounds={len(requests)}", "--ether-in", file,
                       "--ether-start", start, hz=0)
    boot = ended(tmp_path, done.returncode, done.stdout + done.stderr)
    assert boot.status == 0, boot.report()
    sent = frames.read_pcap(tmp_path / "ether.pcap")
    assert [frame for _, frame in sent] == [frames.answer(request) for request in requests]
    late = [round(at * 60) - wire_cycles(frame) - (start + n * pace * 60) for n, (at, frame) in enumerate(sent)]
    seen = boot.record["ether"]["turnaround"]
    assert (seen["count"], seen["min"], seen["max"], seen["total"]) == (len(late), min(late), max(late), sum(late))
    assert boot.result("handler_floor")["max"] < min(late), boot.report()


def test_a_quota_of_no_frame_is_refused(tmp_path):
    _, done = simulate(tmp_path, "run=net echoes=0 ms=1 net.quota=0", way="poll")
    run = ended(tmp_path, done.returncode, done.stderr)
    assert run.status == 1 and "boot argument net.quota: give 1 at least" in run.console, run.report()


def bad_frames(chance, count):
    """Frames without effect: (frame with FCS, the counter that counts it)."""
    def raw(frame):
        return frames.with_fcs(frame.ljust(60, b"\0"))

    good = frames.echo(1, 40)
    made = [
        (frames.with_fcs(good)[:-1] + b"\x5a", "rx_crc"), (frames.with_fcs(good)[:40], "rx_runt"), (b"\x01", "rx_runt"),
        (frames.with_fcs(good + bytes(1600)), "rx_oversize"),
        (raw(frames.US + good[6:12] + b"\x12\x34"), "no_protocol"),
        (raw(frames.PEER + good[6:]), "rx_filtered"),
        (raw(frames.ethernet(frames.ipv4(b"", wrong=1))), "ip_checksum"),
        (raw(frames.ethernet(frames.ipv4(frames.icmp(8, 1, b"x"), length=1400))), "ip_bad"),
        (raw(frames.ethernet(frames.ipv4(frames.icmp(8, 1, b"x"), length=19))), "ip_bad"),
        (raw(frames.ethernet(b"\x55" + frames.ipv4(b"abcd")[1:])), "ip_bad"),
        (raw(frames.ethernet(b"\x44" + frames.ipv4(b"abcd")[1:])), "ip_bad"),
        (raw(frames.ethernet(b"\x4f" + frames.ipv4(b"")[1:])), "ip_bad"),
        (raw(frames.echo(1, 40, fragment=0x2000)), "ip_fragments"),
        (raw(frames.echo(1, 40, fragment=7)), "ip_fragments"),
        (raw(frames.echo(1, 40, to=0x0a000009)), "ip_other"),
        (raw(frames.ethernet(frames.ipv4(b"abcd", protocol=99))), "ip_protocol"),
        (raw(frames.ethernet(frames.ipv4(frames.icmp(8, 1, b"abcdefg", wrong=1)))), "icmp_bad"),
        (raw(frames.ethernet(frames.ipv4(frames.icmp(8, 1, b"")[:7]))), "icmp_bad"),
        (raw(frames.ethernet(frames.ipv4(frames.icmp(13, 1, b"")))), "icmp_ignored"),
        (raw(frames.BROADCAST + good[6:]), "ip_other"), (raw(frames.echo(1, 40, to=0xffffffff)), "icmp_ignored"),
        (raw(frames.echo(1, 40, source=0)), "icmp_ignored"),
        *((raw(frames.echo(1, 40, source=nobody)), "ip_bad") for nobody in (
            0x00000105, 0x7f000001, 0xe0000001, 0xf0000001, 0xffffffff, 0x0a000000, 0x0a0000ff, frames.OUR_IP)),
        (raw(frames.ethernet(frames.ipv4(b"\0\1\0\2\0\7\0\0", protocol=17))), "udp_bad"),
        (raw(frames.ethernet(frames.ipv4(b"\0\1\0\2\0\x08\0\0", protocol=17))), "udp_no_port"),
        (raw(frames.ethernet(bytes(28), frames.ARP)), "arp_bad"),
        (raw(frames.arp(operation=3)), "arp_bad"), (raw(frames.arp(source=frames.US)), "arp_bad"),
    ]
    return made + [chance.choice(made) for _ in range(count - len(made))]


def test_bad_frames_are_counted_one_by_one_and_nothing_else_comes_of_them(tmp_path):
    chance = random.Random(8)
    bad = bad_frames(chance, 150)
    chance.shuffle(bad)
    last = frames.with_fcs(frames.echo(999))
    played = [(0, frames.with_fcs(frames.arp().ljust(60, b"\0"))),
              *paced([*(frame for frame, _ in bad), last], 200, 2000)]
    boot, sent = net(tmp_path, played, 1, fcs=True)
    errors = [frame for frame in sent if frame[12:14] == b"\x08\0" and frame[34] == 3]     # no such protocol, or port
    assert [frame for frame in sent if frame not in errors] == [frames.arp_answer(), frames.answer(frames.echo(999))]
    assert len(errors) == sum(name in ("ip_protocol", "udp_no_port") for _, name in bad)
    counted = boot.result("net") | boot.result("ether")
    for name in sorted({name for _, name in bad}):
        assert counted[name] == sum(other == name for _, other in bad), name


# 10,000 under each scheme and way: HOSTILE_FRAMES=10000 HOSTILE=all.
HOSTILE = PAIRS if os.environ.get("HOSTILE") == "all" else [("cli-optim", "poll")]


@pytest.mark.parametrize("sync, way", HOSTILE)
def test_frames_of_any_content_take_nothing_down_and_are_counted_once(tmp_path, sync, way):
    """Each is in one counter of the core, each delivered one in a counter of the kernel, and no buffer is lost."""
    count = int(os.environ.get("HOSTILE_FRAMES", "150"))
    hostile = frames.hostile(count, seed=SCHEMES.index(sync))
    last = frames.with_fcs(frames.echo(999))
    # Microseconds: the longest frame takes 125; a kernel that checks its locks can handle no more.
    pace = 400 if "lock_debug" in build(sync, way) else 125
    asks = frames.with_fcs(frames.arp().ljust(60, b"\0"))      # again at the end: others may have claimed its address
    played = [(0, asks), *paced([*hostile, asks, last], pace, 2000)]
    boot, sent = net(tmp_path, played, 0, ms=2 + (count + 30) * pace // 1000, fcs=True, sync=sync, way=way,
                     max_cycles=20_000_000 + 60 * pace * count)
    c = boot.result("net") | boot.result("ether")
    assert sent[-1] == frames.answer(frames.echo(999)), boot.report()
    assert sum(c[name] for name in ("rx_frames", "rx_crc", "rx_runt", "rx_oversize", "rx_filtered", "rx_no_descriptor",
                                    "rx_overrun")) == count + 3, boot.report()
    assert c["rx_frames"] == c["received"] + c["no_mbuf"], boot.report()
    assert c["received"] == c["no_protocol"] + c["arp_in"] + c["ip_in"] + boot.result("test")["full"], boot.report()
    of_ip = ("short", "bad", "checksum", "fragments", "other", "protocol")
    assert c["ip_in"] + c["ip_reassembled"] == (sum(c[f"ip_{name}"] for name in of_ip) + c["icmp_in"]
                                                + c["udp_in"]), boot.report()
    assert c["mbufs"] == 0, boot.report()


@pytest.mark.parametrize("sync, way", PAIRS[:len(WAYS)])
def test_too_many_frames_are_dropped_and_counted(tmp_path, sync, way):
    """As fast as the wire carries them: each is answered or in one counter, no buffer is lost, and later all works."""
    flood = [(1000, frames.echo(n, 18)) for n in range(600)]
    later = [(30_000 + 500 * n, frames.echo(1000 + n, 18)) for n in range(5)]
    boot, sent = net(tmp_path, [(0, frames.arp()), *flood, *later], 0, ms=40, sync=sync, way=way)
    counted = each_is_counted(boot, sent, len(flood) + len(later) + 1)
    assert counted["rx_off"] == 0
    assert counted["icmp_echo"] < len(flood)
    assert sent[-len(later):] == [frames.answer(frame) for _, frame in later]


@pytest.mark.parametrize("harts", (1, 2))
def test_frames_that_find_all_places_taken_are_dropped_and_counted(tmp_path, harts):
    """As many places as may wait: one more frame would overwrite another."""
    flood = [(1000, frames.echo(n, 18)) for n in range(200)]
    boot, sent = net(tmp_path, [(0, frames.arp()), *flood, (20_000, frames.echo(999, 18))], 0, ms=30, harts=harts,
                     sync="spl-optim", way="softint", bootargs="net.queue=4")
    counted = each_is_counted(boot, sent, len(flood) + 2)
    assert boot.result("test")["full"] > 0 and counted["no_mbuf"] == 0
    assert sent[-1] == frames.answer(frames.echo(999, 18))
    assert len(set(sent)) == len(sent), "one was answered twice"


@pytest.mark.parametrize("sync, way, moderate, least", (
    ("spl-pessim", "threads", "net.moderate=8 net.moderate.cycles=300000", 17),
    ("cli-pessim", "interrupt", "net.moderate=8 net.moderate.cycles=300000", 17),
    ("spl-optim", "softint", "net.moderate=255", 2), ("cli-optim", "poll", "net.moderate=255", 2)))
def test_moderated_interrupts_come_before_the_ring_is_full(tmp_path, sync, way, moderate, least):
    """Few interrupts, no frame dropped; the last ones wait for their time, or until the network stops."""
    # A kernel that checks its locks needs up to 200 us for each; a poll gives the ring its buffers back after 8.
    asked = paced([frames.echo(n, 18) for n in range(130)], 1600 if way == "poll" else 600, 1000)
    boot, sent = net(tmp_path, [(0, frames.arp()), *asked], 0, ms=230 if way == "poll" else 90, sync=sync, way=way,
                     bootargs=f"net.queue=100 {moderate}")
    assert each_is_counted(boot, sent, 131)["icmp_echo"] == 130
    assert least <= boot.result("test")["interrupts"] <= least + 1, boot.report()


def test_a_flood_in_one_queue_does_not_keep_those_in_the_other(tmp_path):
    """More frames than one hart can answer, all from one sender; another's, a tenth of that, are answered meanwhile."""
    flooding = 0x0a000004       # the hash leads its packets to the other queue
    flood = paced([frames.echo(n, 18, source=flooding) for n in range(300)], 18, 2000)
    few = paced([frames.echo(1000 + n, 18) for n in range(25)], 180, 2000)
    played = [(0, frames.arp()), (0, frames.arp(source_ip=flooding)), *sorted(flood + few, key=lambda at: at[0])]
    boot, sent = net(tmp_path, played, 0, ms=20, sync="spl-pessim", way="softint")
    whose = [frame[30:34] for frame in sent if frame[12:14] == b"\x08\0"]
    few_of = [n for n, to in enumerate(whose) if to == frames.PEER_IP.to_bytes(4, "big")]
    assert boot.result("test")["full"] > 100, boot.report()
    assert len(few_of) == len(few) and few_of[len(few) // 2] < len(whose) * 3 // 4, few_of


def each_is_counted(boot, sent, came):
    counted = boot.result("net") | boot.result("ether")
    assert sum(counted[name] for name in ("rx_frames", "rx_no_descriptor", "rx_overrun", "rx_off")) == came
    assert counted["rx_frames"] == counted["received"] + counted["no_mbuf"]
    assert counted["received"] == counted["icmp_echo"] + counted["arp_in"] + boot.result("test")["full"]
    # In a flood ARP's thread may run last: then we ask, and an answer that waits for that gives its place to the next.
    echoes = [frame for frame in sent if frame[12:14] == b"\x08\0"]
    assert counted["icmp_echo"] == len(echoes) + counted["tx_full"] + counted["arp_dropped"]
    assert len(sent) - len(echoes) == counted["arp_replies"] + counted["arp_requests"] > 0
    assert counted["tx_frames"] == len(sent)
    assert counted["mbufs"] == 0
    return counted


# Where a thread does the work, and another hart has time to stop the network.
@pytest.mark.parametrize("sync, way", [PAIRS[WAYS.index(way)] for way in ("poll", "threads")])
def test_frames_that_come_while_the_network_stops_are_answered_and_counted(tmp_path, sync, way):
    """It goes down in a flood: what had come is counted and its answer has left; the rest was too late."""
    # As close as on the wire, and for longer than one interrupt's handler works on a full ring.
    flood = [(1000 + 7 * n, frames.echo(n, 18)) for n in range(2000)]
    boot, sent = net(tmp_path, [(0, frames.arp()), *flood], 0, ms=2, harts=4, sync=sync, way=way,
                     bootargs="again=1")    # a hart is left for the thread that stops it; then it is started again
    counted = each_is_counted(boot, sent, sum(boot.result("ether")[name] for name in (
        "rx_frames", "rx_no_descriptor", "rx_overrun", "rx_off")))
    assert counted["rx_frames"] > 12 and counted["rx_off"], "the network did not stop between two frames"


@pytest.mark.parametrize("sync, way", PAIRS[:len(WAYS)])
def test_a_network_that_was_stopped_in_a_flood_works_when_it_is_started_again(tmp_path, sync, way):
    """Twice down and up: it answers as before, every frame is in a counter, and all its buffers are free again."""
    flood = [(1000 + 7 * n, frames.echo(n, 18)) for n in range(800)]
    asks = frames.arp()     # a table of addresses begins empty
    # A kernel that checks its locks and memory takes up to 30 ms to start.
    later = [(14_000 + 400 * n, frames.echo(1000 + n, 18) if n % 4 else asks) for n in range(100)]
    boot, sent = net(tmp_path, [(0, asks), *flood, *later], 0, ms=6, sync=sync, way=way, bootargs="again=2")
    each_is_counted(boot, sent, sum(boot.result("ether")[name] for name in (
        "rx_frames", "rx_no_descriptor", "rx_overrun", "rx_off")))
    answers = {frames.answer(frame) for _, frame in later if frame != asks}
    when = {at // 1000 for at, frame in frames.read_pcap(tmp_path / "ether.pcap") if frame in answers}
    assert len(when) > 4, boot.report()      # one by one, not all when it stops


def test_who_holds_the_interface_late_holds_it_not_for_ever(tmp_path):
    """The reader empties its queue on another hart, between the check of it and the hold."""
    load = "bytes=1000 periods=6000,20000,20000 window=600000"     # more than the reader takes, then less
    _, done = simulate(tmp_path, f"run=livelock {load} net.quota=1 feedback=1 late=500000", harts=2, way="poll")
    boot = ended(tmp_path, done.returncode, done.stdout + done.stderr)
    assert boot.status == 0, boot.report()
    assert all(line["delivered"] > 10 for line in boot.record["results"]["livelock"]), boot.report()


def test_what_a_late_handler_has_due_does_not_outlast_the_network(tmp_path):
    """Frames wait for their interrupt when the network stops: it comes when the thread that polls has ended."""
    played = [(0, frames.arp()), *paced([frames.echo(n, 18) for n in range(1000)], 130, 1000)]
    boot, sent = net(tmp_path, played, 0, ms=1, harts=2, way="poll",
                     bootargs="again=8 net.moderate=63 net.moderate.cycles=5200 link_delivery_delay=300")
    counted = each_is_counted(boot, sent, sum(boot.result("ether")[name] for name in (
        "rx_frames", "rx_no_descriptor", "rx_overrun", "rx_off")))
    assert counted["icmp_echo"] > 30, boot.report()


@pytest.mark.parametrize("sync, way, harts, mbits, often", [
    (sync, way, *((2, 10, "ms=2 us=0 senders=1"), (4, 100, f"again={RESTARTS} us=3 senders=2"))[n % 2])
    for n, (sync, way) in enumerate(PAIRS[:len(WAYS)])])
def test_who_sends_while_the_network_stops_and_starts_does_it_no_harm(tmp_path, sync, way, harts, mbits, often):
    """At 10 Mbit/s without a pause the ring is never empty by itself. Each packet is counted once, no buffer lost."""
    asks = frames.write_pcap(tmp_path / "in.pcap", paced([frames.arp()] * 100, 150), False)
    _, done = simulate(tmp_path, f"run=test-net-restart net.mbits={mbits} {often}", "--ether-in", asks, "--ether-mbits",
                       mbits, harts=harts, sync=sync, way=way)
    boot = ended(tmp_path, done.returncode, done.stdout + done.stderr)
    assert boot.status == 0, boot.report()
    counts, asked = boot.result("net") | boot.result("ether"), boot.result("test")["asked"]
    assert counts["mbufs"] == 0 and counts["sent"] == counts["tx_frames"] + counts["tx_no_link"]
    assert counts["tx_down"] > 0
    assert asked > 50
    assert asked + counts["arp_requests"] + counts["arp_replies"] == (
        counts["sent"] + counts["tx_full"] + counts["tx_down"] + counts["arp_dropped"])


def nodes(folder, count, bootargs, *options, **how):
    words, done = simulate(folder, bootargs, "--nodes", count, *options, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((folder / "run.json").read_text())
    pings = [node["results"]["test"][0] for node in record["nodes"]]
    return words, record, pings


PING = "run=ping count=3 ms=14 us=600"


def test_two_nodes_ping_each_other_the_same_however_they_are_simulated(tmp_path):
    _, record, pings = nodes(tmp_path / "plain", 2, PING, *BOTH)
    assert all(ping["answered"] == ping["asked"] == 3 for ping in pings)
    assert record["host"]["skipped_cycles"] > 0.15 * 2 * record["cycles"]
    for name, options in {"check": ["--check-skip"], "shuffled": ["--shuffle", 5]}.items():
        _, other, _ = nodes(tmp_path / name, 2, PING, *BOTH, *options)
        assert other["digest"] == record["digest"], name
    # Cut where a frame is under way: a wire of 60,000 cycles is seldom empty.
    long = [option.replace(":600", ":60000") for option in BOTH]
    slow = "run=ping count=4 ms=20 us=3000"     # an address is known before the next packet needs it
    _, whole, _ = nodes(tmp_path / "whole", 2, slow, *long)
    for cycle in (500_123,):
        saved = tmp_path / f"{cycle}.checkpoint"
        words, _, _ = nodes(tmp_path / f"cut-{cycle}", 2, slow, *long, "--checkpoint", saved, "--checkpoint-at",
                            f"cycle:{cycle}")
        done = subprocess.run([words[0], "--restore", saved, "--nodes", "2", "--out", tmp_path / f"on-{cycle}",
                               "--quiet", "--console", "file"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        for node in range(2):
            assert (tmp_path / f"on-{cycle}/node-{node}/ether.pcap").read_bytes() == \
                (tmp_path / f"whole/node-{node}/ether.pcap").read_bytes()
        on = json.loads((tmp_path / f"on-{cycle}/run.json").read_text())
        assert on["digest"] == whole["digest"], cycle


def test_a_checkpoint_carries_the_frames_that_are_still_to_come(tmp_path):
    """The run that goes on gets only the checkpoint, and the file is gone."""
    echoes = [frames.echo(n) for n in range(6)]
    played = [(0, frames.arp()), *paced(echoes, 400, 1500)]
    whole, sent = net(tmp_path / "whole", played, len(echoes))
    window, saved = whole.record["window"], tmp_path / "saved"
    net(tmp_path / "first", played, len(echoes), "--checkpoint", saved, "--checkpoint-at",
        f"cycle:{(window['begin'] + window['end']) // 2}", "--checkpoint-stop")
    (tmp_path / "first/in.pcap").unlink()
    again = tmp_path / "again"
    done = subprocess.run([simulator_of(SoCConfig(harts=1, **DEVICES)), "--restore", saved, "--out", again, "--quiet",
                           "--console", "file"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads((again / "run.json").read_text())["digest"] == whole.record["digest"]
    assert [frame for _, frame in frames.read_pcap(again / "ether.pcap")] == sent


def test_a_switch_leads_frames_to_who_has_the_address(tmp_path):
    wires = [word for a in range(3) for b in range(3) if a != b for word in ("--wire", f"{a}.ether:{b}.ether:300")]
    _, record, pings = nodes(tmp_path, 3, "run=ping count=4 ms=12 us=600", *wires)
    assert [ping["answered"] for ping in pings] == [4, 4, 4]
    for node in record["nodes"]:
        assert node["ether"]["dropped_elsewhere"] > 0     # the third's unicasts
        assert node["ether"]["frames_to_target"] == node["results"]["ether"][0]["rx_frames"]


def test_a_cable_is_pulled_and_comes_back(tmp_path):
    requests = [(n * 1000, frames.echo(n)) for n in range(8)]
    boot, sent = net(tmp_path, [(-0, frames.arp()), *((500 + at, frame) for at, frame in requests)], 0,
                     "--ether-start", 1_500_000, "--ether-unplug", "1650000:1800000", ms=40)
    lost = [n for n in range(8) if 1_650_000 <= 1_500_000 + 60 * (500 + 1000 * n) < 1_800_000]
    assert len(lost) in (2, 3)
    answers = [frames.answer(frame) for n, (_, frame) in enumerate(requests) if n not in lost]
    assert sent == [frames.arp_answer(), *answers]
    assert boot.record["ether"]["dropped_no_link"] == len(lost)


@pytest.mark.parametrize("word", (0, 1, 20))
def test_a_cable_pulled_in_the_midst_of_a_frame_costs_that_frame_alone(tmp_path, word):
    """A received frame, a word a cycle, and then a sent one; each is counted."""
    requests = [(1500 + n * 1000, frames.echo(n)) for n in range(5)]
    answers = [frames.answer(frame) for _, frame in requests]

    def run(folder, *unplug):
        boot, sent = net(tmp_path / folder, [(0, frames.arp()), *requests], 0, "--ether-start", 1_500_000, *unplug,
                         ms=30)
        counts, wire = boot.result("net") | boot.result("ether"), boot.record["ether"]
        assert counts["sent"] == counts["tx_frames"] + counts["tx_no_link"] and counts["tx_frames"] == len(sent)
        assert wire["frames_to_target"] == counts["rx_frames"] == counts["received"]
        return sent, wire["cut"], counts

    comes = 1_500_000 + 60 * requests[1][0] + 1 + word
    sent, cut, counts = run("comes", "--ether-unplug", f"{comes}:{comes + 20_000}")
    assert (sent, cut) == ([frames.arp_answer(), answers[0], *answers[2:]], 1)
    assert counts["rx_crc"] + counts["rx_runt"] == (word > 0)       # both words of the preamble must come

    sent, cut, counts = run("whole")
    assert (sent, cut) == ([frames.arp_answer(), *answers], 0)
    (ends,) = (at for at, frame in frames.read_pcap(tmp_path / "whole/ether.pcap") if frame == answers[1])
    leaves = round(ends * 60) - wire_cycles(answers[1]) + 1 + word
    for back in (3, 20_000):    # also when it comes back before the frame is over
        sent, cut, counts = run(f"leaves-{back}", "--ether-unplug", f"{leaves}:{leaves + back}")
        assert (sent, cut) == ([frames.arp_answer(), answers[0], *answers[2:]], 1) and counts["tx_no_link"] == 1


def test_the_router_of_a_network_without_root_answers_and_the_run_repeats_from_its_log(tmp_path):
    """libslirp in the simulator's process, which the set-up installs: without it, no simulator is built."""
    ping = "run=ping hz=1000 to=0x0a000001 count=3 us=1000 ms=12"
    _, done = simulate(tmp_path / "user", ping, "--ether", "user")
    first = ended(tmp_path / "user", done.returncode, done.stdout + done.stderr)
    assert first.status == 0 and first.result("test")["answered"] == 3, first.report()
    _, done = simulate(tmp_path / "again", ping, "--ether-in", tmp_path / "user/ether-in.pcap", "--ether-start", "log")
    again = ended(tmp_path / "again", done.returncode, done.stdout + done.stderr)
    assert again.record["digest"] == first.record["digest"], again.report()
    asked = [frame for _, frame in frames.read_pcap(tmp_path / "user/ether.pcap")]
    told = [frame for _, frame in frames.read_pcap(tmp_path / "user/ether-in.pcap")]
    assert sum(frame[23:24] == b"\1" for frame in asked) == sum(frame[23:24] == b"\1" for frame in told) == 3


@pytest.mark.skipif(namespace() is None, reason="no TAP device can be made here, not even with `unshare -Urn`")
def test_this_machines_own_echoes_come_back_and_the_run_repeats_from_its_log(tmp_path):
    """Frames of this machine's IP over a TAP device; its log makes the same run again, to the cycle."""
    words = command(tmp_path / "tap", 1, "cli-optim", "run=net hz=1000 echoes=3 ms=100000", "file", CONSOLE_BAUD,
                    max_cycles=400_000_000, options=build("cli-optim", "threads"), machine=DEVICES)
    script = [sys.executable, str(Path(__file__).with_name("tap_ping.py"))]
    done = subprocess.run([*namespace(), *script, *words, "--ether", "tap:tap0"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    first = ended(tmp_path / "tap", 0, done.stderr)
    assert first.result("net")["icmp_echo"] >= 3, first.report()
    again = [str(tmp_path / "again") if word == str(tmp_path / "tap") else word for word in words]
    done = subprocess.run([*again, "--ether-in", tmp_path / "tap/ether-in.pcap", "--ether-start", "log"],
                          capture_output=True, text=True)
    second = ended(tmp_path / "again", done.returncode, done.stderr)
    assert second.status == 0, second.report()
    for name in ("ether.pcap", "console.txt"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "tap" / name).read_bytes(), name
    assert second.record["digest"] == first.record["digest"]
