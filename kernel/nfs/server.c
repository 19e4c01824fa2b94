/* From a message to its answer (server.h): headers, versions, MOUNT, and the port mapper. */
#include "nfs/server.h"

#include <errno.h>

#include "fs/ext2.h"
#include "fs/vfs.h"

struct nfs_export nfs_export;
struct nfs_server_counts nfs_server_counts;

#define NFS_COUNT(what) __atomic_fetch_add(&nfs_server_counts.what, 1, __ATOMIC_RELAXED)

int nfs_server_begin(struct vnode *root, bool read_only, uint32_t boots)
{
    if (root->ops != &ext2_vnodeops)
        return -EINVAL;
    nfs_export = (struct nfs_export){root, read_only || root->mount->read_only, ext2_volume(root->mount), boots};
    nfs_server_counts = (struct nfs_server_counts){0};
    nfs_cache_clear();
    return 0;
}

void nfs_server_end(void)
{
    vrele(nfs_export.root);
    nfs_export.root = 0;
}

/* The port mapper (RFC 1833, 3): the port of a program. ------------------------------------------------------------ */

#define PMAP_UDP 17u

static int server_pmap(struct nfs_serving *c)
{
    if (c->call.procedure == 0)
        return 0;
    if (c->call.procedure != PMAP_GETPORT)
        return -EOPNOTSUPP;
    uint32_t program = xdr_get(&c->in);
    xdr_get(&c->in); /* any version: a later call gets the versions */
    uint32_t protocol = xdr_get(&c->in);
    xdr_get(&c->in);
    if (c->in.failed)
        return NFS_GARBAGE;
    uint32_t port = program == NFS_PROGRAM ? NFS_PORT : program == MOUNT_PROGRAM ? MOUNT_PORT : 0;
    xdr_put(&c->out, protocol == PMAP_UDP ? port : 0);
    return 0;
}

/* MOUNT (RFC 1094, appendix A; RFC 1813, appendix I). -------------------------------------------------------------- */

/* The handle of the directory with that path. */
static int server_mount_path(struct nfs_serving *c, const uint8_t *path, uint32_t n)
{
    struct vnode *vp;
    if (n > NFS_PATH_MOST)
        return -ENAMETOOLONG;
    memcpy(c->path, path, n);
    c->path[n] = 0;
    if (strlen(c->path) != n)
        return -EINVAL;
    int error = namei(nfs_export.root, c->path, true, &vp);
    if (error)
        return error;
    if (vp->mount != nfs_export.root->mount)
        error = -EACCES;
    else if (vp->type != VDIR)
        error = -ENOTDIR;
    c->file[0] = vp;
    return error;
}

static int server_mount_mnt(struct nfs_serving *c)
{
    uint32_t n;
    const uint8_t *path = xdr_get_opaque(&c->in, MOUNT_PATH_MOST, &n);
    if (!path)
        return NFS_GARBAGE;
    int error = server_mount_path(c, path, n);
    xdr_put(&c->out, nfs_status_of(error, c->v3));
    uint8_t handle[NFS_HANDLE_V2];
    if (error)
        return 0;
    nfs_make_handle(c->file[0], handle);
    if (!c->v3) {
        xdr_put_bytes(&c->out, handle, sizeof handle);
        return 0;
    }
    xdr_put_opaque(&c->out, handle, sizeof handle);
    xdr_put(&c->out, 1);
    xdr_put(&c->out, RPC_AUTH_SYS);
    return 0;
}

static int server_mount(struct nfs_serving *c)
{
    uint32_t n;
    switch (c->call.procedure) {
    case MOUNT_NULL: return 0;
    case MOUNT_MNT: return server_mount_mnt(c);
    case MOUNT_UMNT:
        if (!xdr_get_opaque(&c->in, MOUNT_PATH_MOST, &n))
            return NFS_GARBAGE;
        NFS_COUNT(unmounted);
        return 0;
    case MOUNT_UMNTALL: NFS_COUNT(unmounted); return 0;
    case MOUNT_DUMP: xdr_put(&c->out, 0); return 0; /* mounts are not recorded */
    case MOUNT_EXPORT:
        xdr_put(&c->out, 1);
        xdr_put_opaque(&c->out, "/", 1);
        xdr_put(&c->out, 0);
        xdr_put(&c->out, 0);
        return 0;
    default: return -EOPNOTSUPP;
    }
}

/* NFS -------------------------------------------------------------------------------------------------------------- */

static int server_nfs(struct nfs_serving *c)
{
    uint32_t n = c->call.procedure;
    if (n >= (c->v3 ? (uint32_t)NFS_PROCEDURES : NFS_V2_PROCEDURES))
        return -EOPNOTSUPP;
    c->procedure = c->v3 ? n : nfs_of_v2[n];
    if (c->procedure == NFS_NULL || c->procedure == NFS_NONE)
        return 0;
    struct xdr status = c->out;
    xdr_put(&c->out, 0);
    struct xdr results = c->out;
    int error = nfs_serve(c);
    if (error == NFS_GARBAGE)
        return error;
    if (!error && c->out.failed) /* the results do not fit: valid ones always do */
        error = -NFS_ERR_SERVERFAULT;
    if (error) {
        c->out = results;
        xdr_put(&status, nfs_status_of(error, c->v3));
        nfs_serve_failed(c);
    }
    return 0;
}

/* Dispatching ------------------------------------------------------------------------------------------------------ */

static const struct server_program {
    uint32_t program, low, high, v3; /* its versions; the one used with NFS version 3 */
    int (*serve)(struct nfs_serving *c);
    uint32_t once; /* procedures that must not be executed twice, a bit each; for NFS those below */
} server_programs[] = {
    {.program = PMAP_PROGRAM, .low = PMAP_VERSION, .high = PMAP_VERSION, .v3 = 0, .serve = server_pmap},
    {.program = NFS_PROGRAM, .low = 2, .high = 3, .v3 = 3, .serve = server_nfs},
    {.program = MOUNT_PROGRAM,
     .low = 1,
     .high = 3,
     .v3 = 3,
     .serve = server_mount,
     .once = 1u << MOUNT_UMNT | 1u << MOUNT_UMNTALL},
};

static bool server_once(const struct nfs_serving *c, const struct server_program *p)
{
    static const uint32_t once = 1u << NFS_SETATTR | 1u << NFS_WRITE | 1u << NFS_CREATE | 1u << NFS_MKDIR |
                                 1u << NFS_SYMLINK | 1u << NFS_MKNOD | 1u << NFS_REMOVE | 1u << NFS_RMDIR |
                                 1u << NFS_RENAME | 1u << NFS_LINK;
    uint32_t n = c->call.procedure;
    if (p->program != NFS_PROGRAM)
        return n < 32 && p->once >> n & 1;
    n = c->v3 ? n : n < NFS_V2_PROCEDURES ? nfs_of_v2[n] : (uint32_t)NFS_NONE;
    return n < NFS_PROCEDURES && once >> n & 1;
}

static void server_answer(struct nfs_serving *c, const struct server_program *p)
{
    struct xdr begin = c->out;
    rpc_put_accepted(&c->out, c->call.xid, RPC_SUCCESS);
    int error = p->serve(c);
    if (error) {
        c->out = begin;
        rpc_put_accepted(&c->out, c->call.xid, error == NFS_GARBAGE ? RPC_GARBAGE_ARGS : RPC_PROC_UNAVAIL);
        NFS_COUNT(garbage);
    }
    nfs_serve_end(c);
}

/* FNV-1a (Fowler, Noll, Vo), of a call as received. */
static uint32_t server_sum(const uint8_t *bytes, uint32_t n)
{
    uint32_t sum = 2166136261u;
    for (uint32_t i = 0; i < n; i++)
        sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

static const struct server_program *server_find(struct nfs_serving *c)
{
    const struct server_program *p = server_programs, *end = p + sizeof server_programs / sizeof server_programs[0];
    while (p < end && p->program != c->call.program)
        p++;
    if (p == end) {
        rpc_put_accepted(&c->out, c->call.xid, RPC_PROG_UNAVAIL);
        return 0;
    }
    if (c->call.version < p->low || c->call.version > p->high) {
        rpc_put_mismatch(&c->out, c->call.xid, p->low, p->high);
        return 0;
    }
    c->v3 = c->call.version == p->v3;
    return p;
}

uint32_t nfs_server_message(uint8_t *message, uint32_t length, uint32_t from, uint32_t port, uint8_t *reply, char *path)
{
    struct nfs_serving c = {
        .in = {.at = message, .end = message + length}, .out = {.at = reply, .end = reply + RPC_MOST}, .path = path};
    enum rpc_is is = rpc_get_call(&c.in, &c.out, &c.call);
    NFS_COUNT(calls);
    const struct server_program *p = is == RPC_IS_CALL ? server_find(&c) : 0;
    if (!p) {
        NFS_COUNT(refused);
        return is == RPC_IS_NOTHING ? 0 : (uint32_t)(c.out.at - reply);
    }
    if (!server_once(&c, p)) {
        server_answer(&c, p);
        return (uint32_t)(c.out.at - reply);
    }
    struct nfs_cached of = {
        from, port, c.call.xid, c.call.program, c.call.version, c.call.procedure, server_sum(message, length)};
    uint32_t n;
    switch (nfs_cache_begin(&of, reply, &n)) {
    case NFS_CACHE_ANSWERED: NFS_COUNT(repeated); return n;
    case NFS_CACHE_BUSY: NFS_COUNT(dropped); return 0;
    default: break;
    }
    server_answer(&c, p);
    n = (uint32_t)(c.out.at - reply);
    nfs_cache_end(&of, reply, n);
    return n;
}
