/* Data with which a hart waits for simple locks (arch/hart.h). */
#ifndef LOCK_HART_PART_H
#define LOCK_HART_PART_H

#include "arch/hart.h"

#define HART_SPIN_SPACE 1024 /* bytes */

struct lock_hart {
    uint8_t spin_space[HART_SPIN_SPACE] __attribute__((aligned(64))); /* the algorithm's nodes */
    uint32_t polls; /* nonzero: each iteration of a waiting loop calls spin_poll (lock/spin/spin.h) */
};

HART_PART_OF(lock)
#endif
