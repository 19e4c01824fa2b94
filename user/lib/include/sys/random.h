#ifndef _SYS_RANDOM_H
#define _SYS_RANDOM_H

#include <sys/types.h>

#define GRND_NONBLOCK 1u
#define GRND_RANDOM 2u

/* The same in each run of the same machine: no source of entropy. */
ssize_t getrandom(void *to, size_t size, unsigned flags);
int getentropy(void *to, size_t size);
#endif
