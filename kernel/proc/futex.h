/*
 * Sleeping threads of processes: on a word of their memory (after futex(2) of Linux), or for a time alone. Their system
 * calls (abi.h) are in futex.c. All can be interrupted.
 *
 * Locking: user_lock guards the list of waiting threads. A word is compared under it, so a thread that changes the word
 * and then wakes never misses one that is about to sleep.
 */
#ifndef USER_FUTEX_H
#define USER_FUTEX_H

#include "proc/process.h"

/*
 * The calling thread sleeps for `ticks` clock ticks, at least 1. 0, or -EINTR; then `left`, if not 0, has the remaining
 * ticks.
 */
int user_sleep(uint32_t ticks, uint32_t *left);
#endif
