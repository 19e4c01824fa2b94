"""An experiment on a board that is a program of this machine: records, report, and a board's limits."""


import pytest

from sim.board import machine
from sim.board.board import Identity
from sim.board.link import LinkError
from sim.board.protocol import State
from sim.commands.common import Failed
from sim.commands.run import carry_out_on_board, resume
from sim.experiments import definition, pic_latency
from sim.results import record
from sim.results.report import summarise
from soc.boards.config import board_config
from tests.unit.board.far_end import bad_line
from tests.unit.board.image import make_image

EXPERIMENT = """
description = "a test"
console_baud = 6000000
quick = {}
[keys.seed]
help = "seed"
default = 3
range = [0, 9]
[keys.harts]
help = "harts"
default = [2]
range = [1, 8]
[keys.loops]
help = "how much"
default = [1, 2]
range = [1, 99]
[[runs]]
name = "loop"
vary = { harts = "harts", loops = "loops" }
sync = "spl-optim"
bootargs = "run=loop loops={loops}"
result = "done"
cycles = "1000 * loops"
[[collect]]
title = "What was done"
query = "select id from runs order by id"
"""


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """The experiment above, for a board whose image is a test's."""
    path = tmp_path / "loops.toml"
    path.write_text(EXPERIMENT)
    image = make_image(tmp_path)
    monkeypatch.setattr(machine, "config_of", lambda identity: board_config("sim", harts=2))
    monkeypatch.setattr("sim.images.kernel.build_kernel", lambda config, sync, options, runs: image)
    monkeypatch.setattr(definition, "checked_bootargs", lambda words: None)     # they are that image's
    return definition.load(str(path))


def run(experiment, line, out, *settings):
    carry_out_on_board(experiment, experiment.settings(settings), out, str(line.device), 1, 3_000_000, False)


def test_an_experiment_leaves_records_and_the_same_report(experiment, tmp_path, capfd):
    out = tmp_path / "out"
    with bad_line(tmp_path, changed=0.0002) as line:
        run(experiment, line, out)
    _, records = record.read(out)
    assert [made["id"] for made in records] == ["loop-h2-loops1", "loop-h2-loops2"]
    assert all(made["failure"] is None for made in records)
    assert records[0]["run"]["results"] == {"done": [{"words": 1, "real": 2.5, "hex": 16, "flag": True}]}
    assert records[0]["soc"]["board"] == "sim" and records[0]["soc"]["fingerprint"] == "0123456789abcdef"
    said = capfd.readouterr().out
    assert "What was done" in said and "Carried out on a board" in said
    assert "far end, 2 harts, 60 MHz, build 0123456789abcdef" in said
    assert "No observer watches a board from outside" in (out / "report.md").read_text()
    assert (out / "report.html").exists() and (out / "tables/interrupts.parquet").exists()


def test_what_was_begun_on_a_board_goes_on_there(experiment, tmp_path):
    out = tmp_path / "out"
    with bad_line(tmp_path) as line:
        run(experiment, line, out)
        (out / "runs/loop-h2-loops2/record.json").unlink()
        kept = (out / "runs/loop-h2-loops1/record.json").read_text()
        with pytest.raises(Failed, match="was begun on a board: give its --port DEVICE"):
            resume(out)
        resume(out, port=str(line.device), slowdown=1, baud=3_000_000)
    assert (out / "runs/loop-h2-loops1/record.json").read_text() == kept
    assert (out / "runs/loop-h2-loops2/record.json").exists()


def test_a_board_that_is_lost_fails_the_run_in_one_line(experiment, tmp_path, monkeypatch, capfd):
    with bad_line(tmp_path) as line:
        begin = machine.BoardMachine.targets

        def cut(self, *rest):
            line.cut()
            return begin(self, *rest)
        monkeypatch.setattr(machine.BoardMachine, "targets", cut)
        with pytest.raises(Failed, match="^2 of 2 runs failed, see above and "):
            run(experiment, line, tmp_path / "out")
    said = capfd.readouterr().err
    assert "FAILED loop-h2-loops1: the board could not be worked with: error: " in said
    assert "ttyBOARD cannot be opened: No such file or directory" in said
    assert "interlock board boot --image" in said


def test_harts_that_a_board_has_not_are_told(experiment, tmp_path):
    with bad_line(tmp_path) as line, \
            pytest.raises(Failed, match="^the board has 2 harts, the runs want 1, 4: give --set harts=2$"):
        run(experiment, line, tmp_path / "out", "harts=1,4")


def test_checkpoints_are_the_simulators():
    chosen = definition.load("boot-once")
    runs = chosen.runs(chosen.settings([]), 60_000_000)
    assert "go on from checkpoints, which only the simulator has" in machine.unfit(chosen, runs, runs[0].harts)


def test_drives_are_the_boards_and_frames_the_simulators():
    chosen = definition.load("file-rate")
    runs = chosen.runs(chosen.settings([]), 60_000_000)
    assert machine.unfit(chosen, runs, 1) is None
    board = object.__new__(machine.BoardMachine)
    board.config = board_config("sim", harts=1)
    assert board.lacks(runs) == "the runs want disks=1, the board has 0: leave out --target"
    board.config = board_config("sim", harts=1, disks=1)
    assert board.lacks(runs) is None
    chosen = definition.load("table7")
    runs = chosen.runs(chosen.settings([]), 60_000_000)
    assert "frames come from the simulator's Ethernet wire" in machine.unfit(chosen, runs, runs[0].harts)


def identity(**changes):
    known = {"name": "sim", "fingerprint": 1, "harts": 2, "clock_hz": 60_000_000, "ram_base": 0x4000_0000,
             "ram_bytes": 1 << 25, "room": 256, "state": State.STATE_IDLE}
    return Identity(**(known | changes))


def test_a_board_of_another_tree_is_refused(monkeypatch):
    monkeypatch.setattr(machine, "generate_config", lambda config: type("Made", (), {"fingerprint": 2}))
    with pytest.raises(LinkError, match="is build 0000000000000001, this tree makes 0000000000000002 for"):
        machine.config_of(identity())
    assert machine.config_of(identity(fingerprint=2)).harts == 2
    with pytest.raises(LinkError, match="the board says that it is 'toaster', which this tree does not have"):
        machine.config_of(identity(name="toaster"))


def test_figures_of_an_observer_are_left_out_and_told():
    board = {"name": "ulx3s", "harts": 1, "clock_hz": 60_000_000, "fingerprint": "00000000000000aa"}
    pair = {"scheme": "spl-pessim", "primitive": "off-chip", "cycles_per_pair": 30}
    records = [{"id": "table5-l0", "kind": "table5", "failure": None, "parameters": {"link_latency": 0},
                "run": {"board": board, "results": {"table5": [pair]}}},
               {"id": "serial-h1", "kind": "serial", "failure": None, "run": {"board": board, "results": {}}}]
    experiment = {"experiment": "pic-latency", "settings": {}, "notes": [], "clock_hz": 60_000_000,
                  "runs": ["table5-l0", "serial-h1"]}
    summary = summarise(pic_latency, experiment, records)
    assert summary["pair_cycles"] == {"0": {"spl-pessim": 30}} and summary["serial"] == []
    assert summary["unseen"] == ["serial-h1"]
    assert summary["boards"] == ["ulx3s, 1 harts, 60 MHz, build 00000000000000aa"]
