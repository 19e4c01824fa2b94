"""Bare-metal proofs on the bare cluster: what harts do, alone and together.

Each program in programs/ checks itself and says where it failed."""

import pytest

from tests.system.cpu.cluster_bench import passes, run

HARTS = [1, 2, 4]


@pytest.mark.parametrize("harts", HARTS)
def test_all_harts_boot(harts):
    assert passes("boot", harts)["hart"] in range(harts)


@pytest.mark.parametrize("harts", HARTS)
@pytest.mark.parametrize("jitter", [0, 9])
def test_atomics_are_exact_under_contention(harts, jitter):
    passes("atomics", harts, jitter=jitter, seed=harts)


@pytest.mark.parametrize("harts, jitter", [(2, 0), (2, 13), (4, 7)])
def test_memory_order(harts, jitter):
    passes("litmus", harts, jitter=jitter, seed=jitter + 1)


@pytest.mark.parametrize("harts, latency, jitter", [(1, 0, 0), (1, 150, 0), (2, 8, 9), (4, 8, 0)])
def test_fence_i_holds_for_the_next_instruction(harts, latency, jitter):
    passes("fencei", harts, latency=latency, jitter=jitter)


@pytest.mark.parametrize("harts", HARTS)
def test_cycle_and_instruction_counters(harts):
    passes("counters", harts)


@pytest.mark.parametrize("harts", HARTS)
def test_wfi_waits(harts):
    passes("wfi", harts)


@pytest.mark.parametrize("harts", HARTS)
def test_each_interrupt_is_taken_once(harts):
    assert passes("interrupts", harts)["traps"] == 60


@pytest.mark.parametrize("harts", HARTS)
def test_clint_registers(harts):
    passes("clint", harts)


@pytest.mark.parametrize("harts", HARTS)
def test_faults_from_user_mode_reach_machine_mode(harts):
    passes("sv32", harts)


@pytest.mark.parametrize("harts", [1, 2])
def test_mprv_takes_the_privilege_in_mpp(harts):
    passes("mprv", harts)


@pytest.mark.parametrize("harts", [1, 2])
def test_supervisor_mode_and_delegation(harts):
    passes("supervisor", harts)


# All other tests have one way on 1 and 2 harts, four on 4; this is what another way could break.
@pytest.mark.parametrize("program, harts, ways, defines", [
    *(("ways", harts, ways, {"SEED": seed}) for harts, ways in ((2, 1), (2, 2), (4, 4)) for seed in (1, 2)),
    *((program, 2, 2, {}) for program in ("atomics", "dma", "fencei", "litmus")),
    ("dma", 4, 4, {}),
    ("mixed", 2, 2, {"SEED": 6}),
    ("mixed", 4, 4, {"SEED": 6}),
])
def test_harts_stay_coherent_with_several_ways(program, harts, ways, defines):
    passes(program, harts, ways=ways, jitter=7, seed=ways, **defines)


def test_a_failed_check_fails_the_run():
    result = run("broken", 1)
    assert result.status == 1
    assert "broken.c:7 got 2 wanted 3" in result.text


def test_a_hang_is_told():
    result = run("broken", 1, max_cycles=20_000, HANG=1)
    assert result.status == 124
    assert "no end after 20000 cycles" in result.text
