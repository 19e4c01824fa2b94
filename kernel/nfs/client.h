/*
 * The client: a file system whose files are on another host. mount.c mounts and unmounts, call.c sends calls until they
 * are answered, node.c has the table of files, ops.c the operations of vnodes (fs/vnode.h).
 *
 * Locking, in the order in which locks are taken:
 *
 *   a node's lock, the vnode's     around operations on its contents and its block, and, of a directory, changes
 *                                  of its entries; held across calls. No operation holds those of two nodes
 *   a mount's lock                 a simple lock: outstanding calls, and how long answers take
 *   nfs_nodes_lock                 a simple lock: the table of nodes, references, and cached attributes
 *
 * Attributes are cached for a while (boot argument nfs.attr): until then a change by another client is not seen.
 * Written data is on the server's medium when the call ends, so fsync and close have nothing to write.
 */
#ifndef NFS_CLIENT_H
#define NFS_CLIENT_H

#include <sys/queue.h>

#include "lib/random.h"
#include "lock/simple_lock.h"
#include "nfs/nfs.h"

struct datagram;
struct thread;
struct nfs_node;

/* A call, from its arguments to its results. */
struct nfs_message {
    TAILQ_ENTRY(nfs_message) link; /* guarded by the mount's lock; while the call is outstanding */
    struct rpc_call call;
    uint32_t port, tries;
    bool answered; /* guarded by the mount's lock */
    struct xdr out, in; /* the arguments to be written; the results */
    uint8_t sent[RPC_MOST], reply[RPC_MOST];
};

struct nfs_mount {
    struct mount mount; /* first */
    bool v3;
    uint32_t server, port;
    uint32_t tries_most; /* 0: a call is sent until it is answered, or its process ends; else -ETIMEDOUT */
    uint32_t attr_ticks, least_ticks;
    struct datagram *socket;
    struct thread *receiver;
    volatile bool ending;
    struct simple_lock lock;
    TAILQ_HEAD(, nfs_message) calls;
    uint32_t xid;
    uint32_t smooth, varies; /* of the times of calls, in eighths and quarters of a tick (RFC 6298); 0: unknown */
    struct nfs_node *root;
    uint32_t lose, repeat; /* of a thousand messages */
    struct random chance;  /* guarded by `lock` */
    char path[MOUNT_PATH_MOST / 16 + 1]; /* its name on the server */
};
#define NFS_MOUNT(m) ((struct nfs_mount *)(m))

/*
 * mount.c. `from` is ADDRESS:/PATH with options after commas: vers=2, vers=3, soft, hard. -EINVAL: malformed; -EDEADLK:
 * it is this host, which would wait for itself; or an error from its calls.
 */
int nfs_mount(const char *from, bool read_only, struct mount **mp);

/* call.c ----------------------------------------------------------------------------------------------------------- */

int nfs_calls_begin(struct nfs_mount *m); /* socket and receiver; nfs_calls_end frees those that exist */
void nfs_calls_end(struct nfs_mount *m);
/* A call of NFS or another program to be filled in, to be freed by nfs_end; null: out of memory. */
struct nfs_message *nfs_begin(struct nfs_mount *m, enum nfs_procedure procedure);
struct nfs_message *nfs_begin_other(struct nfs_mount *m, uint32_t port, const struct rpc_call *call);
void nfs_end(struct nfs_message *c);
/* Sends it: 0 with `in` at the results, or an error. nfs_call reads the status there, too. */
int nfs_call_other(struct nfs_mount *m, struct nfs_message *c);
int nfs_call(struct nfs_mount *m, struct nfs_message *c);

struct nfs_client_counts {
    uint32_t calls, again, timeouts; /* sent, repeated, timed out */
};
extern struct nfs_client_counts nfs_client_counts;

/* node.c ----------------------------------------------------------------------------------------------------------- */

struct nfs_handle {
    uint32_t n;
    uint8_t bytes[NFS_HANDLE_MOST];
};

struct nfs_node {
    struct vnode v; /* first */
    struct nfs_handle handle;
    /* Guarded by nfs_nodes_lock. */
    uint32_t references;
    LIST_ENTRY(nfs_node) hashed;
    TAILQ_ENTRY(nfs_node) unused; /* while it is not referenced */
    struct vattr attr;
    uint32_t attr_until; /* clock tick */
    bool attr_known;
    /* Guarded by the node's lock: a block of the file as of `block_mtime`; block_bytes 0: none. */
    uint8_t *block;
    uint64_t block_at;
    uint32_t block_bytes;
    int32_t block_mtime;
    /* Of a file that was removed while in use: its name since then, removed with the last reference. */
    struct nfs_node *gone_from;
    char gone_name[20];
};
#define NFS_NODE(vp) ((struct nfs_node *)(vp))

/* The node of that handle, with these attributes and a reference. -ENOMEM, -ESTALE. */
int nfs_node_get(struct nfs_mount *m, const struct nfs_handle *handle, const struct vattr *attr, struct vnode **vpp);
void nfs_node_hold(struct vnode *vp);
bool nfs_node_drop(
    struct nfs_node *n); /* drops a reference; true: it was the last of a file that is to be removed, and is kept */
bool nfs_node_is_used(const struct nfs_node *n); /* by others than the caller, which has a reference */
void nfs_node_set_attr(struct nfs_node *n, const struct vattr *attr);
bool nfs_node_attr(const struct nfs_node *n, struct vattr *attr); /* false: ask the server */
void nfs_node_forget_attr(struct nfs_node *n);
void nfs_node_set_gone(struct nfs_node *n, struct nfs_node *from, const char *name); /* references `from`, too */
bool nfs_nodes_end(struct nfs_mount *m); /* frees all; false: one but the root's is in use, and none is freed */

/* ops.c ------------------------------------------------------------------------------------------------------------ */

extern const struct vnodeops nfs_vnodeops;
int nfs_get_root(struct nfs_mount *m, const struct nfs_handle *handle, struct vnode **vpp);
void nfs_statfs(struct mount *m, struct statfs_out *to);
#endif
