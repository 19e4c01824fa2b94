"""Every parameter, each way in which it is set on the command line: possible values are accepted, others refused
in one line that names them, before anything is built."""

import re
from pathlib import Path

import pytest
import typer

from sim.cli import app
from sim.commands import common, simulate
from sim.commands.common import Failed
from sim.experiments.schema import SettingError
from sim.images import kernel
from support.cache import REPO
from support.parameters import boot, drive, headers, reference, simulator
from support.parameters.build import OPTIONS, SYNC
from support.parameters.declared import ParameterError
from support.parameters.machine import DEVICES, MACHINE, REGISTERS

COMMAND = typer.main.get_command(app)
ALONE = {"icache_bytes", "icache_ways", "dcache_bytes", "dcache_ways"}    # a cache's ways have 1 to 4 KiB each


class Reached(Exception):
    """All arguments have been accepted; building would begin."""


@pytest.fixture(autouse=True)
def nothing_is_built(monkeypatch):
    def reached():
        raise Reached
    monkeypatch.setattr(simulate, "check_tools", reached)


def answer(*arguments):
    """What `sim` says, one line; None if it would build."""
    try:
        COMMAND.main(["sim", *map(str, arguments)], prog_name="interlock", standalone_mode=False)
    except Reached:
        return None
    except (Failed, SettingError, ParameterError) as error:
        return str(error)
    except typer.TyperException as error:
        return error.format_message()
    raise AssertionError("it ended without a word")


def possible(parameter):
    if parameter.range:
        return [value for value in dict.fromkeys((*parameter.range, parameter.default)) if value is not None]
    return parameter.choices or ["word"]


def impossible(parameter):
    if parameter.range:
        low, high = parameter.range
        return [low - 1, high + 1, "x", "", "1.5", *([high - 1] if parameter.power else [])]
    return ["nonsense", ""] if parameter.choices else []


@pytest.fixture(scope="module")
def run_of():
    """File below kernel/ -> a run that reads its boot arguments."""
    found = {}
    for name in kernel.runs():
        held = kernel.checked_runs([name])
        for file in kernel._files_of(held) if held else ():
            found.setdefault(file, name)
    return found


def check(parameter, *way, named=None):
    """`way` ends with the text before the value."""
    *options, before = way
    for value in possible(parameter):
        assert answer(*options, f"{before}{value}") is None, (parameter.name, value)
    for value in impossible(parameter):
        said = answer(*options, f"{before}{value}")
        assert said and "\n" not in said and (named or parameter.name) in said, (parameter.name, value, said)


def test_parameters_of_the_machine():
    for name, parameter in (MACHINE | {one.name: one for one in DEVICES.values()}).items():
        if name != "harts" and name not in ALONE:
            check(parameter, "--machine", f"{name}=", named=name.replace("device_", "devices "))
    assert "icache_bytes=16384" in answer("--machine", "icache_bytes=16384", "--machine", "icache_ways=1")
    assert answer("--harts", "8") is None and "harts=9" in answer("--harts", "9")


def test_build_options():
    serial = {"unix": "serial"}
    for name, parameter in OPTIONS.items():
        if name not in ("unix", "locks", "layout"):
            check(parameter, "--option", f"{name}=")
        for value in ("nonsense", ""):
            assert name in answer("--option", f"{name}={value}")
    assert "alloc=one only" in answer("--option", "alloc=groups", *(f"--option={k}={v}" for k, v in serial.items()))
    for scheme in SYNC.choices:
        assert answer("--sync", scheme) is None
    assert "'spl'" in answer("--sync", "spl")


def test_boot_arguments_of_every_image():
    for parameter in boot.KERNEL:
        if parameter.name != boot.RUN:
            check(parameter, "--set", f"{parameter.name}=")


def test_boot_arguments_of_each_run(run_of):
    assert not set(boot.OF_FILES) - set(run_of), "files whose boot arguments no run reads"
    for file, parameters in boot.OF_FILES.items():
        for parameter in parameters:
            check(parameter, "--set", f"run={run_of[file]}", "--set", f"{parameter.name}=")
    assert "this run does not read it" in answer("--set", "run=hello", "--set", "iterations=1")
    assert "did you mean 'iterations'" in answer("--set", "run=table5", "--set", "iteratoins=1")
    assert "given twice" in answer("--set", "hz=1", "--set", "hz=2")


def test_registers():
    for name, parameter in REGISTERS.items():
        on = ["--machine", "device_pic=pins"] if name.startswith("cable_") else []
        check(parameter, *on, "--seed", 0, "--poke", f"{name}=")
        if "boot" in parameter.ways:
            said = answer("--set", f"{name}=1", "--poke", f"{name}=2")
            assert f"--set {name}=2" in said and answer("--set", f"{name}=1", "--poke", f"{name}=2@9") is None
    assert "device_pic=pins" in answer("--poke", "cable_cut=1")
    assert "--set link_seed=7" in answer("--poke", "link_seed=7")
    assert "link_latency" in answer("--set", "link_latency=7", "--poke", "link_write_latency=8")
    for text in ("link_jitter", "link_jitter=", "=3", "link_jitter=3@", "link_jitter=3@x"):
        assert "NAME=VALUE" in answer("--poke", text)


def test_what_cannot_be_written_is_refused_before_anything_is_built(tmp_path):
    """Each option that names a file or a folder to be written, and each place where none can be."""
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    of_sim = {option for parameter in COMMAND.commands["sim"].params for option in parameter.opts}
    to_write = [name for name, one in simulator.OPTIONS.items()
                if one.of == simulator.FILE or name in ("out", "checkpoint")]
    ways = [(name, [f"--{name}="]) for name in to_write if f"--{name}" in of_sim]
    ways += [(name, ["--nodes=2", f"--node=1:{name}="]) for name in to_write if name in simulator.OF_ONE_NODE]
    ways += [("ether", ["--machine=ethers=1", "--ether=out="])]
    assert len(ways) > 14
    for name, (*options, before) in ways:
        wrong = ["/proc/x", "/proc/x/y", tmp_path / "file/x", *([tmp_path / "file"] if name == "out" else
                                                                [tmp_path / "folder", tmp_path / "none/x"])]
        for place in wrong:
            said = answer(*options, f"{before}{place}")
            assert said and "\n" not in said and str(place) in said and name in said, (name, place, said)
        right = [tmp_path / "new", *([tmp_path / "folder", tmp_path / "none/x"] if name == "out" else
                                     [tmp_path / "file", "/dev/null"])]
        for place in right:
            assert answer(*options, f"{before}{place}") is None, (name, place)
    assert answer("--out", tmp_path / "o", "--samples", tmp_path / "o/x") is None
    assert answer("--nodes=2", "--out", tmp_path / "o", "--node", f"1:samples={tmp_path}/o/node-1/x") is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]       # nothing is left of a look
    for place in ("/proc/x", tmp_path / "file/x"):
        with pytest.raises(Failed, match="--out.*written"):
            common.results_directory("any", Path(place))


def test_options_of_the_simulator():
    of_sim = {option for parameter in COMMAND.commands["sim"].params for option in parameter.opts}
    both = [one for name, one in simulator.OPTIONS.items() if f"--{name}" in of_sim]
    assert len(both) > 20
    for one in both:
        if one.range:
            check(one, *(["--nodes=256"] if one.name == "ranks" else []), f"--{one.name}=")
    check(simulator.OPTIONS["uart1-baud"], "--baud=", named="--baud")
    for name in simulator.OF_ONE_NODE:
        one = simulator.OPTIONS[name]
        if one.range or one.choices:
            check(one, "--nodes", 2, "--node", f"1:{name}=")
    for name in ("out", "jobs", "quiet", "sed", ""):
        assert f"'{name}'" in answer("--nodes", 2, "--node", f"1:{name}=1") or not name


@pytest.mark.parametrize("option", ["baud", "latency", "harts"])
def test_numbers_of_other_names_beyond_their_range_are_refused_first(option):
    for value in (10 ** 30, -10 ** 30, "1e3", "", "x"):
        assert answer(f"--{option}", value)


def test_drives(tmp_path):
    image = tmp_path / "image"
    image.write_bytes(bytes(1024))
    for parameter in drive.FIELDS.values():
        check(parameter, "--disk", f"{image},{parameter.name}=")
    for profile in drive.PROFILES:
        assert answer("--disk", f"{image},profile={profile},write=copy,bad=3:1,bad=4,silent=2,cut=9,left=8") is None
    (tmp_path / "odd").write_bytes(bytes(1000))
    for text, said in (("", "no image"), ("/none", "no such file"), (tmp_path / "odd", "sectors of 512"),
                       (f"{image},profile=ssd", "no profile 'ssd'"), (f"{image},bad=3:0", "bad 0 times"),
                       (f"{image},write=yes", "write=yes"), (f"{image},wirte=no", "did you mean 'write'")):
        assert said in answer("--disk", text), text
    assert "fewer drives" in answer("--machine", "disks=1", "--disk", image, "--disk", image)


@pytest.mark.parametrize("name", ["a,b.img", ",", "a,,b", "a,write=copy", "a,bad=1,b", ",,", "a=b,c", "a,profile=ide"])
def test_a_drives_path_may_hold_commas(tmp_path, name):
    image = tmp_path / name
    missing = tmp_path / "no,such"
    assert answer("--disk", f"{missing},profile=ide") == f"--disk {missing}: there is no such file"
    image.write_bytes(bytes(1024))
    for more in ([], ["profile=scsi"], ["bad=3:1", "write=no", "bad=4"]):
        text = ",".join([str(image), *more])
        assert drive.parted(text) == (str(image), more)
        assert answer("--disk", text) is None
    assert "did you mean 'write'" in answer("--disk", f"{image},wirte=no")


@pytest.mark.parametrize("arguments, said", [
    (["--send", "/none"], "--send /none: there is no such file"),
    (["--image", "/none"], "--image /none: there is no such file"),
    (["--restore", "/none"], "--restore /none: there is no such file"),
    (["--restore", "/dev/zero"], "--restore /dev/zero: this is no file"),
    (["--disk", "/dev/zero"], "--disk /dev/zero: this is no file"),
    (["--file", "/none"], "--file /none: there is no such file"),
    (["--machine", "ethers=1", "--ether", "in=/none"], "--ether in /none: there is no such file"),
    (["--machine", "ethers=1", "--ether", "mbits=11"], "give 10, 100 or 1000"),
    (["--machine", "ethers=1", "--ether", "unplug=3"], "unplug=A:B"),
    (["--checkpoint-at", "noon"], "cycle:N"),
    (["--wave-begin", "x"], "give N, cycle:N"),
    (["--nodes", "2", "--node", "2:poke=hz=1"], "the nodes 0 to 1"),
    (["--nodes", "2", "--node", "1:poke=hz=1"], "no register 'hz'"),
    (["--nodes", "2", "--node", "1:uart1-in=/none"], "no such file"),
    (["--nodes", "2", "--node", "1"], "K:OPTION=VALUE"),
])
def test_what_is_given_beside_is_checked_first(arguments, said):
    assert said in answer(*arguments)


def test_what_the_kernel_reads_is_what_is_declared():
    """Each declared boot argument is read by its file, and by no other name than BOOT's."""
    texts = {path: path.read_text() for path in (REPO / "kernel").rglob("*.[ch]") if "host" not in path.parts}
    read = set()
    for path, text in texts.items():
        if path.name == "bootargs.h":
            continue
        found = re.findall(r"\bBOOT(?:_OR|_WITHIN)?\((\w+), (\w+)", text)
        file = path.relative_to(REPO / "kernel").with_suffix("").as_posix()
        assert all(owner in ("kernel", headers.identifier(file)) for owner, _ in found), path
        read |= set(found)
        assert not re.search(r'bootargs_\w+\("', text), path
    declared = {("kernel", headers.identifier(one.name)) for one in boot.KERNEL} | {
        (headers.identifier(file), headers.identifier(one.name)) for file, of_file in boot.OF_FILES.items()
        for one in of_file}
    assert read == declared


def test_every_parameter_is_listed_and_found_by_its_words(capsys):
    page = reference.page()
    for one in (*MACHINE.values(), *OPTIONS.values(), *boot.KERNEL, *drive.FIELDS.values()):
        assert f"| `{one.name}` |" in page, one.name
    COMMAND.main(["parameters", "held", "RAM"], prog_name="interlock", standalone_mode=False)
    said = capsys.readouterr().out
    assert "ram_read_latency" in said and "link_read_latency" not in said and "Drives" not in said
    with pytest.raises(Failed, match="no parameter has 'latency' and 'nonsense'"):
        COMMAND.main(["parameters", "latency", "nonsense"], prog_name="interlock", standalone_mode=False)


def test_names_are_completed(monkeypatch, capsys):
    for words, wanted in (("--machine li", "link_read_latency="), ("--option spin", "spinlock="),
                          ("--set net.q", "net.quota="), ("--sync cli-s", "cli-spl-pessim"),
                          ("--node 1:sam", "1:samples=")):
        line = f"interlock sim {words}"
        monkeypatch.setenv("_INTERLOCK_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
        with pytest.raises(SystemExit):
            app(prog_name="interlock", standalone_mode=False)
        assert wanted in capsys.readouterr().out.split(), words
