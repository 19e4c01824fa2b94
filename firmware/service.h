/*
 * How an image ends its run on a board: it returns to the boot ROM, which lets the host read memory and counters over
 * the link (protocol.h). There is no reset in between, so the blobs' memory, the trace buffer and all counters are as
 * the run has left them. The simulator's boot ROM has no such service: there the host port ends a run.
 */
#ifndef SERVICE_H
#define SERVICE_H

/* Words at the ROM's start, after the first instruction. */
#define SERVICE_MAGIC_OFFSET 4 /* SERVICE_MAGIC if the ROM has the service */
#define SERVICE_ENTRY_OFFSET 8 /* the entry, for any one hart, in machine mode */
#define SERVICE_MAGIC 0x534b4c49 /* "ILKS" */

#define SERVICE_MOST_BLOBS 16

#ifndef __ASSEMBLER__
#include <stdint.h>

/* Memory to be copied out, as HOST_BLOB gives it: it must not change until the host has read it. */
struct service_blob {
    uint32_t kind, address, length; /* physical address in main RAM; bytes */
};

/* The entry's argument in a0: how the run has ended. In main RAM. */
struct service_end {
    uint32_t code; /* exit code, 0 for success */
    uint32_t blobs;
    struct service_blob blob[SERVICE_MOST_BLOBS];
};

/* Hides from the compiler that the ROM begins at 0, which it would take for a null pointer. */
static inline uint32_t service_word(uintptr_t rom, unsigned offset)
{
    __asm__("" : "+r"(rom));
    return *(const volatile uint32_t *)(rom + offset);
}

/*
 * Whether the boot ROM that begins at `rom` has the service. A hart that calls service_enter has its interrupts off; it
 * need not stop the others, but none may use the console from then on.
 */
static inline int service_present(uintptr_t rom)
{
    return service_word(rom, SERVICE_MAGIC_OFFSET) == SERVICE_MAGIC;
}

_Noreturn static inline void service_enter(uintptr_t rom, const struct service_end *end)
{
    uint32_t entry = service_word(rom, SERVICE_ENTRY_OFFSET);
    ((void (*)(const struct service_end *))(uintptr_t)entry)(end);
    __builtin_unreachable();
}
#endif
#endif
