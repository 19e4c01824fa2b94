/* Files of another host as vnodes (client.h): an operation of a vnode becomes one or more calls (RFC 1813, 3.3). */
#include <errno.h>

#include "fs/vfs.h"
#include "lib/minmax.h"
#include "nfs/client.h"

static struct nfs_mount *mount_of(const struct vnode *vp)
{
    return NFS_MOUNT(vp->mount);
}

/* Arguments and results -------------------------------------------------------------------------------------------- */

static void ops_put_handle(struct nfs_message *c, const struct nfs_handle *handle)
{
    if (c->call.version == 3)
        xdr_put_opaque(&c->out, handle->bytes, handle->n);
    else
        xdr_put_bytes(&c->out, handle->bytes, NFS_HANDLE_V2);
}

static void ops_put_name(struct nfs_message *c, const struct vnode *dvp, const char *name, uint32_t n)
{
    ops_put_handle(c, &NFS_NODE(dvp)->handle);
    xdr_put_opaque(&c->out, name, n);
}

static bool ops_get_handle(struct nfs_message *c, struct nfs_handle *handle)
{
    handle->n = NFS_HANDLE_V2;
    const uint8_t *bytes =
        c->call.version == 3 ? xdr_get_opaque(&c->in, NFS_HANDLE_MOST, &handle->n) : xdr_take(&c->in, NFS_HANDLE_V2);
    if (bytes)
        memcpy(handle->bytes, bytes, handle->n);
    return bytes;
}

/* post_op_attr (RFC 1813, 2.6). False: there are none. */
static bool ops_get_post_op(struct nfs_message *c, struct vattr *attr)
{
    if (!xdr_get(&c->in))
        return false;
    nfs_get_attr(&c->in, attr, true);
    return !c->in.failed;
}

/* Caches the attributes of a known file from a reply of version 3, or, if there are none, drops the cached ones. */
static void ops_take_post_op(struct nfs_message *c, struct vnode *vp)
{
    struct vattr attr;
    if (ops_get_post_op(c, &attr))
        nfs_node_set_attr(NFS_NODE(vp), &attr);
    else
        nfs_node_forget_attr(NFS_NODE(vp));
}

/* wcc_data of version 3; version 2 has none. */
static void ops_take_wcc(struct nfs_message *c, struct vnode *vp)
{
    if (c->call.version != 3) {
        nfs_node_forget_attr(NFS_NODE(vp));
        return;
    }
    if (xdr_get(&c->in))
        xdr_take(&c->in, 24);
    ops_take_post_op(c, vp);
}

static int ops_ask_attr(struct nfs_mount *m, const struct nfs_handle *handle, struct vattr *attr)
{
    struct nfs_message *c = nfs_begin(m, NFS_GETATTR);
    if (!c)
        return -ENOMEM;
    ops_put_handle(c, handle);
    int error = nfs_call(m, c);
    if (!error) {
        nfs_get_attr(&c->in, attr, m->v3);
        error = c->in.failed || attr->type == VNON ? -EIO : 0;
    }
    nfs_end(c);
    return error;
}

int nfs_get_root(struct nfs_mount *m, const struct nfs_handle *handle, struct vnode **vpp)
{
    struct vattr attr;
    int error = ops_ask_attr(m, handle, &attr);
    return error ? error : nfs_node_get(m, handle, &attr, vpp);
}

/* A file's handle and attributes, from LOOKUP and calls that create files; version 3 may leave any out. */
static int ops_get_file(struct nfs_mount *m, struct nfs_message *c, struct vnode **vpp)
{
    struct nfs_handle handle;
    struct vattr attr;
    bool there = true;
    int error = 0;
    if (!ops_get_handle(c, &handle))
        return -EIO;
    if (m->v3)
        there = ops_get_post_op(c, &attr);
    else
        nfs_get_attr(&c->in, &attr, false);
    if (c->in.failed || (there && attr.type == VNON))
        return -EIO;
    if (!there)
        error = ops_ask_attr(m, &handle, &attr);
    return error ? error : nfs_node_get(m, &handle, &attr, vpp);
}

/* Attributes ------------------------------------------------------------------------------------------------------- */

static int nfs_getattr(struct vnode *vp, struct vattr *attr)
{
    struct nfs_node *n = NFS_NODE(vp);
    if (nfs_node_attr(n, attr))
        return 0;
    int error = ops_ask_attr(mount_of(vp), &n->handle, attr);
    if (!error && attr->type != vp->type)
        error = -ESTALE;
    if (!error)
        nfs_node_set_attr(n, attr);
    return error;
}

static int ops_set(struct vnode *vp, const struct nfs_set *set)
{
    struct nfs_mount *m = mount_of(vp);
    struct vattr attr;
    if (vp->mount->read_only)
        return -EROFS;
    struct nfs_message *c = nfs_begin(m, NFS_SETATTR);
    if (!c)
        return -ENOMEM;
    ops_put_handle(c, &NFS_NODE(vp)->handle);
    nfs_put_set(&c->out, set, m->v3);
    if (m->v3)
        xdr_put(&c->out, false); /* no check of its attributes */
    int error = nfs_call(m, c);
    if (!error && m->v3)
        ops_take_wcc(c, vp);
    if (!error && !m->v3) {
        nfs_get_attr(&c->in, &attr, false);
        nfs_node_set_attr(NFS_NODE(vp), &attr);
    }
    if (!error && c->in.failed)
        error = -EIO;
    if (error)
        nfs_node_forget_attr(NFS_NODE(vp));
    nfs_end(c);
    return error;
}

static int nfs_setattr(struct vnode *vp, const struct vattr *attr, unsigned which)
{
    struct nfs_set set = {.which = which & (ATTR_MODE | ATTR_TIMES), .attr = *attr};
    if (which & ATTR_OWNER)
        set.which |= NFS_SET_UID | NFS_SET_GID;
    return ops_set(vp, &set);
}

static int nfs_truncate(struct vnode *vp, uint64_t size)
{
    if (vp->type != VREG)
        return vp->type == VDIR ? -EISDIR : -EINVAL;
    if (vp->swapped)
        return -ETXTBSY;
    if (size > VFS_SIZE_MOST)
        return -EFBIG;
    NFS_NODE(vp)->block_bytes = 0;
    return ops_set(vp, &(struct nfs_set){.which = NFS_SET_SIZE, .attr = {.size = size}});
}

/* Contents --------------------------------------------------------------------------------------------------------- */

/* The block at `at` of the file, as the server has it now. */
static int ops_read_block(struct vnode *vp, uint64_t at)
{
    struct nfs_node *n = NFS_NODE(vp);
    struct nfs_mount *m = mount_of(vp);
    struct vattr attr;
    uint32_t bytes;
    struct nfs_message *c = nfs_begin(m, NFS_READ);
    if (!c)
        return -ENOMEM;
    n->block_bytes = 0;
    ops_put_handle(c, &n->handle);
    nfs_put_wide(&c->out, at, m->v3);
    xdr_put(&c->out, NFS_IO);
    if (!m->v3)
        xdr_put(&c->out, NFS_IO);
    int error = nfs_call(m, c);
    if (!error) {
        bool there = !m->v3 || ops_get_post_op(c, &attr);
        if (!m->v3)
            nfs_get_attr(&c->in, &attr, false);
        else
            xdr_take(&c->in, 2 * 4); /* the count, and whether it is the end */
        const uint8_t *data = xdr_get_opaque(&c->in, NFS_IO, &bytes);
        error = data && there ? 0 : -EIO;
        if (!error) {
            memcpy(n->block, data, bytes);
            n->block_at = at;
            n->block_bytes = bytes;
            n->block_mtime = attr.mtime;
            nfs_node_set_attr(n, &attr);
        }
    }
    nfs_end(c);
    return error;
}

static bool ops_has_block(const struct nfs_node *n, uint64_t at, const struct vattr *attr)
{
    return n->block_bytes && n->block_at == at && n->block_mtime == attr->mtime &&
           (n->block_bytes == NFS_IO || at + n->block_bytes >= attr->size);
}

static int nfs_read(struct vnode *vp, struct uio *uio)
{
    struct nfs_node *n = NFS_NODE(vp);
    struct vattr attr;
    int error = vp->type == VREG ? 0 : -EINVAL;
    while (uio->left && !error) {
        uint32_t within = (uint32_t)uio->offset & (NFS_IO - 1);
        uint64_t at = uio->offset - within;
        error = nfs_getattr(vp, &attr);
        if (error || uio->offset >= attr.size)
            break;
        if (!ops_has_block(n, at, &attr) && (error = ops_read_block(vp, at)))
            break;
        if (within >= n->block_bytes) /* the file is shorter now */
            break;
        error = uio_move(uio, n->block + within, MIN(uio->left, n->block_bytes - within));
    }
    return error;
}

/* Writes `bytes` of the node's block to the file, from `at` on: all of them, or an error. */
static int ops_write_block(struct vnode *vp, uint64_t at, uint32_t bytes)
{
    struct nfs_mount *m = mount_of(vp);
    struct vattr attr;
    int error = 0;
    for (uint32_t done = 0, count; done < bytes && !error; done += count) {
        count = bytes - done;
        struct nfs_message *c = nfs_begin(m, NFS_WRITE);
        if (!c)
            return -ENOMEM;
        ops_put_handle(c, &NFS_NODE(vp)->handle);
        if (!m->v3)
            xdr_put(&c->out, 0);
        nfs_put_wide(&c->out, at + done, m->v3);
        xdr_put(&c->out, count);
        if (m->v3)
            xdr_put(&c->out, NFS_FILE_SYNC);
        xdr_put_opaque(&c->out, NFS_NODE(vp)->block + done, count);
        error = nfs_call(m, c);
        if (!error && m->v3) {
            ops_take_wcc(c, vp);
            count = xdr_get(&c->in);
        } else if (!error) {
            nfs_get_attr(&c->in, &attr, false);
            nfs_node_set_attr(NFS_NODE(vp), &attr);
        }
        if (!error && (c->in.failed || !count || count > bytes - done))
            error = -EIO;
        nfs_end(c);
    }
    if (error)
        nfs_node_forget_attr(NFS_NODE(vp));
    return error;
}

static int nfs_write(struct vnode *vp, struct uio *uio, bool append)
{
    struct nfs_node *n = NFS_NODE(vp);
    struct vattr attr;
    if (vp->mount->read_only || vp->swapped || vp->type != VREG)
        return vp->mount->read_only ? -EROFS : vp->swapped ? -ETXTBSY : -EINVAL;
    if (!uio->left)
        return 0;
    int error = append ? ops_ask_attr(mount_of(vp), &n->handle, &attr) : 0;
    if (append && !error)
        uio->offset = attr.size;
    uint64_t most = uio->most && uio->most < VFS_SIZE_MOST ? uio->most : VFS_SIZE_MOST;
    n->block_bytes = 0;
    while (uio->left && !error) {
        uint64_t at = uio->offset, room = at < most ? most - at : 0;
        uint32_t count = MIN(uio->left, NFS_IO - ((uint32_t)at & (NFS_IO - 1)));
        count = count < room ? count : (uint32_t)room;
        if (!count)
            return -EFBIG;
        error = uio_move(uio, n->block, count);
        if (error)
            break;
        error = ops_write_block(vp, at, count);
        if (error) { /* the unwritten part stays in `uio` */
            uio->left += count;
            uio->offset = at;
        }
    }
    return error;
}

static int nfs_fsync(struct vnode *vp)
{
    (void)vp;
    return 0;
}

static int nfs_readlink(struct vnode *vp, char *text, uint32_t size)
{
    struct nfs_mount *m = mount_of(vp);
    uint32_t n = 0;
    if (vp->type != VLNK)
        return -EINVAL;
    struct nfs_message *c = nfs_begin(m, NFS_READLINK);
    if (!c)
        return -ENOMEM;
    ops_put_handle(c, &NFS_NODE(vp)->handle);
    int error = nfs_call(m, c);
    if (!error) {
        if (m->v3)
            ops_take_post_op(c, vp);
        const uint8_t *path = xdr_get_opaque(&c->in, NFS_PATH_MOST, &n);
        n = MIN(n, size);
        if (path)
            memcpy(text, path, n);
        else
            error = -EIO;
    }
    nfs_end(c);
    return error ? error : (int)n;
}

/* Directories ------------------------------------------------------------------------------------------------------ */

static int nfs_lookup(struct vnode *dvp, const char *name, uint32_t length, struct vnode **vpp)
{
    struct nfs_mount *m = mount_of(dvp);
    if (length == 1 && name[0] == '.') {
        vhold(dvp);
        *vpp = dvp;
        return 0;
    }
    struct nfs_message *c = nfs_begin(m, NFS_LOOKUP);
    if (!c)
        return -ENOMEM;
    ops_put_name(c, dvp, name, length);
    int error = nfs_call(m, c);
    if (!error)
        error = ops_get_file(m, c, vpp);
    nfs_end(c);
    return error;
}

/* The entries of a reply. 1: `fn` ended it; -EIO: malformed. *cookie is after the last one. */
static int ops_each_entry(struct nfs_message *c, dirent_fn *fn, void *arg, uint64_t *cookie)
{
    bool v3 = c->call.version == 3;
    while (xdr_get(&c->in)) {
        struct dirent_out entry = {.type = VNON};
        entry.ino = (uint32_t)nfs_get_wide(&c->in, v3);
        entry.name = (const char *)xdr_get_opaque(&c->in, NAME_MOST, &entry.length);
        entry.next = nfs_get_wide(&c->in, v3);
        if (c->in.failed || !entry.length || memchr(entry.name, '/', entry.length))
            return -EIO;
        if (!fn(arg, &entry))
            return 1;
        *cookie = entry.next;
    }
    return 0;
}

static int nfs_readdir(struct vnode *vp, uint64_t offset, dirent_fn *fn, void *arg)
{
    struct nfs_mount *m = mount_of(vp);
    uint8_t verifier[NFS_COOKIE_VERIFIER] = {0};
    int error = vp->type == VDIR ? 0 : -ENOTDIR;
    for (bool end = false; !end && !error;) {
        uint64_t before = offset;
        struct nfs_message *c = nfs_begin(m, NFS_READDIR);
        if (!c)
            return -ENOMEM;
        ops_put_handle(c, &NFS_NODE(vp)->handle);
        nfs_put_wide(&c->out, offset, m->v3);
        if (m->v3)
            xdr_put_bytes(&c->out, verifier, sizeof verifier);
        xdr_put(&c->out, NFS_IO);
        error = nfs_call(m, c);
        if (!error && m->v3) {
            ops_take_post_op(c, vp);
            const uint8_t *its = xdr_take(&c->in, sizeof verifier);
            if (its)
                memcpy(verifier, its, sizeof verifier);
        }
        if (!error)
            error = ops_each_entry(c, fn, arg, &offset);
        if (!error) {
            end = xdr_get(&c->in) || offset == before;
            error = c->in.failed ? -EIO : 0;
        }
        nfs_end(c);
    }
    return error > 0 ? 0 : error;
}

/* Names ------------------------------------------------------------------------------------------------------------ */

/* Version 2 has no MKNOD: the type is in the mode, and the device's number in place of the size. */
static void ops_put_new(struct nfs_message *c, bool v3, const struct vattr *attr, const char *target)
{
    struct nfs_set set = {.which = ATTR_MODE | NFS_SET_UID | NFS_SET_GID, .attr = *attr};
    bool special = nfs_is_special(attr->type);
    set.attr.size = special ? attr->rdev : 0;
    set.which |= special && !v3 ? NFS_SET_SIZE : 0;
    if (special && v3)
        xdr_put(&c->out, nfs_ftype(attr->type, true));
    if (attr->type == VREG && v3)
        xdr_put(&c->out, NFS_GUARDED);
    if (target && !v3)
        xdr_put_opaque(&c->out, target, (uint32_t)strlen(target));
    nfs_put_set(&c->out, &set, v3);
    if (target && v3)
        xdr_put_opaque(&c->out, target, (uint32_t)strlen(target));
    if (v3 && (attr->type == VBLK || attr->type == VCHR)) {
        xdr_put(&c->out, attr->rdev >> 8);
        xdr_put(&c->out, attr->rdev & 0xff);
    }
}

static enum nfs_procedure ops_that_makes(enum vtype type, bool v3)
{
    return type == VDIR ? NFS_MKDIR : type == VLNK ? NFS_SYMLINK : type == VREG || !v3 ? NFS_CREATE : NFS_MKNOD;
}

static int nfs_create(struct vnode *dvp, const char *name, uint32_t length, const struct vattr *attr,
                      const char *target, struct vnode **vpp)
{
    struct nfs_mount *m = mount_of(dvp);
    if (length > NAME_MOST || (target && strlen(target) >= NFS_PATH_MOST))
        return -ENAMETOOLONG;
    int error = m->v3 ? -ENOENT : nfs_lookup(dvp, name, length, vpp); /* its CREATE opens an existing file */
    if (error != -ENOENT) {
        if (!error)
            vrele(*vpp);
        *vpp = 0;
        return error ? error : -EEXIST;
    }
    if (dvp->mount->read_only)
        return -EROFS;
    struct nfs_message *c = nfs_begin(m, ops_that_makes(attr->type, m->v3));
    if (!c)
        return -ENOMEM;
    ops_put_name(c, dvp, name, length);
    ops_put_new(c, m->v3, attr, target);
    error = nfs_call(m, c);
    *vpp = 0;
    if (!error && (m->v3 ? xdr_get(&c->in) : attr->type != VLNK))
        error = ops_get_file(m, c, vpp);
    nfs_node_forget_attr(NFS_NODE(dvp));
    nfs_end(c);
    return error || *vpp ? error : nfs_lookup(dvp, name, length, vpp);
}

static int nfs_link(struct vnode *dvp, const char *name, uint32_t length, struct vnode *vp)
{
    struct nfs_mount *m = mount_of(dvp);
    if (dvp->mount != vp->mount)
        return -EXDEV;
    if (length > NAME_MOST)
        return -ENAMETOOLONG;
    if (dvp->mount->read_only)
        return -EROFS;
    struct nfs_message *c = nfs_begin(m, NFS_LINK);
    if (!c)
        return -ENOMEM;
    ops_put_handle(c, &NFS_NODE(vp)->handle);
    ops_put_name(c, dvp, name, length);
    int error = nfs_call(m, c);
    nfs_end(c);
    nfs_node_forget_attr(NFS_NODE(vp));
    nfs_node_forget_attr(NFS_NODE(dvp));
    return error;
}

static int ops_remove(struct vnode *dvp, const char *name, uint32_t length, enum nfs_procedure procedure)
{
    struct nfs_mount *m = mount_of(dvp);
    struct nfs_message *c = nfs_begin(m, procedure);
    if (!c)
        return -ENOMEM;
    ops_put_name(c, dvp, name, length);
    int error = nfs_call(m, c);
    if (!error)
        ops_take_wcc(c, dvp);
    nfs_end(c);
    return error;
}

static int ops_rename(struct vnode *from, const char *name, uint32_t length, struct vnode *to, const char *new_name,
                      uint32_t new_length)
{
    struct nfs_mount *m = mount_of(from);
    struct nfs_message *c = nfs_begin(m, NFS_RENAME);
    if (!c)
        return -ENOMEM;
    ops_put_name(c, from, name, length);
    ops_put_name(c, to, new_name, new_length);
    int error = nfs_call(m, c);
    nfs_end(c);
    nfs_node_forget_attr(NFS_NODE(from));
    nfs_node_forget_attr(NFS_NODE(to));
    return error;
}

/*
 * A file in use loses its name, but the server does not know that it is in use: so it gets another name, and is removed
 * with its last reference. The caller holds a reference.
 */
static int ops_hide(struct vnode *dvp, const char *name, uint32_t length, struct nfs_node *n)
{
    char hidden[sizeof n->gone_name] = ".nfs";
    uint32_t number = __atomic_add_fetch(&mount_of(dvp)->xid, 1, __ATOMIC_RELAXED), at = strlen(hidden);
    if (n->gone_from)
        return -EBUSY;
    for (unsigned shift = 32; shift; at++) {
        shift -= 4;
        hidden[at] = "0123456789abcdef"[number >> shift & 15];
    }
    hidden[at] = 0;
    int error = ops_rename(dvp, name, length, dvp, hidden, at);
    if (!error)
        nfs_node_set_gone(n, NFS_NODE(dvp), hidden);
    return error;
}

/* Called before a file loses its name. 1: it has lost it. */
static int ops_before_remove(struct vnode *dvp, const char *name, uint32_t length, bool directory)
{
    struct vnode *vp;
    int error = nfs_lookup(dvp, name, length, &vp);
    if (error)
        return error;
    if (vp->mounted)
        error = -EBUSY;
    else if (!directory && vp->type == VDIR)
        error = -EISDIR;
    else if (vp->type != VDIR && !directory && nfs_node_is_used(NFS_NODE(vp)))
        error = ops_hide(dvp, name, length, NFS_NODE(vp));
    else
        error = 1;
    nfs_node_forget_attr(NFS_NODE(vp));
    vrele(vp);
    return error > 0 ? 0 : error ? error : 1;
}

static int nfs_remove(struct vnode *dvp, const char *name, uint32_t length, bool directory)
{
    if (dvp->mount->read_only)
        return -EROFS;
    int gone = ops_before_remove(dvp, name, length, directory);
    if (gone)
        return gone < 0 ? gone : 0;
    return ops_remove(dvp, name, length, directory ? NFS_RMDIR : NFS_REMOVE);
}

static int nfs_rename(struct vnode *from, const char *name, uint32_t length, struct vnode *to, const char *new_name,
                      uint32_t new_length)
{
    struct vnode *old, *vp;
    if (new_length > NAME_MOST)
        return -ENAMETOOLONG;
    if (from->mount->read_only)
        return -EROFS;
    int error = nfs_lookup(from, name, length, &vp);
    if (error)
        return error;
    error = nfs_lookup(to, new_name, new_length, &old);
    if (error)
        old = 0;
    error = error == -ENOENT ? 0 : error;
    if (!error && (vp->mounted || (old && old->mounted)))
        error = -EBUSY;
    /* The replaced file is removed; if both names are one file, none is. */
    if (!error && old && old != vp && old->type != VDIR && vp->type != VDIR && nfs_node_is_used(NFS_NODE(old)))
        error = ops_hide(to, new_name, new_length, NFS_NODE(old));
    if (old) {
        nfs_node_forget_attr(NFS_NODE(old));
        vrele(old);
    }
    vrele(vp);
    return error ? error : ops_rename(from, name, length, to, new_name, new_length);
}

static void nfs_release(struct vnode *vp)
{
    struct nfs_node *n = NFS_NODE(vp), *from;
    if (!nfs_node_drop(n))
        return;
    from = n->gone_from;
    ops_remove(&from->v, n->gone_name, (uint32_t)strlen(n->gone_name), NFS_REMOVE); /* else the name stays */
    nfs_node_set_gone(n, 0, "");
    nfs_release(vp);
    nfs_release(&from->v);
}

/* The file system -------------------------------------------------------------------------------------------------- */

void nfs_statfs(struct mount *mount, struct statfs_out *to)
{
    struct nfs_mount *m = NFS_MOUNT(mount);
    struct nfs_message *c = nfs_begin(m, NFS_FSSTAT);
    *to = (struct statfs_out){.block_size = NFS_IO};
    if (!c)
        return;
    ops_put_handle(c, &m->root->handle);
    if (!nfs_call(m, c)) {
        if (!m->v3) {
            xdr_get(&c->in);
            to->block_size = xdr_get(&c->in);
            to->blocks = xdr_get(&c->in);
            to->blocks_free = xdr_get(&c->in);
        } else {
            ops_take_post_op(c, &m->root->v);
            to->blocks = (uint32_t)(xdr_get_hyper(&c->in) / NFS_IO);
            to->blocks_free = (uint32_t)(xdr_get_hyper(&c->in) / NFS_IO);
            xdr_get_hyper(&c->in);
            to->files = (uint32_t)xdr_get_hyper(&c->in);
            to->files_free = (uint32_t)xdr_get_hyper(&c->in);
        }
    }
    nfs_end(c);
}

const struct vnodeops nfs_vnodeops = {.lookup = nfs_lookup,
                                      .create = nfs_create,
                                      .link = nfs_link,
                                      .remove = nfs_remove,
                                      .rename = nfs_rename,
                                      .read = nfs_read,
                                      .write = nfs_write,
                                      .truncate = nfs_truncate,
                                      .getattr = nfs_getattr,
                                      .setattr = nfs_setattr,
                                      .readdir = nfs_readdir,
                                      .readlink = nfs_readlink,
                                      .fsync = nfs_fsync,
                                      .hold = nfs_node_hold,
                                      .release = nfs_release};
