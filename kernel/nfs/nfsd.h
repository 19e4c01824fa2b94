/* The server's threads (nfsd.c). */
#ifndef NFS_NFSD_H
#define NFS_NFSD_H

#include <stdbool.h>

#define NFSD_THREADS_MOST 8

/*
 * Serves the root file system to other nodes from now on: with `threads` for NFS, one for MOUNT and one for the port
 * mapper. From a thread, once there is a root. 0; -EINVAL: it is no ext2; or as net_start and datagram_bind.
 */
int nfsd_start(unsigned threads, bool read_only);

/* Ends it: no call is answered any more, and it uses no file. From a thread. */
void nfsd_stop(void);
#endif
