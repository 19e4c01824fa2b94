"""The boards' SoC boots the kernel through its boot ROM, driven by the host's tools over a pseudo-terminal."""

import pytest

from sim.images.kernel import build_kernel
from soc.boards.config import board_config
from tests.board import simulated as board
from tests.board.simulated import run_on, simulated

SCHEME = "cli-spl-pessim"


def boot(port, image, out):
    """The record of a boot of the kernel, which must say hello and lose nothing on the line."""
    record, console = board.boot(port, image, "run=hello", out)
    assert record["overruns"] == {"uart0": 0, "uart1": 0}
    harts = record["board"]["harts"]
    assert f"Interlock kernel, spl-optim, harts {harts}, " in console
    assert all(f"hello from hart {hart}, " in console for hart in range(harts))
    return record


@pytest.mark.board_long
@pytest.mark.parametrize("harts", [1, 2])
def test_a_kernel_is_loaded_over_the_line_and_found_there_again(harts, tmp_path):
    image = build_kernel(board_config("sim", harts=harts), "spl-optim", runs=("hello",))
    with simulated(image, tmp_path, harts=harts) as port:
        first, again = (boot(port, image, tmp_path / name) for name in ("first", "again"))
    assert first["board"]["harts"] == again["board"]["harts"] == harts
    assert first["host"]["loaded_bytes"] > 8 * again["host"]["loaded_bytes"]


@pytest.mark.board_long
def test_an_experiment_runs_on_the_simulated_board(tmp_path):
    image = build_kernel(board_config("sim", harts=1), "spl-optim", runs=("hello",))
    with simulated(image, tmp_path, empty=False) as port:
        records, shown = run_on(port, "system-calls", ["harts=1", "schemes=spl-optim"], tmp_path / "out")
    assert records
    assert "Carried out on a board" in shown and "sim, 1 harts, 60 MHz" in shown
    assert "System calls and switches" in shown


def counted(record):
    """What a run of serial-loss has received and lost."""
    results = record["run"]["results"]
    return [results["serial"][0][key] for key in ("bytes", "crc", "overruns", "dropped")], results.get("busy")


@pytest.mark.board_long
def test_an_experiment_with_input_receives_on_the_board_what_it_receives_in_the_simulator(tmp_path):
    image = build_kernel(board_config("sim", harts=1), SCHEME)
    with simulated(image, tmp_path, empty=False) as port:
        ours, shown = run_on(port, "serial-loss", [f"schemes={SCHEME}"], tmp_path / "out")
    theirs, _ = run_on(None, "serial-loss", [f"schemes={SCHEME}"], tmp_path / "simulator")
    assert "Carried out on a board" in shown
    assert {record["kind"] for record in ours.values()} == {"loss", "alone"}
    assert ours.keys() == theirs.keys()
    for name, record in ours.items():
        assert record["received"] == theirs[name]["received"] and record["received"]["identical"]
        assert counted(record) == counted(theirs[name])
