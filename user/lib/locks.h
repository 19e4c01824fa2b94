/* The C library's locks (locks.c). A stream's belongs to no thread; the other nests. */
#ifndef USER_LIB_LOCKS_H
#define USER_LIB_LOCKS_H

#include "user/lib/futex_lock.h"

struct __lock {
    volatile uint32_t word;
    volatile uint32_t owner; /* the tp of the holder */
    unsigned depth;
};
#endif
