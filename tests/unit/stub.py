"""A stub for the simulator: it leaves a record at once, or fails in the way that the boot arguments ask for."""

import json
import sys

from sim.experiments import definition
from sim.sweep.local import LocalPool
from sim.sweep.runner import Runner, Target

STUB = '''#!{python}
import json, pathlib, signal, sys, time
given = [word for word in sys.argv[1:] if word != "--checkpoint-stop"]
options = dict(zip(given[::2], given[1::2]))
pokes = dict(value.split("=") for name, value in zip(given[::2], given[1::2]) if name == "--poke")
words = dict(word.split("=") for word in options["--bootargs"].split())
out = pathlib.Path(options["--out"])
plan = json.loads(pathlib.Path({plan!r}).read_text()).get(out.name, {{}})
with open({log!r}, "a") as log:
    log.write(out.name + "\\n")
latency = int((words | pokes).get("link_read_latency", words.get("link_latency", 0)))
if "--restore" in options:
    assert pathlib.Path(options["--restore"]).read_text() == options["--bootargs"]
if "--checkpoint" in options and not plan.get("status"):
    pathlib.Path(options["--checkpoint"]).write_text(options["--bootargs"])
status, reason = plan.get("status", 0), plan.get("reason")
(out / "console.txt").write_text("booting\\n" + plan.get("console", ""))
if plan.get("sleep") and not (plan.get("once") and pathlib.Path({log!r}).read_text().split().count(out.name) > 1):
    def interrupted(*_):
        global status, reason
        status, reason = 130, "interrupted"
        raise KeyboardInterrupt
    signal.signal(signal.SIGINT, interrupted)
    try:
        print("cycles 1,000", flush=True)
        time.sleep(plan["sleep"])
    except KeyboardInterrupt:
        pass
if plan.get("no_memory"):
    print("terminate called after throwing an instance of 'std::bad_alloc'", flush=True)
    signal.raise_signal(signal.SIGABRT)
if plan.get("kill"):
    signal.raise_signal(signal.SIGKILL)
spread = {{"count": 10, "total": 600, "min": 50, "max": 90}}
hart = {{"entered": 12, "outermost": 10, "queued": 3, "sections_interrupted": 2, "body_cycles": spread,
        "body_net_cycles": spread, "enter_cycles": {{"total": 12 * (10 + latency)}},
        "leave_cycles": {{"total": 12 * (8 + latency)}}}}
if words["run"] == "table5":
    costs = {{"spl-pessim": 10 + 2 * latency, "spl-optim": 9, "cli-pessim": 6, "cli-optim": 8, "cli-spl-pessim": 6}}
    results = {{"table5": [{{"primitive": "off-chip" if scheme == "spl-pessim" else "x", "scheme": scheme,
                           "cycles_per_pair": cost, "loop_cycles": 2, "iterations": int(words["iterations"])}}
                          for scheme, cost in costs.items()]}}
elif words["run"] == "synthetic":
    results = {{"synthetic": [{{"hart": 0, "sections": 100, "cycles": 60000, "interrupts": 7}}],
               "arrivals": [{{"arrivals": 7, "lost": 0, "spurious": 5}}]}}
else:
    sent = pathlib.Path(options["--uart1-in"]).read_bytes()
    got = sent[:plan.get("received", len(sent))]
    if "damage" in plan:
        got = bytes([got[0] ^ 1]) + got[1:]
    (out / "blob-1.bin").write_bytes(got)
    results = {{"serial": [{{"bytes": len(got), "overruns": plan.get("overruns", 0), "dropped": 0, "interrupts": 7,
                           "cycles": 60000}}]}}
if plan.get("mute"):
    results = {{}}
record = {{"cycles": 70000, "window": {{"cycles": 60000}}, "harts": [{{"statistics": hart}}], "results": results,
          "serial": {{"uart1": {{"feed_began": 0, "feed_ended": plan.get("feed_ended", 60000)}}}},
          "reason": reason, "digest": plan.get("digest", "0123456789abcdef"), "host": {{"seconds": time.time()}}}}
text = json.dumps(record)
(out / "run.json").write_text(text[:len(text) // 2] if plan.get("truncate") else text)
sys.exit(status)
'''


class Bench:
    """Makes runners of an experiment over the stub; `plan[id]` gives the outcome of a run."""

    def __init__(self, folder):
        self.folder = folder
        self.plan = {}
        self.files = folder / "files"       # apart, so that a test can hide them from a worker
        self.files.mkdir()
        self.simulator = self.files / "simulator"
        self.image = b"image"
        self.log = folder / "order.txt"
        plan = folder / "plan.json"
        self.simulator.write_text(STUB.format(python=sys.executable, plan=str(plan), log=str(self.log)))
        self.simulator.chmod(0o755)

    def runner(self, *overrides, out="out", jobs=2, experiment="pic-latency", pool=None, **options):
        (self.folder / "plan.json").write_text(json.dumps(self.plan))
        if experiment == "pic-latency" and not any(override.startswith("falls=") for override in overrides):
            overrides = ("falls=none", *overrides)      # one kind of runs under the serial load is enough
        experiment = definition.load(experiment) if isinstance(experiment, str) else experiment
        runner = Runner(experiment, experiment.settings(overrides), self.folder / out, pool or LocalPool(jobs),
                        60_000_000, **options)
        machines = {machine for machine, *_ in runner.targets()}
        runner.prepare({"g++": "12"}, {machine.label: {"harts": machine.harts} for machine in machines})
        return runner

    def targets(self, runner):
        return {target: Target(self.simulator, self.image_of(target)) for target in runner.targets()}

    def image_of(self, target):
        """An image of its own for each target, as runs differ by content."""
        machine, sync, _, runs = target
        path = self.files / ("-".join([machine.label, sync, *runs]) + ".elf")
        path.write_bytes(self.image + repr(target).encode())
        return path

    def run(self, *overrides, report=lambda _: None, **options):
        runner = self.runner(*overrides, **options)
        runner.execute(self.targets(runner), report)
        return runner

    def order(self):
        """Identities of the runs in the order they were started."""
        return self.log.read_text().split()
