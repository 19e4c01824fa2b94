/*
 * Files of the client (client.h): a table by handle, in which a file that is not referenced any more stays for a while,
 * with its cached attributes.
 */
#include <errno.h>

#include "lib/panic.h"
#include "mem/zone.h"
#include "nfs/client.h"
#include "sched/timeout.h"

#define NFS_CHAINS 64
#define NFS_UNUSED_MOST 128u /* files without references */

static MUTEX_CLASS(nfs_node_class, "nfs node");
DEFINE_ZONE(nfs_nodes, "nfs-node", sizeof(struct nfs_node), 8, SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(nfs_blocks, "nfs-block", NFS_IO, 8, SPL_SOFTPREEMPT, 0);
DEFINE_SIMPLE_LOCK(nfs_nodes_lock, "nfs nodes", SPL_SOFTPREEMPT);
static LIST_HEAD(nfs_chain, nfs_node) nfs_chains[NFS_CHAINS];
static TAILQ_HEAD(, nfs_node) nfs_unused = TAILQ_HEAD_INITIALIZER(nfs_unused);
static uint32_t nfs_unused_count;

static struct nfs_chain *nfs_chain_of(const struct nfs_handle *handle)
{
    uint32_t hash = 0;
    for (uint32_t i = 0; i < handle->n; i++)
        hash = hash * 31 + handle->bytes[i];
    return &nfs_chains[(hash ^ hash >> 16) % NFS_CHAINS];
}

/* The next three with nfs_nodes_lock held. */
static void nfs_put_attr_in(struct nfs_node *n, const struct vattr *attr)
{
    n->attr = *attr;
    n->attr_known = true;
    n->attr_until = clock_ticks() + NFS_MOUNT(n->v.mount)->attr_ticks;
}

static struct nfs_node *nfs_node_find(const struct nfs_mount *m, const struct nfs_handle *handle)
{
    struct nfs_node *n;
    LIST_FOREACH(n, nfs_chain_of(handle), hashed)
        if (n->v.mount == &m->mount && n->handle.n == handle->n && !memcmp(n->handle.bytes, handle->bytes, handle->n))
            return n;
    return 0;
}

static void nfs_node_refer(struct nfs_node *n)
{
    if (!n->references++) {
        TAILQ_REMOVE(&nfs_unused, n, unused);
        nfs_unused_count--;
    }
}

static void nfs_node_free(struct nfs_node *n)
{
    lock_destroy(&n->v.lock);
    if (n->block)
        zone_free(&nfs_blocks, n->block);
    zone_free(&nfs_nodes, n);
}

static struct nfs_node *nfs_node_new(struct nfs_mount *m, const struct nfs_handle *handle, const struct vattr *attr)
{
    struct nfs_node *n = zone_alloc(&nfs_nodes);
    uint8_t *block = attr->type == VREG ? zone_alloc(&nfs_blocks) : 0;
    if (!n || (attr->type == VREG && !block)) {
        if (n)
            zone_free(&nfs_nodes, n);
        return 0;
    }
    *n = (struct nfs_node){.v = {.ops = &nfs_vnodeops, .mount = &m->mount, .type = attr->type, .rdev = attr->rdev},
                           .handle = *handle,
                           .references = 1,
                           .block = block};
    lock_init(&n->v.lock, &nfs_node_class, "nfs node");
    return n;
}

int nfs_node_get(struct nfs_mount *m, const struct nfs_handle *handle, const struct vattr *attr, struct vnode **vpp)
{
    struct nfs_node *fresh = 0, *n;
    for (;;) {
        crit_t s = simple_lock_enter(&nfs_nodes_lock);
        n = nfs_node_find(m, handle);
        if (n) {
            nfs_node_refer(n);
        } else if (fresh) {
            n = fresh;
            fresh = 0;
            LIST_INSERT_HEAD(nfs_chain_of(handle), n, hashed);
        }
        bool same = n && n->v.type == attr->type;
        if (same)
            nfs_put_attr_in(n, attr);
        simple_lock_leave(&nfs_nodes_lock, s);
        if (n) {
            if (fresh)
                nfs_node_free(fresh);
            if (!same)
                nfs_node_drop(n);
            else
                *vpp = &n->v;
            return same ? 0 : -ESTALE;
        }
        fresh = nfs_node_new(m, handle, attr);
        if (!fresh)
            return -ENOMEM;
    }
}

void nfs_node_hold(struct vnode *vp)
{
    struct nfs_node *n = NFS_NODE(vp);
    crit_t s = simple_lock_enter(&nfs_nodes_lock);
    assert(n->references);
    n->references++;
    simple_lock_leave(&nfs_nodes_lock, s);
}

bool nfs_node_drop(struct nfs_node *n)
{
    struct nfs_node *oldest = 0;
    crit_t s = simple_lock_enter(&nfs_nodes_lock);
    assert(n->references);
    bool removes = n->references == 1 && n->gone_from;
    if (!removes && !--n->references) {
        TAILQ_INSERT_TAIL(&nfs_unused, n, unused);
        if (++nfs_unused_count > NFS_UNUSED_MOST) {
            oldest = TAILQ_FIRST(&nfs_unused);
            TAILQ_REMOVE(&nfs_unused, oldest, unused);
            LIST_REMOVE(oldest, hashed);
            nfs_unused_count--;
        }
    }
    simple_lock_leave(&nfs_nodes_lock, s);
    if (oldest)
        nfs_node_free(oldest);
    return removes;
}

bool nfs_node_is_used(const struct nfs_node *n)
{
    crit_t s = simple_lock_enter(&nfs_nodes_lock);
    bool used = n->references > 1;
    simple_lock_leave(&nfs_nodes_lock, s);
    return used;
}

void nfs_node_set_attr(struct nfs_node *n, const struct vattr *attr)
{
    crit_t s = simple_lock_enter(&nfs_nodes_lock);
    nfs_put_attr_in(n, attr);
    simple_lock_leave(&nfs_nodes_lock, s);
}

bool nfs_node_attr(const struct nfs_node *n, struct vattr *attr)
{
    crit_t s = simple_lock_enter(&nfs_nodes_lock);
    bool known = n->attr_known && (int32_t)(n->attr_until - clock_ticks()) > 0;
    if (known)
        *attr = n->attr;
    simple_lock_leave(&nfs_nodes_lock, s);
    return known;
}

void nfs_node_forget_attr(struct nfs_node *n)
{
    crit_t s = simple_lock_enter(&nfs_nodes_lock);
    n->attr_known = false;
    simple_lock_leave(&nfs_nodes_lock, s);
}

void nfs_node_set_gone(struct nfs_node *n, struct nfs_node *from, const char *name)
{
    crit_t s = simple_lock_enter(&nfs_nodes_lock);
    if (from)
        from->references++;
    n->gone_from = from;
    strcpy(n->gone_name, name);
    simple_lock_leave(&nfs_nodes_lock, s);
}

/* A node of the mount; null: none. With nfs_nodes_lock held. */
static struct nfs_node *nfs_node_of(const struct nfs_mount *m)
{
    struct nfs_node *n;
    for (unsigned i = 0; i < NFS_CHAINS; i++)
        LIST_FOREACH(n, &nfs_chains[i], hashed)
            if (n->v.mount == &m->mount)
                return n;
    return 0;
}

bool nfs_nodes_end(struct nfs_mount *m)
{
    bool used = false;
    struct nfs_node *n;
    crit_t s = simple_lock_enter(&nfs_nodes_lock);
    for (unsigned i = 0; i < NFS_CHAINS; i++)
        LIST_FOREACH(n, &nfs_chains[i], hashed)
            used |= n->v.mount == &m->mount && n->references > (n == m->root);
    simple_lock_leave(&nfs_nodes_lock, s);
    if (used)
        return false;
    if (m->root)
        nfs_node_drop(m->root);
    m->root = 0;
    do {
        s = simple_lock_enter(&nfs_nodes_lock);
        n = nfs_node_of(m);
        if (n) {
            TAILQ_REMOVE(&nfs_unused, n, unused);
            LIST_REMOVE(n, hashed);
            nfs_unused_count--;
        }
        simple_lock_leave(&nfs_nodes_lock, s);
        if (n)
            nfs_node_free(n);
    } while (n);
    return true;
}
