"""The LEDs of a board over time: the boot ROM's own code, on a simulated clock."""

import shutil
import subprocess

import pytest

from support.cache import REPO

HERE = REPO / "firmware" / "board"
HART = """#pragma once
#include <stdint.h>
#define CYCLES_PER_MS 10u
extern uint32_t now;
static inline uint32_t cycles(void) { return now; }
static inline int elapsed(uint32_t start, uint32_t duration) { return cycles() - start >= duration; }
"""
CSR = """#pragma once
#define CSR_LEDS_BASE 0
void leds_out_write(uint32_t leds);
"""
PROGRAM = """#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "hart.h"
#include "leds.h"
uint32_t now = 0u - 5000u; /* so that it wraps on the way */
static uint32_t begun, shown;
void leds_out_write(uint32_t leds)
{
    if (leds != shown)
        printf("%u %u\\n", (unsigned)((now - begun) / CYCLES_PER_MS), (unsigned)leds);
    shown = leds;
}
int main(int argc, char **argv)
{
    (void)argc;
    leds_running(3);
    begun = now;
    leds_result((unsigned)atoi(argv[1]));
    for (; now - begun < 6000 * CYCLES_PER_MS; now += 7)
        leds_tick();
}
"""


@pytest.fixture(scope="module")
def leds(tmp_path_factory):
    """Gives the LEDs after a test, or none (0), has failed: [(ms since then, LEDs)]."""
    folder = tmp_path_factory.mktemp("leds")
    for name in ("leds.c", "leds.h"):
        shutil.copy(HERE / name, folder)
    (folder / "generated").mkdir()
    for name, text in (("hart.h", HART), ("generated/csr.h", CSR), ("main.c", PROGRAM)):
        (folder / name).write_text(text)
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-include", "stdint.h", "-fsanitize=undefined", "-I", folder,
                    folder / "main.c", folder / "leds.c", "-o", folder / "leds"], check=True)

    def after(failed):
        output = subprocess.run([folder / "leds", str(failed)], capture_output=True, text=True, check=True).stdout
        running, *shown = [tuple(map(int, line.split())) for line in output.splitlines()]
        assert running[1] == 3 << 1
        return shown
    return after


def test_all_passed_is_a_steady_light(leds):
    assert leds(0) == [(0, 1)]


@pytest.mark.parametrize("failed", [1, 2, 7, 15])
def test_the_number_of_the_first_failure_blinks(leds, failed):
    """n blinks of 200 ms, 200 ms apart, then a pause five times as long; the other LEDs show n all the time."""
    on, off = failed << 1 | 1, failed << 1
    period = 200 * (2 * failed + 5)
    expected = [(start + 400 * blink + half, light) for start in range(0, 6000, period) for blink in range(failed)
                for half, light in ((0, on), (200, off)) if start + 400 * blink + half < 6000]
    assert [light for _, light in leds(failed)] == [light for _, light in expected]
    assert [ms for ms, _ in leds(failed)] == pytest.approx([ms for ms, _ in expected], abs=1)
