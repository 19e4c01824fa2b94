#include "leds.h"

#include <generated/csr.h>

#include "hart.h"

#define SLOT_MS 200       /* a blink is one slot on and one off */
#define PAUSE_SLOTS 5     /* after the last blink */

static unsigned failed_test;
static unsigned slot;
static uint32_t slot_start;

static void show(uint32_t leds)
{
#ifdef CSR_LEDS_BASE
    leds_out_write(leds);
#else
    (void)leds; /* a board without LEDs of its own */
#endif
}

void leds_running(unsigned number)
{
    show(number << 1);
}

void leds_result(unsigned failed)
{
    failed_test = failed;
    slot = 0;
    slot_start = cycles();
    show(failed << 1 | 1);
}

void leds_tick(void)
{
    if (!failed_test || !elapsed(slot_start, SLOT_MS * CYCLES_PER_MS))
        return;
    slot_start += SLOT_MS * CYCLES_PER_MS;
    slot = (slot + 1) % (2 * failed_test + PAUSE_SLOTS);
    show(failed_test << 1 | (slot % 2 == 0 && slot < 2 * failed_test));
}
