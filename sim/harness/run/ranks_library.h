/* What a library gives that joins processes started beforehand (ranks.h); ranks_mpi.c is one. */
#ifndef RANKS_LIBRARY_H
#define RANKS_LIBRARY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* This process's number, from 0 on, and how many there are. 0; another number: it cannot begin. */
int ranks_begin(unsigned *self, unsigned *count);

/*
 * All processes call it, with `size` bytes each, and get those of all, one behind the other by rank, until the next
 * call; sizes[count]. 0: it has failed.
 */
const char *ranks_exchange(const char *mine, uint64_t size, uint64_t *sizes);

void ranks_end(int failed); /* failed: the others are ended, too */

#ifdef __cplusplus
}
#endif
#endif
