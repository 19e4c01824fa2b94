/* What the parts of the debugging module share: the harts as they stopped. Locking: debug.h. */
#ifndef DEBUG_HARTS_H
#define DEBUG_HARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/frame.h"
#include "arch/hart.h"

/* CSRs that GDB is shown, as they were when the hart stopped; their registers follow pc in this order. */
#define DEBUG_CSRS(of) \
    of(mstatus) of(mie) of(mip) of(mtvec) of(mscratch) of(mcause) of(mtval) of(satp) of(mcycle) of(minstret) of(mhartid)

enum debug_csr {
#define CONSTANT(name) DEBUG_CSR_##name,
    DEBUG_CSRS(CONSTANT)
#undef CONSTANT
        DEBUG_CSR_COUNT
};

struct debug_hart {
    volatile bool stop;    /* it has been asked to */
    volatile bool stopped; /* the hart waits in the module, until ... */
    volatile bool go;
    uint8_t signal;  /* GDB's number of why it stopped; 0: others did, or GDB has been told */
    bool breakpoint; /* by a breakpoint of ours */
    bool at_ebreak;  /* by the EBREAK that its pc points to, ours or not */
    bool stepping;   /* it makes a step, with interrupts kept from it if `masked`; `mie` is what it was */
    bool masked;
    volatile bool stepped; /* the step has come to its end */
    bool invited;    /* by debug_poll: the next EBREAK is only to stop ... */
    uint8_t mpie;    /* ... and sets this in mstatus again */
    uint32_t mie;
    struct frame *frame;
    const char *message; /* of its panic, until GDB has been told */
    uint32_t csr[DEBUG_CSR_COUNT];
};

extern struct debug_hart debug_harts[MAX_HARTS];

/* Whether it stopped in user mode. */
bool debug_in_user(const struct debug_hart *h);
#endif
