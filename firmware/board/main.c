/* A board after reset: memory, self-test, greeting, loader; and the handling of traps, images and resets. */
#include <generated/csr.h>
#include <stdint.h>

#include "console.h"
#include "dram.h"
#include "harts.h"
#include "leds.h"
#include "line.h"
#include "loader.h"
#include "protocol.h"

static void greet(void)
{
    uint64_t fingerprint = identity_fingerprint_read();
    uint32_t harts = identity_harts_read(), hz = identity_clock_hz_read();
    print("\nInterlock boot ROM: %ld hart%s at %ld.%03ld MHz, build %08lx%08lx\n", harts, harts == 1 ? "" : "s",
          hz / 1000000, hz / 1000 % 1000, (uint32_t)(fingerprint >> 32), (uint32_t)fingerprint);
}

_Noreturn void board_main(void)
{
    line_open();
    greet();
    dram_init();
    self_test(LINK_TEST_SHORT);
    loader(0);
}

/* Harts that trap at the same time report one after the other. Hart 0 continues to serve the host. */
_Noreturn void trapped(unsigned hart, uint32_t cause, uint32_t pc, uint32_t value)
{
    static uint32_t speaking;
    while (__atomic_exchange_n(&speaking, 1, __ATOMIC_ACQUIRE))
        ;
    print("\nboot ROM: trap on hart %d: mcause 0x%08lx mepc 0x%08lx mtval 0x%08lx\n", hart, cause, pc, value);
    __atomic_store_n(&speaking, 0, __ATOMIC_RELEASE);
    leds_result(LEDS_TRAP);
    if (hart == 0)
        loader(0);
    harts_wait(hart);
}

void host_is_silent(void)
{
    leds_tick();
}

_Noreturn void enter_image(uint32_t entry)
{
    harts_jump(entry);
}

_Noreturn void reset_machine(void)
{
    line_flush();
    host_exit_write(0); /* on a board nothing reads the code: a write resets it */
    for (;;)
        ;
}
