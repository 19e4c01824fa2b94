/* Mounting another host's files, and its end (client.h). */
#include <errno.h>
#include <stdlib.h>

#include "dev/clock.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "mem/zone.h"
#include "net/loop.h"
#include "nfs/client.h"

#define NFS_SOFT_TRIES 5u
#define NFS_UNMOUNT_TRIES 4u /* the server may be gone */

static MUTEX_CLASS(nfs_rename_class, "nfs rename");
static SIMPLE_LOCK_CLASS(nfs_mount_class, "nfs mount", SPL_SOFTCLOCK);
DEFINE_ZONE(nfs_mounts, "nfs-mount", sizeof(struct nfs_mount), 8, SPL_SOFTPREEMPT, 0);

/* ADDRESS:/PATH,OPTION,... ----------------------------------------------------------------------------------------- */

static bool nfs_parse_address(const char **text, uint32_t *address)
{
    *address = 0;
    for (unsigned i = 0; i < 4; i++) {
        char *end;
        unsigned long part = strtoul(*text, &end, 10);
        if (end == *text || **text < '0' || **text > '9' || part > 255 || *end != (i < 3 ? '.' : ':'))
            return false;
        *address = *address << 8 | (uint32_t)part;
        *text = end + 1;
    }
    return true;
}

static bool nfs_parse_option(struct nfs_mount *m, const char *word, uint32_t n)
{
    static const struct {
        const char *name;
        uint32_t is;
    } options[] = {{"vers=2", 2}, {"vers=3", 3}, {"hard", 0}, {"soft", 1}};
    for (unsigned i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strlen(options[i].name) == n && !memcmp(options[i].name, word, n)) {
            if (options[i].is >= 2)
                m->v3 = options[i].is == 3;
            else
                m->tries_most = options[i].is ? NFS_SOFT_TRIES : 0;
            return true;
        }
    return false;
}

static int nfs_parse(struct nfs_mount *m, const char *text)
{
    if (!nfs_parse_address(&text, &m->server))
        return -EINVAL;
    uint32_t n = strcspn(text, ",");
    if (!n || *text != '/' || n >= sizeof m->path)
        return -EINVAL;
    memcpy(m->path, text, n);
    m->path[n] = 0;
    for (text += n; *text; text += n) {
        n = strcspn(++text, ",");
        if (!nfs_parse_option(m, text, n))
            return -EINVAL;
    }
    return 0;
}

/* The server's other programs -------------------------------------------------------------------------------------- */

/* RFC 1833, 3. The port of a program; -EPROTONOSUPPORT: not registered. */
static int nfs_ask_port(struct nfs_mount *m, uint32_t program, uint32_t version, uint32_t *port)
{
    struct nfs_message *c = nfs_begin_other(
        m, PMAP_PORT, &(struct rpc_call){.program = PMAP_PROGRAM, .version = PMAP_VERSION, .procedure = PMAP_GETPORT});
    if (!c)
        return -ENOMEM;
    const uint32_t words[] = {program, version, 17, 0};
    for (unsigned i = 0; i < 4; i++)
        xdr_put(&c->out, words[i]);
    int error = nfs_call_other(m, c);
    *port = error ? 0 : xdr_get(&c->in);
    nfs_end(c);
    return error ? error : *port && *port <= UINT16_MAX ? 0 : -EPROTONOSUPPORT;
}

static struct nfs_message *nfs_begin_mount(struct nfs_mount *m, uint32_t port, uint32_t procedure)
{
    struct nfs_message *c = nfs_begin_other(
        m, port, &(struct rpc_call){.program = MOUNT_PROGRAM, .version = m->v3 ? 3 : 1, .procedure = procedure});
    if (c)
        xdr_put_opaque(&c->out, m->path, (uint32_t)strlen(m->path));
    return c;
}

/* RFC 1094, A.5; RFC 1813, I.4.1. */
static int nfs_ask_root(struct nfs_mount *m, uint32_t port, struct nfs_handle *handle)
{
    struct nfs_message *c = nfs_begin_mount(m, port, MOUNT_MNT);
    if (!c)
        return -ENOMEM;
    int error = nfs_call(m, c);
    if (!error) {
        handle->n = NFS_HANDLE_V2;
        const uint8_t *bytes =
            m->v3 ? xdr_get_opaque(&c->in, NFS_HANDLE_MOST, &handle->n) : xdr_take(&c->in, NFS_HANDLE_V2);
        if (bytes)
            memcpy(handle->bytes, bytes, handle->n);
        error = bytes ? 0 : -EIO;
    }
    nfs_end(c);
    return error;
}

/* RFC 1094, A.5; RFC 1813, I.4.3. It does no harm if the server does not get it. */
static void nfs_say_unmounted(struct nfs_mount *m)
{
    uint32_t port;
    m->tries_most = NFS_UNMOUNT_TRIES;
    struct nfs_message *c =
        nfs_ask_port(m, MOUNT_PROGRAM, m->v3 ? 3 : 1, &port) ? 0 : nfs_begin_mount(m, port, MOUNT_UMNT);
    if (!c)
        return;
    nfs_call_other(m, c);
    nfs_end(c);
}

/* Mounts ----------------------------------------------------------------------------------------------------------- */

static int nfs_root_of(struct mount *mount, struct vnode **vpp)
{
    *vpp = &NFS_MOUNT(mount)->root->v;
    vhold(*vpp);
    return 0;
}

static int nfs_sync(struct mount *mount)
{
    (void)mount;
    return 0;
}

static void nfs_mount_free(struct nfs_mount *m)
{
    nfs_calls_end(m);
    lock_destroy(&m->mount.rename_lock);
    simple_lock_destroy(&m->lock);
    zone_free(&nfs_mounts, m);
}

static int nfs_unmount(struct mount *mount)
{
    struct nfs_mount *m = NFS_MOUNT(mount);
    if (!nfs_nodes_end(m))
        return -EBUSY;
    nfs_say_unmounted(m);
    nfs_mount_free(m);
    return 0;
}

static const struct mountops nfs_mountops = {
    .root = nfs_root_of, .sync = nfs_sync, .unmount = nfs_unmount, .statfs = nfs_statfs};

static int nfs_find_root(struct nfs_mount *m)
{
    uint32_t version = m->v3 ? 3 : 2, port;
    struct nfs_handle handle;
    struct vnode *root;
    int error = nfs_ask_port(m, MOUNT_PROGRAM, m->v3 ? 3 : 1, &port);
    if (!error)
        error = nfs_ask_root(m, port, &handle);
    if (!error)
        error = nfs_ask_port(m, NFS_PROGRAM, version, &m->port);
    if (!error)
        error = nfs_get_root(m, &handle, &root);
    if (error)
        return error;
    m->root = NFS_NODE(root);
    return root->type == VDIR ? 0 : -ENOTDIR;
}

int nfs_mount(const char *from, bool read_only, struct mount **mp)
{
    struct nfs_mount *m = zone_alloc(&nfs_mounts);
    if (!m)
        return -ENOMEM;
    uint32_t hz = clock_hz(), least = bootargs_number(BOOT(kernel, nfs_timeo)) * hz / 1000;
    *m = (struct nfs_mount){.mount = {.ops = &nfs_mountops, .read_only = read_only},
                            .v3 = true,
                            .least_ticks = MAX(least, 2u),
                            .attr_ticks = bootargs_number(BOOT(kernel, nfs_attr)) * hz / 1000,
                            .lose = bootargs_number(BOOT(kernel, nfs_lose)),
                            .repeat = bootargs_number(BOOT(kernel, nfs_repeat)),
                            .chance = random_from(run_seed, 7),
                            .lock = SIMPLE_LOCK("nfs mount", nfs_mount_class)};
    TAILQ_INIT(&m->calls);
    lock_init(&m->mount.rename_lock, &nfs_rename_class, "nfs rename");
    int error = nfs_parse(m, from);
    if (!error)
        error = nfs_calls_begin(m);
    if (!error && loop_has(m->server))
        error = -EDEADLK;
    if (!error)
        error = nfs_find_root(m);
    if (error) {
        nfs_nodes_end(m);
        nfs_mount_free(m);
        return error;
    }
    *mp = &m->mount;
    return 0;
}
