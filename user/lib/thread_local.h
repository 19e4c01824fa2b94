/* Thread-local variables: their initial values, as user.ld lays them out. Each thread's tp points to a copy. */
#ifndef USER_LIB_THREAD_LOCAL_H
#define USER_LIB_THREAD_LOCAL_H

#include <stdint.h>
#include <string.h>

extern const char _thread_local_begin[];
extern char _thread_local_data[], _thread_local_size[]; /* initialised bytes, and all: the symbols' addresses */

#define THREAD_LOCAL_ALIGNMENT 16u

extern volatile uint32_t thread_count; /* of POSIX's threads, with the first: the end of the last is exit(0) */

static inline uint32_t thread_local_size(void)
{
    return ((uint32_t)_thread_local_size + THREAD_LOCAL_ALIGNMENT - 1) & ~(THREAD_LOCAL_ALIGNMENT - 1);
}

/* `to` has thread_local_size() bytes and that alignment. */
static inline void thread_local_init(void *to)
{
    memset(to, 0, thread_local_size());
    memcpy(to, _thread_local_begin, (uint32_t)_thread_local_data);
}
#endif
