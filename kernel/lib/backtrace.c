/* Backtraces (backtrace.h). */
#include "lib/backtrace.h"

#include <generated/mem.h>

#include "lib/printf.h"
#include "lib/symbols.h"

bool backtrace_is_frame(uint32_t fp)
{
    return (fp & 3) == 0 && fp >= MAIN_RAM_BASE + 8 && fp - MAIN_RAM_BASE <= MAIN_RAM_SIZE;
}

/* Just below the address in a frame pointer lie the return address and the caller's frame pointer. */
unsigned backtrace_collect(uint32_t fp, uint32_t *address, unsigned most)
{
    unsigned n = 0;
    for (uint32_t offset; n < most && backtrace_is_frame(fp); n++) {
        const uint32_t *top = (const uint32_t *)fp;
        if (!symbol_of(top[-1], &offset) || top[-2] <= fp) /* the first frame of a thread has none above it */
            break;
        address[n] = top[-1];
        fp = top[-2];
    }
    return n;
}

void backtrace_print_place(uint32_t pc)
{
    uint32_t offset = 0;
    const char *name = symbol_of(pc, &offset);
    if (name)
        kprintf("  %08lx %s+0x%lx\n", (unsigned long)pc, name, (unsigned long)offset);
    else
        kprintf("  %08lx\n", (unsigned long)pc);
}

/* A return address may lie just past the end of its function, if the called function does not return. */
void backtrace_print(const uint32_t *address, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t offset = 0;
        const char *name = symbol_of(address[i] - 1, &offset);
        kprintf("  %08lx %s+0x%lx\n", (unsigned long)address[i], name ? name : "?", (unsigned long)offset + 1);
    }
}
