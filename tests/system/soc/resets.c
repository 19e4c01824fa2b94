/* Reads registers after reset, those of resets.h in its order, and prints each that differs from its reset value. */
#include <generated/csr.h>

#include "console.h"

static const struct {
    uint32_t address, reset;
    uint32_t latched; /* where to set DLAB for the read, and clear it afterwards; 0: nowhere */
} registers[] = {
#include "resets.h"
};
#define COUNT (sizeof registers / sizeof registers[0])

static uint32_t found[COUNT];

static void print_hex(uint32_t value)
{
    for (int shift = 28; shift >= 0; shift -= 4)
        print_char("0123456789abcdef"[value >> shift & 0xf]);
}

void hart_main(uint32_t hart)
{
    if (hart)
        return;
    for (unsigned i = 0; i < COUNT; i++) {
        volatile uint32_t *latch = word_at(registers[i].latched);
        if (registers[i].latched)
            *latch = SERIAL_LCR_DLAB_MASK;
        found[i] = *word_at(registers[i].address);
        if (registers[i].latched)
            *latch = SERIAL_LCR_RESET;
    }
    console_open();
    for (unsigned i = 0; i < COUNT; i++)
        if (found[i] != registers[i].reset) {
            print("@wrong ");
            print_hex(registers[i].address);
            print(" ");
            print_hex(found[i]);
            print("\n");
        }
    print("@read ");
    print_number(COUNT);
    print("\n");
    while (!(*word_at(UART0_BASE + SERIAL_LSR) & SERIAL_LSR_TEMT_MASK))
        ;
    host_exit_write(0);
}
