/* State shared by the parts of the debugging module: the harts as they stopped. Locking: debug.h. */
#ifndef DEBUG_HARTS_H
#define DEBUG_HARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/frame.h"
#include "arch/hart.h"

/* CSRs shown to GDB, with their values when the hart stopped; their registers follow pc in this order. */
#define DEBUG_CSRS(of) \
    of(mstatus) of(mie) of(mip) of(mtvec) of(mscratch) of(mcause) of(mtval) of(satp) of(mcycle) of(minstret) of(mhartid)

enum debug_csr {
#define CONSTANT(name) DEBUG_CSR_##name,
    DEBUG_CSRS(CONSTANT)
#undef CONSTANT
        DEBUG_CSR_COUNT
};

struct debug_hart {
    volatile bool stop;    /* it has been asked to stop */
    volatile bool stopped; /* the hart waits in the module, until ... */
    volatile bool go;
    uint8_t signal;  /* GDB's number for why it stopped; 0: another hart stopped it, or it was reported */
    bool breakpoint; /* stopped by a breakpoint of the module */
    bool at_ebreak;  /* stopped by the EBREAK at its pc, the module's or not */
    bool stepping;   /* it makes a step, with interrupts masked if `masked`; `mie` is the previous value */
    bool masked;
    volatile bool stepped; /* the step has ended */
    bool invited;    /* by debug_poll: the next EBREAK only stops it ... */
    uint8_t mpie;    /* ... and sets this in mstatus again */
    uint32_t mie;
    struct frame *frame;
    const char *message; /* of its panic, until reported to GDB */
    uint32_t csr[DEBUG_CSR_COUNT];
};

extern struct debug_hart debug_harts[MAX_HARTS];

/* Whether it stopped in user mode. */
bool debug_in_user(const struct debug_hart *h);
#endif
