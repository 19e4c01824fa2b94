/*
 * The server: from a message that came to the one that answers it. It works on one mounted ext2 file system, by file
 * handles of volume, inode and generation, and by what a vnode can be asked (fs/vnode.h). nfsd.c has the threads and
 * the sockets, which this knows nothing of.
 *
 * What comes may be anything: a length is looked at before what has it is; what cannot be decoded is RPC_GARBAGE_ARGS,
 * or nothing where not even a header can; a handle that is none of ours is stale.
 *
 * Locking: that of vnode.h. A call holds references of what its handles name, and at most a directory's lock with
 * those that the file system takes below it. nfs_cache_lock, a simple lock, guards the replies that are kept
 * (cache.c); nothing is taken under it. In the serial kernel callers have the master (sched/master.h).
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
    const uint8_t *handle[2]; /* as they came; null: not of this server's length */
    struct vnode *file[2];    /* what they name, with a reference, or null */
    char *path;               /* room for NFS_PATH_MOST bytes and a 0 */
};

/* `root` is that of a mounted ext2 file system, with a reference that the server keeps until it ends. -EINVAL: none. */
int nfs_server_begin(struct vnode *root, bool read_only, uint32_t boots);
void nfs_server_end(void);

/*
 * The answer to a message of `length` bytes from a host and port: its bytes, in `reply`, which has room for RPC_MOST;
 * 0: there is none. `path` has room as above.
 */
uint32_t nfs_server_message(uint8_t *message, uint32_t length, uint32_t from, uint32_t port, uint8_t *reply,
                            char *path);

/* Clients that have unmounted, since the server began; calls, and what of them was answered from what is kept. */
struct nfs_server_counts {
    uint32_t calls, refused, garbage, repeated, dropped, unmounted;
};
extern struct nfs_server_counts nfs_server_counts;

/* For server.c ---------------------------------------------------------------------------------------------------- */

struct nfs_export {
    struct vnode *root;
    bool read_only;
    uint32_t fsid, boots; /* `boots` is another one each time that the server begins (RFC 1813, 3.3.7) */
};
extern struct nfs_export nfs_export;

#define NFS_GARBAGE 1 /* of what a procedure gives: its arguments are none */
int nfs_serve(
    struct nfs_serving *c); /* results behind the status: 0, NFS_GARBAGE, or an error, with nothing in `out` */
void nfs_serve_failed(struct nfs_serving *c); /* what stands behind an error's status */
void nfs_serve_end(struct nfs_serving *c); /* lets go of what it has */
void nfs_make_handle(const struct vnode *vp, uint8_t *handle);

/* cache.c: the answers to what must not be done twice. */
struct nfs_cached {
    uint32_t from, port, xid, program, version, procedure, sum;
};
enum nfs_cache_is { NFS_CACHE_NEW, NFS_CACHE_BUSY, NFS_CACHE_ANSWERED };
enum nfs_cache_is nfs_cache_begin(const struct nfs_cached *of, uint8_t *reply, uint32_t *length);
void nfs_cache_end(const struct nfs_cached *of, const uint8_t *reply, uint32_t length);
void nfs_cache_clear(void);
#endif
