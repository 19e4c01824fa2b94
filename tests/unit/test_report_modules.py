"""Every report module on made-up records: golden figures of those that have no test of their own, and rules for
all: the order of records does not count, failed runs and layouts of which one is missing are left out, and figures of
several layouts are their medians."""

import ast
import copy
import importlib
import random
import re
import types
from pathlib import Path

import pytest

from sim.experiments import definition
from sim.results import report
from tests.unit import (
    test_handlers_report,
    test_intr_reports,
    test_lock_cost_report,
    test_losses_report,
    test_nnb_report,
    test_spinlocks_report,
    test_sync_reports,
    test_table7_report,
)

CLOCK_HZ = 60_000_000


def made(kind, count=1, sync="spl-optim", parameters=None, results=None, **run):
    parameters = parameters or {}
    name = "-".join([kind, str(count), sync, *(f"{key}{value}" for key, value in parameters.items())])
    return {"id": name, "kind": kind, "harts": count, "sync": sync, "parameters": parameters, "options": {},
            "failure": None, "run": {"results": results or {}, **run}}


# ---- andrew


def andrew():
    def load(kind, sync, sections, **parameters):
        harts = parameters.pop("harts", 1)
        one = test_sync_reports.statistics(sections, 2, 4)["statistics"]
        one["accounting"] = {"idle": 200_000, "user": 300_000, "kernel": 100_000}
        phases = [{"name": name, "cycles": cycles} for name, cycles in zip(
            ("directories", "copy", "stat", "read", "compile", "end"), (0, 10, 30, 60, 100, 600_000), strict=True)]
        return made(kind, harts, sync, {"link_latency": 138, **parameters}, {"andrew_phase": phases},
                    window={"cycles": 600_000}, harts=[{"statistics": one}] * harts)
    pairs = {"table5": [{"scheme": name, "cycles_per_pair": cycles}
                        for name, cycles in test_sync_reports.PAIRS.items()]}
    timed = load("timed", "cli-pessim", 100)
    timed["run"]["results"] = {"crit_timing": [{"sections": 100, "cycles": 31_000}], "crit_poll": [
        {"cycles": 300_000, "sections": count} for count in (40, 60)]}
    return [made("table5", parameters={"link_latency": 138}, results=pairs), load("whole", "cli-pessim", 100),
            load("slice", "cli-pessim", 103), load("slice", "spl-optim", 50), load("harts", "cli-pessim", 100, harts=2),
            timed]


def andrew_nfs():
    """The same without the whole set and several harts."""
    return [one for one in andrew() if one["kind"] not in ("whole", "harts")]


def test_of_a_server_and_its_client_the_client_is_looked_at():
    from sim.experiments import andrew_nfs as module
    for one in andrew_nfs():
        assert module.of_client(one | {"run": {"nodes": [{"results": {}}, one["run"]]}}) == one


# ---- webstone


def webstone():
    """A server on one hart for 10 ms, a fifth of it idle, and two clients' nodes."""
    def load(kind, sync, sections, us, latency=138, **parameters):
        one = test_sync_reports.statistics(sections, 2, 4)["statistics"]
        one["accounting"] = {"idle": 120_000, "user": 60_000, "system": 420_000}
        got = [{"clients": 1, "requests": 6, "connections": 3, "bytes": 12_000, "us": us, "mean_us": 1000,
                "p90_us": 1200, "load_percent": 100},
               {"clients": 1, "requests": 4, "connections": 2, "bytes": 8000, "us": us, "mean_us": 2250,
                "p90_us": 2000, "load_percent": 50}]
        server = {"results": {"webstone_server": [{"harts": 1, "cycles": 600_000}]}, "window": {"cycles": 600_000},
                  "harts": [{"statistics": one}]}
        return made(kind, 1, sync, {"link_latency": latency, **parameters},
                    nodes=[server, *({"results": {"webstone": [line]}} for line in got)])
    pairs = {"table5": [{"scheme": name, "cycles_per_pair": cycles}
                        for name, cycles in test_sync_reports.PAIRS.items()]}
    table5 = [made("table5", parameters={"link_latency": latency}, nodes=[{"results": pairs}, {"results": {}}])
              for latency in (138, 600)]
    timed = load("timed", "cli-pessim", 100, 10_000)
    timed["run"]["nodes"][0]["results"] = {"crit_timing": [{"sections": 100, "cycles": 31_000}], "crit_poll": [
        {"cycles": 300_000, "sections": count} for count in (40, 60)]}
    return [*table5, load("load", "spl-pessim", 100, 10_000), load("load", "cli-pessim", 100, 8000),
            load("load", "cli-pessim", 90, 8000, 600), timed]


# ---- totals


def totals():
    def floor(kind, result, sync="spl-optim", ether=None, **line):
        return made(kind, 1, sync, results={result: [line]}, **({"ether": ether} if ether else {}))

    def replies(cycles):
        return {"turnaround": {"count": 2, "total": 2 * cycles}}
    records = [floor("wake-floor", "switch_floor", wake_floor=100), floor("wire-floor", "intr_floor", bare=200),
               floor("frame-floor", "handler_floor", ether=replies(300), p50=900),
               floor("frame-handler-floor", "handler_floor", p50=50),
               floor("request-floor", "handler_floor", p50=400),
               floor("request-handler-floor", "handler_floor", p50=40), floor("call-floor", "vm_trap", cycles=70)]
    for harts in (1, 4):
        records += [
            made("wire", harts, results={"intr_latency": [
                {"load": "idle", "to": way, "p50": cycles}
                for way, cycles in (("handler", 250), ("event", 450), ("relayed", 1200))]}),
            made("frame-thread", harts, results={"handler": [{"p50": 170}]}, ether=replies(1500)),
            made("frame-softint", harts, results={"handler": [{"p50": 110}]}, ether=replies(900)),
            made("request", harts, results={"disk": [{"cycles": 32_000, "bytes": 16384, "request": 512}],
                                            "handler": [{"p50": 70}]}),
            made("call", harts, results={"syscall_cost": [{"null": 140}]})]
    return records


# ---- crtc


def crtc():
    xmm = [{"supplied": 3, "mean": 80_000, "least": 60_000, "most": 90_000},
           {"supplied": 1, "mean": 40_000, "least": 30_000, "most": 50_000}]

    def one(step, depth, create):
        line = {"node": 1, "steps": step, "objects": 12 + 6 * depth, "create": create, "allocate": 100_000,
                "vector": create - 100_000}
        return made("one", parameters={"transport": "norma", "step": step, "depth": depth},
                    results={"remote": [line, line | {"create": create + 2}], "xmm": xmm})
    times = {0: (1_000_000, 2_000_000), 1: (700_000, 1_500_000), 3: (700_000, 1_200_000), 7: (600_000, 1_000_000)}
    turns = made("turns", parameters={"transport": "norma"},
                 results={"remote": [{"node": n, "create": 1_000_000} for n in range(1, 60)], "xmm": xmm})
    many = [made("many", parameters={"transport": "norma", "tree": tree}, results={
        "spread": [{"nodes": n, "objects": 12, "send": 1, "create": cycles} for n, cycles in points]})
        for tree, points in ((0, ((7, 4_000_000), (59, 32_000_000))), (2, ((7, 4_000_000), (59, 8_000_000))))]
    copies = [made("copies", parameters={"transport": "norma", "copied": copied}, results={
        "remote": [{"node": 1, "fault": cycles}], "xmm": xmm})
        for copied, cycles in enumerate((30_000, 40_000, 60_000))]
    return [one(step, depth, times[step][depth // 2]) for step in times for depth in (0, 2)] + [turns, *many, *copies]


# ---- livelock


def livelock():
    def load(kind, sync="spl-optim", **parameters):
        lines = [{"period": period, "window": 600_000, "offered": offered, "delivered": delivered, "counted": counted,
                  "alone": 1000, "no_descriptor": offered - delivered, "full": 1, "unread": 2, "interrupts": 3,
                  "frames": 4} for period, offered, delivered, counted in (
                     (120_000, 5, 5, 950), (60_000, 10, 10, 900), (30_000, 20, 17, 500), (6000, 100, 60, 50))]
        return made(kind, 1, sync, parameters, {"livelock": lines}, harness={"clock_hz": CLOCK_HZ})
    return [load("way", way="threads"), load("way", way="poll"), load("cure", share=50),
            load("scheme", link_latency=138), load("scheme", "cli-optim", link_latency=138)]


# ---- master


def master():
    return [made("master", harts, "spl-optim", {"queue": "global", "section": section}, {
        "master": [{"wrapped": wrapped, "per_megacycle": 1000 * (harts if not wrapped else 1) // (section // 100)}
                   for wrapped in (0, 1)],
        "master_move": [{"from": hart, "enter": 10 + 90 * hart, "release": 20, "nested": 5} for hart in range(harts)]})
        for harts in (1, 2) for section in (100, 1000)]


# ---- krp


def krp():
    def load(kernel, harts, spinning, orders):
        per = {"user": 400_000, "system": 300_000, "interrupt": 100_000, "spinning": spinning,
               "idle": 200_000 - spinning}
        lock = {"krp-classic": "I/O lock 8"}.get(kernel, "TCP/IP global")
        node = {"results": {"orders": [{"orders": orders // 2, "first_us": 50_000 * n, "last_us": 950_000 + 50_000 * n}
                                       for n in (0, 1)], "net": [{"sent": 9}]},
                "harts": [{"statistics": {"accounting": per}}] * harts, "window": {"cycles": 1_000_000},
                "locks": {"classes": [{"class": lock, "kind": "simple", "attempts": 100,
                                       "wait_cycles": {"total": spinning * harts},
                                       "hold_cycles": {"total": 250_000}}]}}
        one = made("krp", harts, "spl-optim", {"kernel": kernel, "client": 8}, harness={"clock_hz": CLOCK_HZ})
        one["run"]["nodes"] = [node, {"results": {}}]
        return one
    return [load("krp-classic", 1, 0, 100), load("krp", 1, 0, 100), load("krp-classic", 4, 100_000, 200),
            load("krp", 4, 10_000, 300), load("krp-many", 4, 10_000, 310)]


# ---- tcp_throughput


def tcp_throughput():
    def load(kernel, stream, rate):
        lines = [{"size": 1000, "streams": stream, "bytes": 1000 * rate // stream + (0 if n else 700),
                  "first_bytes": 700, "first_us": 500 + 50_000 * n, "last_us": 1_000_500 - 50_000 * n}
                 for n in range(stream)]
        one = made("tcp", 4, "spl-optim", {"kernel": kernel, "size": 1000, "stream": stream, "mbits": 10})
        one["run"]["nodes"] = [{"results": {"stream": lines}}, {"results": {}}]
        return one
    return [load(kernel, stream, rate) for kernel, rates in (("serial", (100, 110)), ("global", (90, 120)),
                                                              ("connection", (100, 180)))
            for stream, rate in zip((1, 2), rates, strict=True)]


# ---- tcp_cost


def tcp_cost():
    """A byte costs 2 cycles to send and 3 to receive, a segment 1000 and 2000; boot and idle time are in all runs. Each
    other segment is acknowledged."""
    def nodes(kind, parameters, of_nodes, harts=1):
        one = made(kind, harts, "spl-optim", {"nodes_latency": 600, "streams": 10} | parameters,
                   harness={"clock_hz": CLOCK_HZ})
        one["run"]["nodes"] = of_nodes
        return one

    def segments(name, count, size):
        def node(cycles, frames):
            return {"results": {"netcost": [{"bytes": count * size}]}, "ether": {"frames_from_target": frames + 7},
                    "harts": [{"statistics": {"accounting": {"idle": 999 * count, "user": 500_000, "system": cycles}}}]}
        return nodes("segments", {"kernel": name, "count": count, "size": size},
                     [node(count * (2000 + 3 * size), count // 2), node(count * (1000 + 2 * size), count)])

    def streams(kind, name, rate, harts=1):
        lines = [{"size": 16384, "streams": 2, "bytes": rate // 2 + 500 * (not n), "first_bytes": 500,
                  "first_us": 50_000 * n, "last_us": 1_000_000 - 50_000 * n} for n in (0, 1)]
        lines[1]["bytes"] += rate % 2
        return nodes(kind, {"kernel": name}, [{"results": {"stream": lines}}, {"results": {}}], harts)
    floor = {"tcp_floor": [{"bytes": 0, "send": 40, "receive": 60}, {"bytes": 1, "send": 51, "receive": 81},
                           {"bytes": 1448, "send": 1498, "receive": 2975}]}
    interrupt = {"intr_latency": [{"load": load, "to": to, "p50": cycles} for load, to, cycles in (
        ("idle", "thread", 500), ("idle", "relayed", 800), ("loaded", "thread", 9000))]}
    kernels = ("serial", "connection")
    return [*(segments(name, count, size) for name in kernels for count in (10, 30) for size in (1, 1448)),
            *(streams("wire", name, rate) for name, rate in zip(kernels, (1_176_000, 588_427), strict=True)),
            *(streams("streams", name, rate * harts, harts) for name, rate in zip(kernels, (3_000_000, 4_000_000),
                                                                                   strict=True) for harts in (1, 4)),
            *(nodes("echo", {"kernel": name}, [{"results": {}}, {"results": {
                "netcost": [{"rounds": 3, "min": 5000, "p50": 6281, "max": 9000}]}}]) for name in kernels),
            nodes("floor", {}, [{"results": floor}, {"results": floor}]),
            nodes("interrupt", {}, [{"results": interrupt}, {"results": interrupt}])]


# ---- tcp_livelock


def tcp_livelock():
    def load(kind, period, datagrams, orders, counted, sync="spl-optim", **parameters):
        one = made(kind, 1, sync, {"period": period, "ms": 20} | parameters)
        server = {"period": period, "side": "server", "ms": 20, "datagrams": datagrams, "orders": orders,
                  "counted": counted}
        one["run"]["nodes"] = [{"results": {"netload": [server]}}, {"results": {"netload": [{"side": "caller"}]}},
                               {"results": {"net_flood": [{"period": period, "offered": 1_200_000 // period
                                                           if period else 0}]}}]
        return one
    return [*(load(kind, period, datagrams, orders, counted, kernel=kernel)
              for kind, kernel in (("threads", "krp"), ("threads", "serial"), ("poll", "krp"))
              for period, datagrams, orders, counted in ((0, 0, 40, 1000), (450, 2, 0, 5), (8000, 150, 20, 300))),
            *(load("scheme", period, 10, 1, 100, sync) for sync in ("cli-optim", "spl-optim") for period in (0, 450))]


# ---- processes


def processes():
    costs = {"null": 100, "fork": 5000, "fork_exec": 9000, "vfork_exec": 7000, "spawn": 6000, "thread": 800,
             "signal": 500, "pipe": 1200, "switch_1": 300, "switch_2": 400, "switch_4": 410, "switch_8": 420,
             "switch_16": 500}
    return [made("processes", harts, sync, results={"process_cost": [costs | {"fork": 5000 + harts}]})
            for sync in ("spl-optim", "cli-pessim") for harts in (1, 2)]


# ---- scheduler


def scheduler():
    def load(queue, harts):
        return made("load", harts, "spl-optim", {"queue": queue}, {
            "scheduler": [{"load": name, "per_megacycle": 1000 * harts, "cycles": 1000, "operations": 10 * harts,
                           "stolen": 3} for name in ("yield", "pairs")],
            "wakeup": [{"place": place, "median": 900, "most": 1300} for place in ("same", "other")]})
    floor = {"floor": 28, "switch": 42, "ratio": 1.5, "yield": 315, "yield_floor": 104, "wake_floor": 180}
    return [*(load(queue, harts) for queue in ("global", "per-hart") for harts in (1, 2)),
            *(made("floor", 1, "spl-optim", {"queue": queue}, {"switch_floor": [floor]})
              for queue in ("global", "per-hart"))]


# ---- system-calls


def system_calls():
    costs = {"null": 100, "clock": 150, "yield": 200, "thread_switch": 320, "process_switch": 480, "spawn": 9000}
    return [made("calls", harts, sync, results={"syscall_cost": [costs]}) for sync in ("spl-optim", "cli-pessim")
            for harts in (1, 2)]


# ---- mpd

MPD_ROWS = {"loop": 1, "local_call": 30, "call": 100, "call_new": 900, "create": 800, "p": 10, "v": 10, "pair": 20,
            "switching_pair": 150, "message": 200, "switching_message": 400, "rendezvous": 600}


def mpd():
    found = []
    for switch, raw in {"assembler": 60, "library": 160, "system-calls": 1060}.items():
        more = {"switching_pair": raw - 60, "switching_message": raw - 60, "rendezvous": 2 * (raw - 60)}
        new = {"call_new": 0, "create": 0} if switch == "assembler" else {"call_new": 1000 + raw, "create": 1000 + raw}
        line = {name: 100 * (cycles + more.get(name, 0) + new.get(name, 0)) for name, cycles in MPD_ROWS.items()}
        loop = {"build": 90000, "null": 30000, "registers": 3000, "all": 7000, "call": 1000}
        found.append(made("all", 1, parameters={"latency": 30, "switch": switch}, results={
            "csloop": [loop | {"switch": 100 * (raw + placing - 1)} for placing in (0, 1, 2)],
            "mpd": 3 * [line | {"n": 100}]}))
    return found


def test_what_contexts_cost_is_answered_over_schemes_and_latencies():
    from sim.experiments import mpd as module
    slower = [record | {"sync": "cli-optim", "parameters": record["parameters"] | {"latency": 300}} for record in mpd()]
    for line in slower[2]["run"]["results"]["csloop"]:
        line["switch"] += 100_000
    summary = module.summarise({"clock_hz": 60_000_000}, mpd() + slower)
    assert module.answer(summary) == (
        "A switch takes 60.0 cycles by assembler, 160 by a library and 1,060 by system calls (spl-optim, PIC 30 "
        "cycles); by system calls 1,060 to 2,060 over schemes and latencies. Of the paper's 12 rows 11 to 12 are in "
        "their class.")
    assert module.scheme_table(summary).rows == [["cli-optim", "-", "2,060", "-", "2,600", "-", "11"],
                                                 ["spl-optim", "1,060", "-", "2,600", "-", "12", "-"]]
    assert module.answer(module.summarise({"clock_hz": 60_000_000}, mpd()[:2])) == ""


# ---- vm


def vm():
    def machine(harts, sync):
        return made("vm", harts, sync, results={
            "vm_fault": [{"kind": kind, "cycles": 4000, "floor": 1000} for kind in ("zero", "copy")],
            "vm_trap": [{"cycles": 58}], "vm_fork": [{"cycles": 1}],
            "vm_fork_page": [{"hundredths": 4500, "floor": 900}],
            "vm_parallel": [{"harts": harts, "pages": 10, "cycles": 60_000, "floor": 15_000}],
            "vm_shootdown": [{"state": "idle", "harts": harts - 1, "cycles": 700, "floor": 350}],
            "vm_chain": [{"strategy": "symmetric", "collapse": collapse, "children": children, "objects": 3,
                          "parent": 1, "first": 2, "last": children * (2 - collapse), "cycles": 800}
                         for collapse in (0, 1) for children in (1, 4)]})
    return [machine(harts, sync) for sync in ("spl-optim", "cli-pessim") for harts in (1, 4)]


def test_virtual_memory_is_answered_with_the_worst_of_each():
    from sim.experiments import vm as module
    summary = module.summarise({}, vm()) | {"settings": {"schemes": ["spl-optim", "cli-pessim"]}}
    assert module.answer(summary) == (
        "A fault of memory of 0 takes 4.00 times its floor, a resident page more of a map that is copied 5.00 times, "
        "4 harts that fault reach 0.250 of what they clear in a loop. After 4 children the longest chain has, in "
        "objects, 4 by symmetric copies with collapse and 8 without.")
    summary["fault"][0]["cycles"] = 5000
    assert module.answer(summary).startswith("A fault of memory of 0 takes 4.00 to 5.00 times its floor")
    assert module.answer({kind: [] for kind in module.RESULTS}) == ""


GOLDEN = {
    "andrew": (andrew, {
        "Phases of the whole set": [["cli-pessim", "0.000", "0.000", "0.000", "0.000", "0.600", "0.600"]],
        # 100 sections in 10 ms; their bodies take 5 us.
        "Sections of the whole set and of the slice": [
            ["whole", "cli-pessim", "10,000", "0", "0", "5.00", "5.00", "50.0"],
            ["slice", "cli-pessim", "10,300", "0", "0", "5.00", "5.00", "50.0"],
            ["slice", "spl-optim", "5,000.0", "0", "0", "5.00", "5.00", "50.0"]],
        "Table 6: overhead in % of the time": [
            ["whole", "cli-pessim", "6.00", "6.00", "0.100", "0.100", "+0", "0.7"],
            ["slice", "cli-pessim", "6.00", "6.00", "0.103", "0.103", "+0", "0.7"],
            ["slice", "spl-optim", "11.0", "6.00", "0.092", "0.050", "-45", "0.2"]],
        "The slice beside the whole set": [["cli-pessim", "0.600", "0.600", "10,000", "10,300", "+3.0", "yes"]],
    }),
    "andrew_nfs": (andrew_nfs, {
        "Tables 3 and 4: sections entered, timed in the kernel and polled": [
            ["cli-pessim", "10,000", "20", "12,000", "5.17", "0", "0", 2, "25,867", "68", "72,940", "4.6", "-"]],
        "Table 6: overhead in % of the time": [
            ["slice", "cli-pessim", "6.00", "6.00", "0.103", "0.103", "+0", "0.5"],
            ["slice", "spl-optim", "11.0", "6.00", "0.092", "0.050", "-45", "0.1"]],
    }),
    "webstone": (webstone, {
        "What clients got": [
            ["spl-pessim", 1, 138, "500", "1,000", "2,000", "1.50", "2.00", "1.50", "80.0", "+0.0"],
            ["cli-pessim", 1, 138, "625", "1,250", "2,500", "1.50", "2.00", "1.50", "80.0", "+25.0"],
            ["cli-pessim", 1, 600, "625", "1,250", "2,500", "1.50", "2.00", "1.50", "80.0", "-"]],
        "Sections under WebStone": [
            ["spl-pessim", 1, 138, "10,000", "0", "0", "5.00", "5.00", "10.0"],
            ["cli-pessim", 1, 138, "10,000", "0", "0", "5.00", "5.00", "10.0"],
            ["cli-pessim", 1, 600, "9,000.0", "0", "0", "5.00", "5.00", "10.0"]],
        "Table 6: overhead in % of the time": [
            ["spl-pessim", "305", "6.00", "5.08", "0.100", "-98", "8.6"],
            ["cli-pessim", "6.00", "6.00", "0.100", "0.100", "+0", "0.6"]],
        "Overhead over the PIC's latency in cycles, in % of one hart's time": [
            ["spl-pessim", 1, "5.08", "-", "0.100", "-"], ["cli-pessim", 1, "0.100", "0.090", "0.100", "0.090"]],
    }),
    "livelock": (livelock, {
        # 5 to 100 datagrams in 10 ms; of 20 one more than may be on the way is lost, of 100 only 60 arrive.
        "Where frames are worked on, spl-optim": [
            ["threads", "1,000", "6,000", "10,000", "6,000", "5.0 %"],
            ["poll", "1,000", "6,000", "10,000", "6,000", "5.0 %"],
            ["poll, feedback, 50 % of a tick", "1,000", "6,000", "10,000", "6,000", "5.0 %"]],
        "Interrupt threads under each scheme": [
            ["spl-optim, 138", "1,000", "6,000", "10,000", "6,000", "5.0 %"],
            ["cli-optim, 138", "1,000", "6,000", "10,000", "6,000", "5.0 %"]],
    }),
    "krp": (krp, {
        "What the server does": [
            ["krp-classic", 1, 8, "100.0", "9.000", "40.0", "30.0", "10.0", "0", "20.0"],
            ["krp", 1, 8, "100.0", "9.000", "40.0", "30.0", "10.0", "0", "20.0"],
            ["krp-classic", 4, 8, "200.0", "9.000", "40.0", "30.0", "10.0", "10.0", "10.0"],
            ["krp", 4, 8, "300.0", "9.000", "40.0", "30.0", "10.0", "1.00", "19.0"],
            ["krp-many", 4, 8, "310.0", "9.000", "40.0", "30.0", "10.0", "1.00", "19.0"]],
        "Simple locks": [
            ["krp-classic", 1, 8, "25.0", "0", "6,000", "25.0", "0", "-"],
            ["krp", 1, 8, "25.0", "0", "6,000", "0", "25.0", "4.0"],
            ["krp-classic", 4, 8, "25.0", "40.0", "6,000", "25.0", "0", "-"],
            ["krp", 4, 8, "25.0", "4.00", "6,000", "0", "25.0", "16"],
            ["krp-many", 4, 8, "25.0", "4.00", "6,000", "0", "25.0", "16"]],
    }),
    "tcp_throughput": (tcp_throughput, {
        "Aggregate throughput": [["serial", "Mach/0.2", 4, 1000, "100.0", "110.0"],
                                 ["global", "Mach/0.4", 4, 1000, "90.00", "120.0"],
                                 ["connection", "Mach/0.5", 4, 1000, "100.0", "180.0"]],
        "What more streams add, percent": [["serial", 4, 1000, 2, "10.0", "-"],
                                           ["global", 4, 1000, 2, "33.3", "-"],
                                           ["connection", 4, 1000, 2, "80.0", "83"]],
    }),
    "tcp_cost": (tcp_cost, {
        # Headers leave 1448 of 1538 bytes of 1,250,000 a second: 1,176,853.
        "10 Mbit/s filled by one hart and one stream": [["serial", "1,176", "99.9", "met"],
                                                        ["connection", "588.4", "50.0", "missed"]],
        # The floor's acknowledgements add 30 to a segment that is sent, 20 to one received.
        "Cycles of a segment and of a byte, beside the floor": [
            [name, *figures] for name in ("serial", "connection") for figures in (
                ("receive", "2,000", "3.000", "6,344", "99.00", "2.000", "2,995", "2.118"),
                ("send", "1,000", "2.000", "3,896", "80.00", "1.000", "1,528", "2.550"))],
        "10 streams on several harts, thousand bytes a second": [["serial", "3,000", "12,000", "4.00"],
                                                                 ["connection", "4,000", "16,000", "4.00"]],
        "The round trip of one byte, cycles": [
            [name, "6,281", "1,281", "5,000", "1,000", "1,600", "5.00"] for name in ("serial", "connection")],
    }),
    "tcp_livelock": (tcp_livelock, {
        # 1,200,000 cycles are 20 ms.
        "Servers under a flood, interrupt threads": [
            [kernel, 1, *figures] for kernel in ("serial", "krp") for figures in (
                ("0", "0", "2,000", "100"), ("7,500", "7,500", "1,000", "30.0"), ("133,300", "100.0", "0", "0.500"))],
        "Servers under a flood, polling": [
            ["krp", 1, *figures] for figures in (
                ("0", "0", "2,000", "100"), ("7,500", "7,500", "1,000", "30.0"), ("133,300", "100.0", "0", "0.500"))],
        "Servers under a flood, schemes": [
            [sync, 1, *figures] for sync in ("cli-optim", "spl-optim") for figures in (
                ("0", "500.0", "50.00", "100"), ("133,300", "500.0", "50.00", "100"))],
    }),
    "master": (master, {
        "Operations in a million cycles, one thread a hart": [
            ["spl-optim", "global", 100, 1, "1,000", "1,000", "1.00"],
            ["spl-optim", "global", 100, 2, "2,000", "1,000", "2.00"],
            ["spl-optim", "global", 1000, 1, "100.0", "100.0", "1.00"],
            ["spl-optim", "global", 1000, 2, "200.0", "100.0", "2.00"]],
        "To the master and back, cycles, mean": [
            ["spl-optim", "global", 1, 0, 10, 20, 5], ["spl-optim", "global", 2, 0, 10, 20, 5],
            ["spl-optim", "global", 2, 1, 100, 20, 5]],
    }),
    "processes": (processes, {
        "Processes, threads and signals": [
            [sync, harts, 100, 5000 + harts, 9000, 7000, 6000, 800, 500, 1200, 2.5]
            for sync in ("spl-optim", "cli-pessim") for harts in (1, 2)],
        "One switch among so many processes": [
            [sync, harts, 300, 400, 410, 420, 500] for sync in ("spl-optim", "cli-pessim") for harts in (1, 2)],
    }),
    "scheduler": (scheduler, {
        "Throughput by run queues, two threads a hart": [
            ["spl-optim", load, queue, harts, f"{1000 * harts:,}", "100.0", 3]
            for load in ("turns of pairs", "yields") for queue in ("global", "per-hart") for harts in (1, 2)],
        "A thread switch beside saving and restoring the registers, cycles, 1 hart": [
            ["spl-optim", queue, "28.00", "42.00", "1.50", "315.0", "104.0", "180.0"]
            for queue in ("global", "per-hart")],
    }),
    "system_calls": (system_calls, {
        "System calls and switches": [[sync, harts, 100, 150, 200, 320, 480, 9000]
                                      for sync in ("spl-optim", "cli-pessim") for harts in (1, 2)],
    }),
    "crtc": (crtc, {
        "Creating one task on another node: cycles over memory objects (Figure 8)": [
            ["norma", "12", "1,000,001", "700,001", "700,001", "600,001", "40"],
            ["norma", "24", "2,000,001", "1,500,001", "1,200,001", "1,000,001", "50"]],
        "What each step saves of the time before it, %": [
            ["norma", "0", "30.0", "0.0", "14.3"], ["norma", "2", "25.0", "20.0", "16.7"]],
        "Section 6: time that a step saves (paper crtc)": [
            ["eager state, norma", "30.0", "30.0", "-0.0 %"],
            ["one shadow more of each region, norma", "14.0", "20.0", "+42.9 %"]],
        "A remote fault with an asymmetric copy in the chain: cycles (Figure 10)": [
            ["norma", "30,000", "40,000", "60,000", "2.00", "1.50"]],
        "A page that is faulted over the wire: cycles": [
            ["norma", name, "4", "30,000", "70,000", "90,000"] for name in (
                *(f"one, {step}, {depth} ancestors" for step in (
                    "original", "eager state", "and eager chains", "and no synchronisation") for depth in (0, 2)),
                "in turn, original", "one, no asymmetric copy", "one, a copy by reference",
                "one, a distributed copy")],
        "Time for 59 tasks over that for 7": [
            ["norma, in turn, original", "8.43"], ["norma, at once, flat", "8.00"],
            ["norma, at once, tree of 2", "2.00"],
            ["proportional", "8.43"], ["logarithmic", "1.97"]],
    }),
    "mpd": (mpd, {
        "Contexts by system calls under each scheme": [["spl-optim", "1,060", "2,600", "12"]],
        "Table 2: raw context switches (spl-optim, PIC 30 cycles)": [
            ["assembler", "60.0", "59.0 to 61.0", "1.00", "0.013", "n/a", "900", "300"],
            ["library", "160", "159 to 161", "2.67", "0.138", "0.237", "900", "300"],
            ["system-calls", "1,060", "1,059 to 1,061", "17.7", "1.453", "9.649", "900", "300"]],
        "The paper's three classes (spl-optim, PIC 30 cycles)": [
           ["loop control overhead", "same", "0", "0", "yes"],
           ["local call, optimised", "same", "0", "0", "yes"],
           ["interresource call, no new process", "same", "0", "0", "yes"],
           ["interresource call, new process", "creation", "0.563", "-", "yes"],
           ["process create/destroy", "creation", "0.563", "-", "yes"],
           ["semaphore P only", "same", "0", "0", "yes"],
           ["semaphore V only", "same", "0", "0", "yes"],
           ["semaphore pair", "same", "0", "0", "yes"],
           ["semaphore requiring context switch", "1 raw switch more", "1.00", "1.00", "yes"],
           ["asynchronous send/receive", "same", "0", "0", "yes"],
           ["message passing requiring context switch", "1 raw switch more", "1.00", "1.00", "yes"],
           ["rendezvous", "2 raw switches more", "2.00", "2.00", "yes"]],
    }),
    "totals": (totals, {
        "Totals beside their floors": [
            [f"{name}", harts, "spl-optim", floor, cycles, ratio, said, why]
            for name, floor, cycles, ratio, said, why in (
                ("wire to the waiting thread, posted by the handler", "300", "450", "1.50", "met", ""),
                ("wire to the waiting thread, through an interrupt thread", "400", "1,200", "3.00", "missed",
                 "the way to the handler 6 %, the rest 94 % of what is beyond the floor"),
                ("echo request to reply, net=softint", "300", "900", "3.00", "missed",
                 "the handler 10 %, the rest 90 % of what is beyond the floor"),
                ("echo request to reply, net=threads", "300", "1,500", "5.00", "missed",
                 "the handler 10 %, the rest 90 % of what is beyond the floor"),
                ("disk request to return", "400", "1,000", "2.50", "missed",
                 "the handler 5 %, the rest 95 % of what is beyond the floor"),
                ("system call to return", "70.0", "140", "2.00", "met", ""))
            for harts in (1, 4)],
    }),
    "vm": (vm, {
        "Page faults: cycles, and times the floor": [
            [sync, harts, fault, 4000, 1000, "4.00"] for sync in ("spl-optim", "cli-pessim") for harts in (1, 4)
            for fault in ("page of 0", "copy on write")],
        "Copying a map: cycles for each resident page more": [
            [sync, harts, "45.0", "9.0", "5.00"] for sync in ("spl-optim", "cli-pessim") for harts in (1, 4)],
        "All harts fault, each in a map of its own": [
            [sync, harts, 6000, 1500, "0.25"] for sync in ("spl-optim", "cli-pessim") for harts in (1, 4)],
        "Shootdown: cycles to take a right from one page": [
            [sync, "idle", 3, 700, 350] for sync in ("spl-optim", "cli-pessim")],
    }),
}
# The experiments whose files name a module: name of the experiment, settings that are not its defaults, records.
OTHERS = {
    "handlers": lambda: test_handlers_report.RECORDS[:-1],
    "interrupt_latency": test_intr_reports.latency_records,
    "lock_cost": lambda: [test_lock_cost_report.record(harts, debug, 0, 1 + 2 * debug) for harts in (1, 2)
                          for debug in (0, 1)],
    "losses": lambda: [test_losses_report.made("cli-pessim", 20, 90000),
                       test_losses_report.made("cli-spl-pessim", 0, 300),
                       test_losses_report.made("cli-pessim", 19, 9000, "flow", flow=1)],
    "nnb": lambda: [test_nnb_report.record("serial", {1: 1000, 8: 8000}, 0),
                    test_nnb_report.record("parallel", {1: 500, 8: 2000}, 25)],
    "spinlocks": lambda: [test_spinlocks_report.uncontended("ticket", 60.0),
                          test_spinlocks_report.uncontended("mcs", 129.0),
                          *(test_spinlocks_report.contended(name, harts, 40) for name in ("ticket", "mcs")
                            for harts in (1, 2, 4))],
    "sync": lambda: [*test_sync_reports.records(), test_sync_reports.serial_record()],
    "table7": lambda: test_table7_report.RECORDS,
    "serial_loss": lambda: [test_sync_reports.loss_record("cli-pessim", 115_200, 4, 30),
                            test_sync_reports.loss_record("cli-spl-pessim", 460_800, 16, 0)],
}
RECORDS = {name: builder for name, (builder, _) in GOLDEN.items()} | OTHERS
# Their reports have a test over layouts that runs the stub simulator, or make none.
ELSEWHERE = {"pic_latency", "pic_latency_paper", "designated", "layout", "collected", "sync_load", "paper_sync",
             "definition", "machine", "meaning", "modules", "schema"}


BY_INTERVAL = {"totals"}        # all its tables have verdicts, which go by intervals and not by medians


def experiment_of(module, records):
    name = module.replace("_", "-")
    experiment = definition.load(name)
    settings = experiment.settings([])
    return {"experiment": name, "settings": settings, "notes": [], "clock_hz": CLOCK_HZ,
            "runs": [one.get("id", "") for one in records]}


def records_of(module):
    """Made-up records, whole enough for a report."""
    found = []
    for index, one in enumerate(copy.deepcopy(RECORDS[module]())):
        whole = {"id": f"{module}-{index}", "harts": 1, "sync": "spl-optim", "options": {}, "parameters": {}}
        found.append(whole | one)
    return found


def shown(module, records):
    """Summary, tables and plots of records."""
    loaded = importlib.import_module(f"sim.experiments.{module}")
    summary = report.summarise(loaded, experiment_of(module, records), records)
    tables = [comparison.table() for comparison in getattr(loaded, "comparisons", lambda _: [])(summary)]
    tables += loaded.tables(summary)
    plots = getattr(loaded, "plots", lambda _: [])(summary)
    for plot in plots:
        plot.csv()
        plot.figure()
    return summary, tables, plots


def content(tables, plots=()):
    """Titles and what is under them, in any order of rows."""
    return {table.title: sorted(str(list(map(str, row))) for row in table.rows) for table in tables} | {
        plot.name: sorted(plot.csv().splitlines()) for plot in plots}


CYCLES = ("cycles", "floor", "p50", "min", "max", "total", "squares", "cycles_per_pair", "create")


def layouts(records, changes=(0, 0, 0)):
    """The records in a layout for each of `changes`: cycles of every result grow by so many parts in a thousand."""
    made = []
    for number, change in enumerate(changes, 1):
        for one in copy.deepcopy(records):
            one["id"] += f"-layout{number}"
            one["parameters"] = dict(one["parameters"]) | {"layout": number}
            one["run"]["digest"] = one["id"]
            one["run"]["results"] = grown(one["run"]["results"], 1 + change / 1000)
            made.append(one)
    return made


def grown(value, factor):
    if isinstance(value, dict):
        return {name: times(inner, factor ** (2 if name == "squares" else 1)) if name in CYCLES
                and isinstance(inner, int | float) else grown(inner, factor) for name, inner in value.items()}
    return [grown(inner, factor) for inner in value] if isinstance(value, list) else value


def times(value, factor):
    return round(value * factor) if isinstance(value, int) else value * factor


@pytest.mark.parametrize("module", GOLDEN)
def test_golden_figures(module):
    _, tables, _ = shown(module, records_of(module))
    found = {table.title: table.rows for table in tables}
    for title, rows in GOLDEN[module][1].items():
        assert title in found, list(found)
        if module == "livelock":
            assert sorted(found[title]) == sorted(rows)
        else:
            assert found[title] == rows


@pytest.mark.parametrize("module", RECORDS)
def test_every_question_is_answered(module):
    """In sentences that figures fill, over layouts too, and not at all where no run has ended well."""
    loaded, records = importlib.import_module(f"sim.experiments.{module}"), records_of(module)
    for made in (records, layouts(records, (0, 900, 500))):
        said = loaded.answer(shown(module, made)[0])
        assert re.fullmatch(r"[A-Z0-9].*\d.*\.", said) and "None" not in said, said
    for one in records:
        one["failure"] = "limit"
    assert not loaded.answer(shown(module, records)[0])


@pytest.mark.parametrize("module", RECORDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_records_does_not_count(module, seed):
    records = records_of(module)
    expected = content(*shown(module, records)[1:])
    random.Random(seed).shuffle(records)
    assert content(*shown(module, records)[1:]) == expected and expected


@pytest.mark.parametrize("module", RECORDS)
def test_layouts_that_are_alike_give_the_figures_of_one(module):
    records = records_of(module)
    summary, *made = shown(module, layouts(records))
    assert summary["sampling"]["samples"] == 3
    found, alone = content(*made), content(*shown(module, records)[1:])
    for title in [title for title in found if title.startswith("What paper")]:     # claims need three layouts
        assert "shown" in str(found.pop(title)) and "shown" not in str(alone.pop(title))
    assert found == alone


@pytest.mark.parametrize("module", RECORDS)
def test_figures_of_layouts_are_medians_in_any_order(module):
    records = records_of(module)
    middle = content(shown(module, layouts(records, (500,)))[1])
    several = layouts(records, (0, 900, 500))
    random.Random(5).shuffle(several)
    summary, tables, _ = shown(module, several)
    assert summary["sampling"]["layouts"] == [1, 2, 3]
    found = content(tables)
    assert found.keys() == middle.keys()
    if unclaimed(found) != unclaimed(content(shown(module, records)[1])):      # something in it is cycles
        assert ".." in str(found)
        without = {title: sorted(unbracketed(row) for row in rows) for title, rows in found.items()}
        assert without.keys() == middle.keys()
        for title, rows in middle.items():
            assert len(without[title]) == len(rows), title
        if module not in BY_INTERVAL:
            assert sum(rows == middle[title] for title, rows in without.items()) >= len(middle) / 2


def unclaimed(tables):
    """Without what three layouts decide."""
    return {title: rows for title, rows in tables.items() if not title.startswith("What paper")}


def unbracketed(text):
    return re.sub(r" \([\d.,+-]+\.\.[\d.,+-]+\)", "", text)


@pytest.mark.parametrize("module", RECORDS)
def test_a_failed_run_is_left_out_and_all_failed_are_no_error(module):
    records = records_of(module)
    for one in records:
        failed = [other | ({"failure": "limit"} if other is one else {}) for other in copy.deepcopy(records)]
        failed[records.index(one)]["failure"] = "limit"
        summary, _, _ = shown(module, failed)
        assert [each["id"] for each in summary["failures"]] == [one["id"]]
    for one in records:
        one["failure"] = "limit"
    summary, tables, _ = shown(module, records)
    assert len(summary["failures"]) == len(records)


def test_every_module_is_tried():
    names = {path.stem for path in definition.FOLDER.glob("*.py")} - {"__init__"}
    assert names - ELSEWHERE == set(RECORDS)


# What no golden figure tells yet: it is of an answer, a plot or another table, or the same whichever is taken.
UNTOLD = {
    "andrew": {
        'max(hart["body_net_cycles"]["max"] for hart in harts)',
        'min((made for made in good if made["kind"] in ("whole", "slice")), '
        'key=lambda made: (-made["run"]["window"]["cycles"], made["id"]), default=None)',
        'sum(hart["accounting"].values())',
        'sum(hart["accounting"]["user"] for hart in harts)',
        'sum(row["cycles"].values())',
        'sum(sum(hart["accounting"].values()) - hart["accounting"]["idle"] for hart in harts)',
    },
    "webstone": {
        "max(others, key=lambda name: float(others[name]))",
        'min((row["harts"] for row in summary["load"]), default=None)',
        'min(loads, key=lambda made: (-made["run"]["window"]["cycles"], made["id"]), default=None)',
    },
    "livelock": {
        'max((row for row in rows if row["label"] == label), key=lambda row: row["offered"])',
        'max((row["delivered"] for row in own), key=float)',
        'max(float(row["offered"]) for row in rows)',
        "max(row['offered'] for row in rows)",
    },
    "krp": {
        'max((row["harts"], row["clients"]) for row in summary["rows"])',
        'max(row["clients"] for row in rows if row["harts"] == harts)',
        'sum(entry["attempts"] for entry in classes)',
        'sum(entry["wait_cycles"]["total"] for entry in classes)',
        "sum(held.values())",
    },
    "tcp_throughput": {
        "max(key[1] for key in of)",
        "max(key[2] for key in here)",
        "max(key[2] for key in of if key[1] == harts)",
        "max(key[3] for key in of if key[1:3] == (harts, size))",
        "max(of.values(), key=float)",
    },
    "tcp_cost": {
        'max(summary["wire"], key=lambda row: float(row["percent"]))',
        'min(summary["echo"], key=lambda row: float(row["cycles"]))',
        'min(times, key=lambda row: float(row["times"]))',
    },
    "master": {
        "max(place[3] for _, place in lost)",
        'min(row["section"] for row in summary["moves"])',
    },
    "scheduler": {
        'max((row["harts"] for row in summary["loads"]), default=0)',
    },
    "crtc": {
        "max((max(points) for points in of.values() if points), default=0)",
        "max(points)",
        "max(tree)",
        'max(values(summary["inserted"], "nodes"))',
        'max(values(summary["ones"], "depth"))',
        "min(PIECE, PAGE - begin)",
        "sum(size + FRAME + HEADERS for size in frames)",
    },
    "mpd": {
        "max(by_calls)",
        "max(held)",
        "min(by_calls)",
        'min(found, key=lambda key: (key[0] != "spl-optim", key[1], key[0]))',
        "min(held)",
    },
    "totals": {
        'max(rows, key=lambda row: float(row["ratio"]))',
    },
    "vm": {
        'max((row["children"] for row in summary["chain"]), default=0)',
        'max((row["harts"] for row in summary["parallel"]), default=0)',
        'max(found, default="-")',
        'max(row["parent"], row["first"], row["last"])',
    },
}
OTHER = {"min": "max", "max": "min", "sum": "max"}


def wrong_ones(module):
    """For each place in a report module where the least, the greatest or the sum of something is taken, the place and a
    module that takes the greatest, the least or one of them; and for each product in a sum, one without its weight. A
    bound by a number is left out."""
    loaded = importlib.import_module(f"sim.experiments.{module}")
    text = Path(loaded.__file__).read_text()
    tree = ast.parse(text)

    def other():
        made = types.ModuleType(loaded.__name__)
        made.__file__ = loaded.__file__
        exec(compile(tree, loaded.__file__, "exec"), made.__dict__)
        return made

    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in OTHER and not any(
                isinstance(argument, ast.Constant) for argument in call.args):
            place, was, of = " ".join(ast.get_source_segment(text, call).split()), call.func.id, call.args[0]
            call.func.id = OTHER[was]
            yield place, other()
            call.func.id = was
            if was == "sum" and isinstance(of, ast.GeneratorExp) and isinstance(of.elt, ast.BinOp) and isinstance(
                    of.elt.op, ast.Mult) and not isinstance(of.elt.left, ast.Constant):
                product, of.elt = of.elt, of.elt.left
                yield f"{place} without weights", other()
                of.elt = product


def golden_figures(loaded, module):
    """The tables of which there are golden figures, or the error."""
    records = records_of(module)
    try:
        summary = report.summarise(loaded, experiment_of(module, records), records)
        made = [comparison.table() for comparison in getattr(loaded, "comparisons", lambda _: [])(summary)]
        return {table.title: table.rows for table in made + loaded.tables(summary) if table.title in GOLDEN[module][1]}
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize("module", GOLDEN)
def test_golden_figures_tell_least_greatest_and_sum_apart(module):
    """So the made-up records have several values wherever one of these is taken, and the figures show which."""
    expected = golden_figures(importlib.import_module(f"sim.experiments.{module}"), module)
    same = {place for place, other in wrong_ones(module) if golden_figures(other, module) == expected}
    assert same == UNTOLD.get(module, set())
