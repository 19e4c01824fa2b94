"""Machines in experiments: what a file and `--machine` may say, how runs vary over it, and that runs differ by it."""

import dataclasses

import pytest

from sim.commands.common import describe, machine_of
from sim.experiments import definition
from sim.experiments.machine import DEVICES, ENTRIES, Machine
from sim.experiments.schema import SettingError
from sim.results import record
from sim.results.page import experiment as page
from sim.sweep import boot
from sim.sweep.runner import build_targets, task_of
from sim.sweep.worker import File
from soc.config import SoCConfig
from tests.unit.test_experiment_files import load as template

CLOCK_HZ = 60_000_000
SMALL = ("harts=1", "link_latency=0", "schemes=spl-pessim", "size=16", "sweep=1000")


def load(folder, tables):
    return template(folder, ("# Values with which", f"{tables}\n# Values with which"))


def runs(experiment, *settings):
    return experiment.runs(experiment.settings(settings), CLOCK_HZ)


def test_every_parameter_of_a_soc_is_there_but_the_harts_and_has_its_default():
    fields = {field.name: field.default for field in dataclasses.fields(SoCConfig) if field.name != "harts"}
    assert {name: entry.default for name, entry in ENTRIES.items() if entry.table == "machine"} == fields
    assert Machine.of(2, {}).config() == SoCConfig(harts=2)


def test_a_file_says_what_its_runs_run_on(tmp_path):
    experiment = load(tmp_path, '[machine]\ntlb_entries = 2\nclock_hz = 1_000_000\n[devices]\npic = "pins"\n'
                                '[nodes]\ncount = 1')
    one, *_ = runs(experiment, "link_latency=75")
    assert one.id == "pair-l75"
    assert one.machine.config() == SoCConfig(harts=1, tlb_entries=2, clock_hz=1_000_000) and one.machine.two_chips
    assert {name: one.parameters[name] for name in ("tlb_entries", "clock_hz", "device_pic", "nodes")} == {
        "tlb_entries": 2, "clock_hz": 1_000_000, "device_pic": "pins", "nodes": 1}


def test_runs_vary_over_lists_and_settings_change_them(tmp_path):
    experiment = load(tmp_path, '[machine]\ntlb_entries = [2, 4]\nprediction = "none"')
    assert [run.id for run in runs(experiment, "link_latency=0,75")] == [
        "pair-l0-tlb_entries2", "pair-l0-tlb_entries4", "pair-l75-tlb_entries2", "pair-l75-tlb_entries4"]
    changed = runs(experiment, "link_latency=0", "tlb_entries=8", "prediction=static,dynamic")
    assert [(run.id, run.machine.label) for run in changed] == [
        ("pair-l0-predictionstatic", "1 prediction=static tlb_entries=8"),
        ("pair-l0-predictiondynamic", "1 prediction=dynamic tlb_entries=8")]
    assert runs(experiment.on(["tlb_entries=16"]), "link_latency=0")[0].machine.config().tlb_entries == 16


def test_bootargs_and_estimates_know_the_machine(tmp_path):
    experiment = template(
        tmp_path, ("# Values with which", "[machine]\ntlb_entries = [2, 4]\nclock_hz = 1_000_000\n# Values with which"),
        ("link_latency={link_latency}", "link_latency={link_latency} threads={tlb_entries}"),
        ("300_000 +", "clock_hz + tlb_entries +"))
    one, two = runs(experiment, "link_latency=0", "iterations=10")
    assert " threads=2 " in one.bootargs and " threads=4 " in two.bootargs
    assert (one.cycles, two.cycles) == (1_000_000 + 2 + 1500, 1_000_000 + 4 + 1500)


@pytest.mark.parametrize("tables, said", [
    ("[machine]\ntlb_entires = 2", "unknown entry in machine 'tlb_entires', did you mean 'tlb_entries'? (valid: "),
    ("[machine]\nharts = 2", "machine harts: each kind of runs says how many"),
    ("[machine]\ntlb_entries = 3", "tlb_entries=3: give a power of two from 2 to 16"),
    ("[machine]\ntlb_entries = [2, 3]", "tlb_entries=3: give a power of two"),
    ("[machine]\ntlb_entries = []", "machine tlb_entries"),
    ("[machine]\ntlb_entries = \"2\"", "machine tlb_entries: '2' is not a whole number"),
    ("[machine]\ntlb_entries = true", "machine tlb_entries: True is not a whole number"),
    ("[machine]\nprediction = 1", "machine prediction: 1 is not a word"),
    ("[machine]\nprediction = \"oracle\"", "prediction=oracle: give none, static or dynamic"),
    ("[machine]\nprediction = \"none\"\n[keys.prediction]\nhelp = \"x\"\ndefault = 1\nrange = [0, 1]",
     "machine prediction: there is a key 'prediction', too"),
    ("[devices]\npik = \"pins\"", "unknown entry in devices 'pik', did you mean 'pic'? (valid: pic)"),
    ("[devices]\npic = \"pin\"", "unknown value of devices pic: 'pin', did you mean 'pins'? (valid: link, pins)"),
    ("[nodes]\ncuont = 2", "unknown entry in nodes 'cuont', did you mean 'count'?"),
    ("[nodes]\ncount = 65", "nodes count: 65 is out of range, give 1 to 64"),
    ("[nodes]\nwire = \"radio\"", "unknown value of nodes wire: 'radio'"),
    ("[nodes]\nlatency = 0", "nodes latency: 0 is out of range, give 1 to 1000000"),
    ("[machin]\ntlb_entries = 2", "unknown entry 'machin', did you mean 'machine'?"),
])
def test_what_cannot_be_gets_one_line(tmp_path, tables, said):
    with pytest.raises(SettingError) as caught:
        load(tmp_path, tables)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("texts, said", [
    (["tlb_entries"], "--machine tlb_entries: give it as name=value"),
    (["tlb_entres=2"], "unknown entry of --machine 'tlb_entres', did you mean 'tlb_entries'?"),
    (["harts=2"], "--machine harts: give --harts"),
    (["tlb_entries=two"], "machine tlb_entries: 'two' is not a whole number"),
    (["tlb_entries=2,4"], "machine tlb_entries: '2,4' is not a whole number"),
    (["icache_bytes=0"], "icache_bytes=0: "),
    (["nodes=2"], "--machine nodes: it says what one machine is; sim has --nodes"),
])
def test_a_wrong_option_gets_one_line(texts, said):
    with pytest.raises(SettingError) as caught:
        machine_of(1, texts)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_report_of_one_machine_is_not_given_several():
    pic_latency = definition.load("pic-latency")
    for given, said in ((["tlb_entries=2,4"], "takes all runs to be of one machine"),
                        (["nodes=2"], "the report of pic-latency reads runs of one machine, leave it out"),
                        (["tlb_entries="], "empty"), (["seed=1"], "unknown entry of --machine 'seed'")):
        with pytest.raises(SettingError, match=said):
            pic_latency.on(given)
    with pytest.raises(SettingError, match="tlb_entries=3: give a power of two"):
        changed = pic_latency.on(["tlb_entries=3"])
        changed.runs(changed.settings([]), CLOCK_HZ)


def test_every_entry_makes_other_targets_boots_and_labels(tmp_path):
    def other(entry):
        if entry.table == "devices":
            return entry.choices[-1]
        return {int: lambda: entry.default // 2 or 1, bool: lambda: not entry.default, str: lambda: "none"}[
            entry.type]()

    plain = runs(load(tmp_path, ""), "link_latency=0")[0]
    plain = dataclasses.replace(plain, checkpoint="event:1")
    seen = [plain]
    for entry in ENTRIES.values():
        if entry.table == "nodes":
            continue        # the simulator is told of them: test_nodes_are_of_one_build
        run = dataclasses.replace(plain, on=((entry.name, other(entry)),))
        assert Machine.of(run.harts, dict(run.on)) == run.machine
        seen.append(run)
    assert len({run.target for run in seen}) == len({boot.of(run).id for run in seen}) == len(seen)
    assert len({run.machine.label for run in seen}) == len(seen) == 1 + len(SoCConfig.__dataclass_fields__) - 1 + len(
        DEVICES)


def test_each_machine_is_built_once_and_is_what_was_asked_for():
    experiment = definition.load("boot-once").on(["tlb_entries=2,4", "device_pic=pins"])
    built = []

    def simulator(config, two_chips):
        built.append((config.tlb_entries, two_chips))
        return f"simulator {config.tlb_entries}"

    def kernel(config, sync, options, runs):
        return f"kernel {config.tlb_entries}"
    targets = build_targets({run.target for run in runs(experiment, "link_latency=0,75")}, simulator, kernel,
                            lambda *_: None)
    assert built == [(2, True), (4, True)]
    assert {(target.simulator, target.image) for target in targets.values()} == {
        ("simulator 2", "kernel 2"), ("simulator 4", "kernel 4")}


def test_a_program_of_a_kind_of_runs_is_in_its_images_alone(monkeypatch):
    from sim.images import programs
    monkeypatch.setattr(programs, "build_program", lambda files: files[0])
    experiment = definition.load("tcp-cost")
    wanted = {run.target for run in runs(experiment, "kernels=krp", "counts=4")}
    held = {}

    def kernel(config, sync, options, runs, files=None):
        held[tuple(runs), tuple(options.items()), tuple(files or ())] = files
        return "kernel"
    build_targets(wanted, lambda *_, **__: "simulator", kernel, lambda *_: None)
    assert {(*names, *of) for names, _, of in held} == {("user",), ("user", "netcost"), ("tcp-floor",),
                                                      ("intr-latency",)}
    assert [files for files in held.values() if files] == [{"netcost": programs.USER / "commands/netcost.c"}]


def test_a_record_has_its_machine_and_a_resumed_run_too(bench):
    experiment = definition.load("boot-once").on(["tlb_entries=2,4"])
    runner = bench.runner("link_latency=0", experiment=experiment)
    runner.execute(bench.targets(runner), lambda _: None)
    context, records = record.read(runner.out)
    assert [made["id"] for made in records] == ["booted-l0-tlb_entries2", "booted-l0-tlb_entries4",
                                                "restored-l0-tlb_entries2", "restored-l0-tlb_entries4"]
    assert [made["parameters"]["tlb_entries"] for made in records] == [2, 4, 2, 4]
    assert set(context["soc"]) == {"1 tlb_entries=2", "1 tlb_entries=4"}
    again = definition.load("boot-once").with_machine_of(context["settings"])
    assert set(again.keys) == set(context["settings"])
    assert [run.id for run in again.runs(context["settings"], CLOCK_HZ)] == context["runs"]
    listing = next(listing for listing in page.made_with(context) if listing.title == "Machine")
    assert [name for name, _ in listing.pairs] == ["1 hart, tlb_entries=2", "1 hart, tlb_entries=4"]


def test_what_a_record_says_of_a_machine(monkeypatch):
    asked = []

    class Made:
        fingerprint = 5

    monkeypatch.setattr("soc.build.generate_soc", lambda config, two_chips: asked.append(two_chips) or Made)
    said = describe(Machine.of(2, {"device_pic": "pins", "tlb_entries": 8}))
    assert asked == [True]
    assert (said["harts"], said["tlb_entries"], said["device_pic"], said["fingerprint"]) == (
        2, 8, "pins", f"{5:016x}")


def test_nodes_are_of_one_build(tmp_path):
    """The simulator gets the number and the wires of nodes; they boot as one machine."""
    experiment = definition.load("ring")
    made = runs(experiment, "bytes=1")
    assert sorted({(run.parameters["nodes"], run.parameters["nodes_latency"]) for run in made}) == [
        (2, 60), (2, 6000), (4, 60), (4, 6000), (8, 60), (8, 6000)] and len({run.id for run in made}) == len(made) == 6
    assert len({run.target for run in made}) == len({boot.of(run).id for run in made}) == 1
    files = {name: File("", "") for name in ("simulator", "image")}
    words = {" ".join(task_of(run, files).arguments) for run in made}
    assert len(words) == 6 and all("--nodes 2 --jobs 1 --wire 0.uart1:1.uart1:60" in word for word in words
                                   if "uart1:60" in word and "--nodes 2" in word)
    assert "--nodes" not in task_of(boot.of(made[0]), files).arguments


def test_input_is_for_a_machine_alone(tmp_path):
    experiment = dataclasses.replace(definition.load("serial-loss"), report=None).on(["nodes=2"])
    with pytest.raises(SettingError, match="the data lines of several nodes are joined, leave out input"):
        runs(experiment)
