/* The server's threads (nfsd.c). */
#ifndef NFS_NFSD_H
#define NFS_NFSD_H

#include <stdbool.h>

#define NFSD_THREADS_MOST 8

/*
 * From now on the root file system is served to other nodes: by `threads` for NFS, one for MOUNT and one for the port
 * mapper. From a thread, once there is a root. 0; -EINVAL: it is no ext2; or as net_start and datagram_bind.
 */
int nfsd_start(unsigned threads, bool read_only);

/* Ends it: nobody is answered any more, and no file is in use by it. From a thread. */
void nfsd_stop(void);
#endif
