/* What bio.c and freelist.c know of each other. */
#ifndef FS_BIO_H
#define FS_BIO_H

#include "fs/freelist.h"

/* Takes `bp`, which the caller has, off its hash chain, whose lock the caller has too: it holds no block. */
void buf_unhash(struct buf *bp);

/* Whether all that it leads to is on the medium (bpoints). */
bool buf_may_be_written(const struct buf *bp);

static inline void bufstat_add(uint32_t *count)
{
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}
#endif
