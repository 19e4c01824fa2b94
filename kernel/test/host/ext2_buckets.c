/*
 * The same as ext2.c, of the other builds. Sources: fs/bio.c fs/freelist.c fs/ext2_mount.c fs/ext2_alloc.c fs/ext2_inode.c
 * fs/ext2_bmap.c fs/ext2_dir.c fs/ext2_ops.c fs/ext2_journal.c fs/vfs.c fs/namecache.c mem/zone.c mem/page.c lock/simple_lock.c lib/printf.c
 * lib/bootargs.c. Options: BUFFERS_BUCKETS=1 ALLOC_GROUPS=1
 */
#include "ext2.c"
