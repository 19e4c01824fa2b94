/* The interface between bio.c and freelist.c. */
#ifndef FS_BIO_H
#define FS_BIO_H

#include "fs/freelist.h"

/* Takes `bp`, which the caller holds, off its hash chain, whose lock the caller holds too: it holds no block then. */
void buf_unhash(struct buf *bp);

/* Whether all blocks that it points to are on the medium (bpoints). */
bool buf_may_be_written(const struct buf *bp);

static inline void bufstat_add(uint32_t *count)
{
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}
#endif
