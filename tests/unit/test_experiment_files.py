"""Experiment files: each wrong entry gets one line that names it, and a file of one's own is as good as ours."""

import tomllib

import pytest

from sim.experiments import collected, definition, meaning
from sim.experiments.schema import SettingError
from sim.results import record

TEMPLATE = (definition.FOLDER.parent / "templates/experiment.toml").read_text()


def load(folder, *changes):
    """The template with some of its text replaced."""
    text = TEMPLATE
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path = folder / "mine.toml"
    path.write_text(text)
    return definition.load(str(path))


def test_the_template_is_an_experiment_anywhere(tmp_path):
    experiment = load(tmp_path)
    assert (experiment.name, experiment.report) == ("mine", None)
    runs = experiment.runs(experiment.settings([]), 60_000_000)
    assert [run.id for run in runs] == ["pair-l0", "pair-l75", "pair-l152", "pair-l304"]


def test_runs_may_vary_over_seeds(tmp_path):
    experiment = load(tmp_path, ("default = 1\n", "default = [1, 2]\n"),
                      ("{ link_latency = \"link_latency\" }", "{ link_latency = \"link_latency\", seed = \"seed\" }"))
    runs = experiment.runs(experiment.settings(["link_latency=75"]), 60_000_000)
    assert [(run.id, run.seed) for run in runs] == [("pair-l75-seed1", 1), ("pair-l75-seed2", 2)]


def test_runs_vary_over_layouts_of_any_experiment(tmp_path):
    experiment = load(tmp_path)
    plain, = experiment.runs(experiment.settings(["link_latency=75"]), 60_000_000)
    assert plain.parameters["layout"] == 0 and "layout" not in dict(plain.options)
    runs = experiment.runs(experiment.settings(["link_latency=75", "layout=3,profile,0"]), 60_000_000)
    assert [(run.id, run.parameters["layout"], dict(run.options).get("layout")) for run in runs] == [
        ("pair-l75-layout3", 3, "3"), ("pair-l75-layoutprofile", "profile", "profile"), ("pair-l75-layout0", 0, None)]
    assert experiment.settings(["layout=0,full,profile,3"])["layout"] == [0, *range(1, 21), "profile"]
    for wrong in ("x", "-1", "1,,x", ""):
        with pytest.raises(SettingError, match="layout: .*0 to 999999999, or profile, or full"):
            experiment.settings([f"layout={wrong}"])


def test_a_record_says_its_layout(tmp_path):
    experiment = load(tmp_path)
    for said, layout in (("0", 0), ("7", 7), ("profile", "profile")):
        run = experiment.runs(experiment.settings(["link_latency=75", f"layout={said}"]), 60_000_000)[0]
        made = record.make(run, "mine", {"tools": {}, "soc": {run.machine.alone.label: {}}}, "", {}, None, None, {})
        assert made["layout"] == layout and made["options"].get("layout", "0") == said


@pytest.mark.parametrize("before, after, said", [
    ("lock_debug = \"0\"", "layout = \"0\"", ["build option layout", "leave it out"]),
    ("[keys.seed]", "[keys.layout]\nhelp = \"x\"\ndefault = 0\nrange = [0, 1]\n\n[keys.seed]",
     ["keys layout", "every experiment has this key"]),
    ("description =", "describe =", ["unknown entry 'describe'", "'description'"]),
    ("[[runs]]", "[[run]]", ["unknown entry 'run'", "did you mean 'runs'"]),
    ("bootargs =", "bootarg =", ["unknown entry in runs 1 'bootarg'", "did you mean 'bootargs'"]),
    ("range = [10, 1000000]", "rang = [10, 1000]", ["unknown entry in keys iterations 'rang'", "did you mean 'range'"]),
    ("range = [10, 1000000]", "range = [0]", ["keys iterations range", "at least 2"]),
    ("range = [10, 1000000]", "range = [10, 1000001]", ["keys iterations", "more than iterations takes, 1 to 1000000"]),
    ("range = [10, 1000000]", "choices = [\"x\"]", ["iterations"]),
    ("[keys.seed]", "[keys.more]\nhelp = \"x\"\ndefault = 0\n\n[keys.seed]",
     ["keys more", "give a range or choices, as it is no declared parameter's value"]),
    ("lock_debug = \"0\"", "lock_debug = \"{debug}\"", ["debug"]),
    ("result = \"table5\"  ", "result = 5  ", ["runs 1 result", "valid string"]),
    ("cycles = \"300_000", "#", ["runs 1 cycles", "required"]),
    ("default = [0, 75, 152, 304]", "default = [0, 70000]", ["link_latency: 70000 is out of range"]),
    ("link_latency = [0, 75]", "link_latency = [0, 70000]", ["link_latency: 70000 is out of range"]),
    ("link_latency = [0, 75]", "link_latncy = [0, 75]",
     ["unknown key in quick 'link_latncy'", "did you mean 'link_latency'"]),
    ("{ link_latency = \"link_latency\" }", "{ link_latency = \"link_latences\" }",
     ["list key in runs pair vary 'link_latences'"]),
    ("{ link_latency = \"link_latency\" }", "{ link_latency = \"iterations\" }",
     ["list key in runs pair vary 'iterations'"]),
    ("harts = 1 ", "#", ["runs pair", "'harts'"]),
    ("sync = \"cli-optim\"", "sync = \"cli-optm\"", ["scheme in runs pair 'cli-optm'", "did you mean 'cli-optim'"]),
    ("harts = 1 ", "harts = 1\nprogram = \"netcots\" #",
     ["program in runs pair 'netcots'", "did you mean 'netcost'"]),
    ("lock_debug = \"0\"", "lock_debg = \"0\"", ["build option in runs pair 'lock_debg'", "did you mean 'lock_debug'"]),
    ("link_latency={link_latency}", "link_latency={link_latensy}",
     ["name in runs pair 'link_latensy'", "did you mean 'link_latency'"]),
    ("iterations={iterations}", "iteratoins={iterations}", ["there is no boot argument iteratoins", "'iterations'"]),
    ("iterations={iterations}", "sections={iterations}", ["boot argument sections: this run does not read it"]),
    ("run=table5", "run=tabel5", ["run=tabel5: there is no such run"]),
    ("link_latency={link_latency}", "link_latency=x{link_latency}",
     ["link_latency=x0: give a whole number from 0 to 65535"]),
    ("2 * link_latency", "2 * link_latensy", ["name in runs pair cycles 'link_latensy'"]),
    ("2 * link_latency", "2 ** link_latency", ["not simple arithmetic"]),
    ("2 * link_latency", "2 * (link_latency", ["not simple arithmetic"]),
    ("# input = \"size\"", "input = \"iterations\" #", ["'input'", "'baud'"]),
    ("[keys.seed]", "[keys.sead]", ["'seed'"]),
    ("default = 1\n", "default = [1, 2]\n", ["several seeds", "vary"]),
    ("title =", "titel =", ["unknown entry in collect 1 'titel'", "did you mean 'title'"]),
    ("x = \"link_latency\"", "z = \"link_latency\"", ["collect 1 plot", "'z'"]),
    ("console_baud = 6000000", "console_baud = 6000000\nreport = \"mine\"", ["either [[collect]]"]),
    ("[quick]", "[quick", ["line"]),
])
def test_a_wrong_entry_gets_one_line(tmp_path, before, after, said):
    with pytest.raises(SettingError) as caught:
        load(tmp_path, (before, after))
    text = str(caught.value)
    assert "\n" not in text and text.startswith(f"{tmp_path}/mine.toml: ")
    for part in said:
        assert part in text


MEANT = """
[keys.mine]
help = "x"
default = [{default}]
{own}
[keys.seed]"""


@pytest.mark.parametrize("default, own, used, domain", [
    ("10", "", ("bootargs = \"", "bootargs = \"hz={one} "), "0 to 100000"),
    ("10", "range = [9, 100]\n", ("bootargs = \"", "bootargs = \"hz={one} "), "9 to 100"),
    ("10", "range = [9, 200000]\n", ("bootargs = \"", "bootargs = \"hz={one} "), None),
    ("10", "", ("bootargs = \"", "bootargs = \"bufs={one} inodes={one} "), "0 to 1024"),
    ("\"0\"", "", ("lock_debug = \"0\"", "lock_debug = \"{one}\""), "0, 1"),
    ("\"1\"", "choices = [\"1\"]\n", ("lock_debug = \"0\"", "lock_debug = \"{one}\""), "1"),
    ("\"1\"", "choices = [\"1\", \"2\"]\n", ("lock_debug = \"0\"", "lock_debug = \"{one}\""), None),
    ("\"ide\"", "", ("bootargs = \"", "disk = \"1024,profile={one}\"\nbootargs = \""),
     "ide, scsi, cdrom, floppy, sabre, fast"),
    ("\"rts\"", "", ("bootargs = \"", "flow = \"{one}\"\nbootargs = \""), "none, rts"),
    ("2", "", ("bootargs = \"", "poke = { link_jitter = \"{one}\" }\ncheckpoint = \"cycle:9\"\nbootargs = \""),
     "0 to 65535"),
])
def test_a_key_has_the_values_of_the_parameter_it_is_given_to(tmp_path, default, own, used, domain):
    changes = [("[keys.seed]", MEANT.format(default=default, own=own)),
               ("\"link_latency\" } ", "\"link_latency\", one = \"mine\" } "), used]
    if domain:
        assert load(tmp_path, *changes).keys["mine"].domain() == domain
    else:
        with pytest.raises(SettingError, match="keys mine: "):
            load(tmp_path, *changes)


def test_our_files_say_only_what_their_parameters_do_not():
    for name in definition.names():
        table = tomllib.loads((definition.FOLDER / f"{name}.toml").read_text())
        meant = meaning.parameters_of(table)
        for key, entry in table["keys"].items():
            parameters = meant.get(key, [])
            assert tuple(entry.get("range", ())) != meaning.range_of(key, parameters, ()) or "range" not in entry, key
            choices = entry.get("choices", ())
            assert not choices or set(choices) != set(meaning.choices_of(key, parameters, ())), key


def test_a_report_module_beside_the_file_is_found_and_a_missing_one_named(tmp_path):
    collect = TEMPLATE[TEMPLATE.index("# A table of the report"):]
    change = [(collect, ""), ("console_baud =", "report = \"my_report\"\nconsole_baud =")]
    with pytest.raises(SettingError, match=r"report: there is no .*my_report\.py"):
        load(tmp_path, *change)
    (tmp_path / "my_report.py").write_text("")
    assert load(tmp_path, *change).report == str(tmp_path / "my_report.py")


def test_every_file_of_ours_has_a_quick_table_and_loads():
    for name in definition.names():
        assert tomllib.loads((definition.FOLDER / f"{name}.toml").read_text())["quick"]
        assert definition.load(name).name == name


@pytest.mark.parametrize("records", [[], [{"id": "a", "failure": "was interrupted"}]])
def test_nothing_is_collected_where_no_run_has_ended_well(records):
    wanted = {"title": "Cost", "query": "select results.cost from runs join results using (run)"}
    summary = collected.summarise({"collect": [wanted]}, records)
    assert collected.tables(summary) == [] and collected.plots(summary) == []


def test_every_experiment_of_ours_asks_a_question():
    for name in definition.names():
        assert definition.load(name).question.endswith("?"), name
