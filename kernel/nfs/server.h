/*
 * The server: from a received message to its answer. It works on one mounted ext2 file system, by file handles of
 * volume, inode and generation, and by the operations of vnodes (fs/vnode.h). nfsd.c has the threads and the sockets,
 * on which this does not depend.
 *
 * Messages are not trusted: a length is checked before the data is read; undecodable arguments give RPC_GARBAGE_ARGS,
 * and an undecodable header no answer; a foreign handle is stale.
 *
 * Locking: that of vnode.h. A call holds references to the files of its handles, and at most a directory's lock with
 * those that the file system takes below it. nfs_cache_lock, a simple lock, guards the kept replies (cache.c); no lock
 * is taken under it. In the serial kernel callers hold the master (sched/master.h).
 */
#ifndef NFS_SERVER_H
#define NFS_SERVER_H

#include "nfs/nfs.h"

/* From a call's decoding to its reply. */
struct nfs_serving {
    struct rpc_call call;
    bool v3;
    enum nfs_procedure procedure;
    struct xdr in, out;
    const uint8_t *handle[2]; /* as received; null: wrong length for this server */
    struct vnode *file[2];    /* their files, with a reference, or null */
    char *path;               /* room for NFS_PATH_MOST bytes and a 0 */
};

/* `root` is the root of a mounted ext2 file system, with a reference that the server keeps. -EINVAL: it is none. */
int nfs_server_begin(struct vnode *root, bool read_only, uint32_t boots);
void nfs_server_end(void);

/*
 * Answers a message of `length` bytes from a host and port: returns the length of the answer in `reply`, which has room
 * for RPC_MOST; 0: no answer. `path` has room as above.
 */
uint32_t nfs_server_message(uint8_t *message, uint32_t length, uint32_t from, uint32_t port, uint8_t *reply,
                            char *path);

/* Clients that have unmounted, since the server began; calls, and those answered from the cache. */
struct nfs_server_counts {
    uint32_t calls, refused, garbage, repeated, dropped, unmounted;
};
extern struct nfs_server_counts nfs_server_counts;

/* For server.c ---------------------------------------------------------------------------------------------------- */

struct nfs_export {
    struct vnode *root;
    bool read_only;
    uint32_t fsid, boots; /* `boots` differs each time the server starts (RFC 1813, 3.3.7) */
};
extern struct nfs_export nfs_export;

#define NFS_GARBAGE 1 /* result of a procedure: malformed arguments */
int nfs_serve(
    struct nfs_serving *c); /* writes the results after the status: 0, NFS_GARBAGE, or an error and nothing in `out` */
void nfs_serve_failed(struct nfs_serving *c); /* writes what follows an error's status */
void nfs_serve_end(struct nfs_serving *c); /* releases its references */
void nfs_make_handle(const struct vnode *vp, uint8_t *handle);

/* cache.c: the answers to calls that must not be executed twice. */
struct nfs_cached {
    uint32_t from, port, xid, program, version, procedure, sum;
};
enum nfs_cache_is { NFS_CACHE_NEW, NFS_CACHE_BUSY, NFS_CACHE_ANSWERED };
enum nfs_cache_is nfs_cache_begin(const struct nfs_cached *of, uint8_t *reply, uint32_t *length);
void nfs_cache_end(const struct nfs_cached *of, const uint8_t *reply, uint32_t length);
void nfs_cache_clear(void);
#endif
