"""Settings of an experiment: what --set accepts, and its messages for what it refuses."""

import pytest

from sim.experiments import definition
from sim.experiments.definition import SettingError

CLOCK_HZ = 60_000_000


@pytest.fixture
def experiment():
    return definition.load("pic-latency")


def test_defaults(experiment):
    values = experiment.settings([])
    assert values["schemes"] == ["spl-pessim", "spl-optim", "cli-pessim", "cli-optim", "cli-spl-pessim"]
    assert values["link_latency"] == [0, 10, 30, 75, 152, 304, 600, 1200]
    assert values["harts"] == [1, 2, 4]
    assert (values["baud"], values["iterations"]) == (115200, 20000)


@pytest.mark.parametrize("text, key, value", [
    ("size=full", "size", 65536),
    ("size=default", "size", 256),
    ("size=0x40", "size", 64),
    ("harts=2", "harts", [2]),
    ("harts=4, 1,4", "harts", [4, 1]),
    ("link_latency=65535,0", "link_latency", [65535, 0]),
    ("schemes=cli-optim", "schemes", ["cli-optim"]),
    (" seed = 7 ", "seed", 7),
])
def test_values(experiment, text, key, value):
    assert experiment.settings([text])[key] == value


@pytest.mark.parametrize("name", ["pic-latency", "nnb", "sync"])
@pytest.mark.parametrize("overrides, layouts", [
    (["size=full"], list(range(1, 21))), (["size=full", "layout=0"], 0), (["layout=3", " size = full "], 3),
    (["size=full", "size=default"], 0), ([], 0)])
def test_the_whole_size_has_twenty_layouts_unless_they_are_given(name, overrides, layouts):
    assert definition.load(name).settings(overrides)["layout"] == layouts


def test_the_last_of_a_repeated_key_counts(experiment):
    assert experiment.settings(["seed=1", "seed=2"])["seed"] == 2


@pytest.mark.parametrize("text, said", [
    ("link_latncy=5", ["unknown key", "'link_latncy'", "did you mean 'link_latency'", "schemes, link_latency, harts"]),
    ("schemes=spl-optm", ["'spl-optm'", "did you mean 'spl-optim'", "cli-spl-pessim"]),
    ("link_latency=65536", ["65536 is out of range", "0 to 65535"]),
    ("link_latency=-1", ["-1 is out of range", "0 to 65535"]),
    ("link_latency=fast", ["'fast'", "0 to 65535"]),
    ("harts=0", ["0 is out of range", "1 to 8"]),
    ("harts=1,9", ["9 is out of range", "1 to 8"]),
    ("harts=", ["empty", "1 to 8"]),
    ("size=65537", ["65537 is out of range", "'full' (65536)"]),
    ("size=ful", ["'ful'", "'full' (65536)"]),
    ("size=1,2", ["'1,2'"]),
    ("iterations=1e5", ["'1e5'"]),
    ("seed", ["key=value"]),
])
def test_bad_settings_get_one_line(experiment, text, said):
    with pytest.raises(SettingError) as caught:
        experiment.settings([text])
    line = str(caught.value)
    assert "\n" not in line
    for part in said:
        assert part in line


@pytest.mark.parametrize("key, one", [("harts", "1"), ("schemes", "cli-optim"), ("link_latency", "5"),
                                      ("layout", "1")])
@pytest.mark.parametrize("form", ["{0},,{0}", "{0},", ",{0}", ",", " , {0}"])
def test_nothing_between_commas_is_no_value(experiment, key, one, form):
    with pytest.raises(SettingError, match="empty"):
        experiment.settings([f"{key}={form.format(one)}"])


def test_unknown_experiment_gets_a_close_match():
    with pytest.raises(SettingError, match="'pic-latncy', did you mean 'pic-latency'"):
        definition.load("pic-latncy")


def test_every_combination_is_run_once(experiment):
    runs = experiment.runs(experiment.settings([]), CLOCK_HZ)
    assert len({run.id for run in runs}) == len(runs) == 8 + 5 * 8 * 3 + 5 * 2 * 3
    serial = [run for run in runs if run.kind == "serial"]
    assert len({(run.harts, run.sync, run.parameters["link_latency"]) for run in serial}) == 120


@pytest.mark.parametrize("name", definition.names())
def test_quick_settings_are_possible_short_and_leave_out_no_kind(name):
    experiment = definition.load(name)
    for key, value in experiment.quick.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        assert experiment.keys[key].parse(text) == value
    runs = experiment.runs(experiment.settings([], quick=True), CLOCK_HZ)
    assert {run.kind for run in runs} | {kind["name"] for kind in experiment.solvers()} == {
        kind["name"] for kind in experiment.kinds}
    # Estimates, which bound; about 5 s, and longer where user programs run: a compiler takes minutes. Table 7's
    # are waiting, which is skipped, and so are half of the handlers'.
    most = {"vm": 60_000_000, "processes": 50_000_000, "nnb": 60_000_000, "file-rate": 40_000_000,
            "file-cost": 24_000_000, "andrew": 600_000_000, "andrew-nfs": 600_000_000, "table7": 16_000_000,
            "handlers": 12_000_000, "losses": 16_000_000, "layout": 40_000_000,
            "totals": 40_000_000, "mpd": 50_000_000, "crtc": 40_000_000, "crtc-nodes": 140_000_000,
            "webstone": 40_000_000, "tcp-cost": 50_000_000, "tcp-livelock": 60_000_000}.get(name, 5_000_000)
    assert sum(run.cycles * run.harts for run in runs) < most


def test_settings_that_are_given_go_before_quick_ones(experiment):
    values = experiment.settings(["link_latency=30"], quick=True)
    assert values["link_latency"] == [30] and values["harts"] == experiment.quick["harts"]


def test_boot_arguments(experiment):
    settings = experiment.settings(["size=64", "link_latency=75", "harts=2", "schemes=spl-optim", "falls=174"])
    table5, serial, *links = experiment.runs(settings, CLOCK_HZ)
    assert table5.bootargs == "run=table5 iterations=2000 link_latency=75 console.baud=6000000"
    assert (table5.harts, table5.input_bytes) == (1, None)
    assert serial.bootargs.startswith("run=serial bytes=64 baud=115200 link_latency=75 crc=")
    assert len(serial.bootargs.split("crc=")[1].split()[0]) == 8
    assert (serial.harts, serial.sync, serial.input_bytes) == (2, "spl-optim", 64)
    assert [(link.id, link.harts) for link in links] == [(f"link-spl-optim-back{back}-fall174", 1) for back in (0, 76)]
    assert ("link_latency=152 link_read_back=76 link_write_back=76 link_delivery_delay=152 link_fall_delay=174 "
            in links[1].bootargs)


def test_a_list_may_be_none_if_it_says_so(experiment):
    without = experiment.settings(["falls=none"])
    assert without["falls"] == [] and not [r for r in experiment.runs(without, CLOCK_HZ) if r.kind == "link"]
    with pytest.raises(SettingError, match="'none' is not one of 1 to 8"):
        experiment.settings(["harts=none"])


def test_estimates_follow_size_and_latency(experiment):
    def serial_cycles(*overrides):
        return experiment.runs(experiment.settings(("falls=none", *overrides)), CLOCK_HZ)[-1].cycles
    # 10 bits at 115,200 bit/s are 5,208 cycles at 60 MHz
    assert serial_cycles("size=257") - serial_cycles("size=256") == pytest.approx(5208, abs=1)
    slow, fast = (experiment.runs(experiment.settings([f"link_latency={n}"]), CLOCK_HZ)[0].cycles for n in (1200, 0))
    assert slow - fast == 2_000 * 2 * 1200


def test_file_holds_every_value_and_follows_the_seed():
    file = definition.input_file(1, 65536)
    assert len(file) == 65536
    assert all(sorted(file[at:at + 256]) == list(range(256)) for at in range(0, 65536, 256))
    assert file[:1000] == definition.input_file(1, 1000)
    assert file[:256] != file[256:512]
    assert file[:1000] != definition.input_file(2, 1000)
    # The same on every machine and Python: results are compared between them.
    assert definition.input_file(1, 4).hex() == "dae2d932"


def test_arithmetic_takes_no_more_than_it_says():
    names = {"size": 2, "clock_hz": 60, "baud": 4}
    assert definition.arithmetic("500_000 + size * 10 * clock_hz / baud", names) == 500300
    for text in ("size ** 2", "open('x')", "'a'", "size.real"):
        with pytest.raises(ValueError):
            definition.arithmetic(text, {"size": 2})
    with pytest.raises(KeyError):
        definition.arithmetic("sise", {"size": 2})
