/*
 * The server's procedures of NFS (RFC 1813, 3.3; RFC 1094, 2.2). A procedure decodes all of its arguments, checks that
 * they were valid, opens the files of its handles, acts, and writes its results. Its changes are on the medium before
 * it answers, as both versions require, except for an unstable write of version 3.
 */
#include "nfs/server.h"

#include <errno.h>

#include "fs/ext2.h"
#include "fs/vfs.h"
#include "lib/minmax.h"

/* Handles ---------------------------------------------------------------------------------------------------------- */

#define HANDLE_MAGIC 0x494c4e46u

void nfs_make_handle(const struct vnode *vp, uint8_t *handle)
{
    uint32_t number, generation;
    memset(handle, 0, NFS_HANDLE_V2);
    ext2_handle(vp, &number, &generation);
    put32(handle, HANDLE_MAGIC);
    put32(handle + 4, nfs_export.fsid);
    put32(handle + 8, number);
    put32(handle + 12, generation);
}

static void serve_get_handle(struct nfs_serving *c, unsigned i)
{
    uint32_t n = NFS_HANDLE_V2;
    c->handle[i] = c->v3 ? xdr_get_opaque(&c->in, NFS_HANDLE_MOST, &n) : xdr_take(&c->in, n);
    if (n != NFS_HANDLE_V2)
        c->handle[i] = 0;
}

/* The file of a handle, with a reference that the call keeps. */
static int serve_open(struct nfs_serving *c, unsigned i)
{
    static const uint8_t rest[16];
    const uint8_t *handle = c->handle[i];
    if (!handle || get32(handle) != HANDLE_MAGIC || memcmp(handle + 16, rest, sizeof rest))
        return -NFS_ERR_BADHANDLE;
    if (get32(handle + 4) != nfs_export.fsid)
        return -ESTALE;
    return ext2_by_handle(nfs_export.root->mount, get32(handle + 8), get32(handle + 12), &c->file[i]);
}

/* The same where a handle is all of the arguments. */
static int serve_open_only(struct nfs_serving *c)
{
    serve_get_handle(c, 0);
    return c->in.failed ? NFS_GARBAGE : serve_open(c, 0);
}

static int serve_open_directory(struct nfs_serving *c, unsigned i)
{
    int error = serve_open(c, i);
    return error ? error : c->file[i]->type == VDIR ? 0 : -ENOTDIR;
}

/* Opens a directory that is to be changed. */
static int serve_open_to_change(struct nfs_serving *c, unsigned i)
{
    int error = serve_open_directory(c, i);
    return error ? error : nfs_export.read_only ? -EROFS : 0;
}

/* Names and attributes --------------------------------------------------------------------------------------------- */

struct serve_name {
    const char *text;
    uint32_t n;
};

static struct serve_name serve_get_name(struct nfs_serving *c)
{
    struct serve_name name;
    name.text = (const char *)xdr_get_opaque(&c->in, RPC_MOST, &name.n);
    return name;
}

static int serve_name_is_wrong(const struct serve_name *name)
{
    if (name->n > NAME_MOST)
        return -ENAMETOOLONG;
    return !name->n || memchr(name->text, '/', name->n) || memchr(name->text, 0, name->n) ? -EINVAL : 0;
}

static bool serve_name_is_dots(const struct serve_name *name)
{
    return name->n <= 2 && name->text[0] == '.' && name->text[name->n - 1] == '.';
}

/* Checks a name that is to be created (`error`: -EEXIST) or removed (-EINVAL). */
static int serve_name_to_change(const struct serve_name *name, int error)
{
    int wrong = serve_name_is_wrong(name);
    return wrong ? wrong : serve_name_is_dots(name) ? error : 0;
}

static void serve_put_post_op(struct nfs_serving *c, struct vnode *vp)
{
    struct vattr attr;
    bool there = vp && !vfs_getattr(vp, &attr);
    xdr_put(&c->out, there);
    if (there)
        nfs_put_attr(&c->out, &attr, nfs_export.fsid, true);
}

/* Attributes after a change; those before it are not reliably known, so they are left out. */
static void serve_put_wcc(struct nfs_serving *c, struct vnode *vp)
{
    xdr_put(&c->out, false);
    serve_put_post_op(c, vp);
}

static int serve_put_attr(struct nfs_serving *c, struct vnode *vp)
{
    struct vattr attr;
    int error = vfs_getattr(vp, &attr);
    if (!error)
        nfs_put_attr(&c->out, &attr, nfs_export.fsid, c->v3);
    return error;
}

/* A file that was looked up or created: diropres (RFC 1094, 2.3.11) or handle and attributes of version 3. */
static int serve_put_file(struct nfs_serving *c, struct vnode *vp, bool made)
{
    uint8_t handle[NFS_HANDLE_V2];
    nfs_make_handle(vp, handle);
    if (!c->v3) {
        xdr_put_bytes(&c->out, handle, sizeof handle);
        return serve_put_attr(c, vp);
    }
    if (made)
        xdr_put(&c->out, true);
    xdr_put_opaque(&c->out, handle, sizeof handle);
    serve_put_post_op(c, vp);
    return 0;
}

static int serve_set(struct vnode *vp, const struct nfs_set *set)
{
    struct vattr attr;
    unsigned which = set->which & (ATTR_MODE | ATTR_TIMES);
    if (nfs_export.read_only)
        return -EROFS;
    int error =
        set->which & NFS_SET_SIZE ? set->attr.size > VFS_SIZE_MOST ? -EFBIG : vfs_truncate(vp, set->attr.size) : 0;
    if (!error)
        error = vfs_getattr(vp, &attr);
    if (error)
        return error;
    attr.mode = set->which & ATTR_MODE ? set->attr.mode : attr.mode;
    attr.atime = set->which & ATTR_ATIME ? set->attr.atime : attr.atime;
    attr.mtime = set->which & ATTR_MTIME ? set->attr.mtime : attr.mtime;
    if (set->which & (NFS_SET_UID | NFS_SET_GID)) {
        attr.uid = set->which & NFS_SET_UID ? set->attr.uid : attr.uid;
        attr.gid = set->which & NFS_SET_GID ? set->attr.gid : attr.gid;
        which |= ATTR_OWNER;
    }
    return which ? vfs_setattr(vp, &attr, which) : 0;
}

/* The procedures --------------------------------------------------------------------------------------------------- */

static int serve_getattr(struct nfs_serving *c)
{
    int error = serve_open_only(c);
    return error ? error : serve_put_attr(c, c->file[0]);
}

static int serve_setattr(struct nfs_serving *c)
{
    struct nfs_set set;
    struct vattr attr;
    serve_get_handle(c, 0);
    nfs_get_set(&c->in, &set, c->v3);
    bool guarded = c->v3 && xdr_get(&c->in);
    int32_t ctime = guarded ? (int32_t)xdr_get(&c->in) : 0;
    if (guarded)
        xdr_get(&c->in);
    if (c->in.failed)
        return NFS_GARBAGE;
    int error = serve_open(c, 0);
    if (!error && guarded && !(error = vfs_getattr(c->file[0], &attr)) && attr.ctime != ctime)
        error = -NFS_ERR_NOT_SYNC;
    if (!error)
        error = serve_set(c->file[0], &set);
    if (!error)
        error = vfs_fsync(c->file[0]);
    if (error)
        return error;
    if (!c->v3)
        return serve_put_attr(c, c->file[0]);
    serve_put_wcc(c, c->file[0]);
    return 0;
}

/* The file of that name in an open directory, with a reference. */
static int serve_find(struct vnode *dvp, const struct serve_name *name, struct vnode **vpp)
{
    lock_read(&dvp->lock);
    int error = dvp->ops->lookup(dvp, name->text, name->n, vpp);
    lock_done(&dvp->lock);
    return error;
}

static int serve_lookup(struct nfs_serving *c)
{
    serve_get_handle(c, 0);
    struct serve_name name = serve_get_name(c);
    if (c->in.failed)
        return NFS_GARBAGE;
    int error = serve_open_directory(c, 0);
    if (!error)
        error = serve_name_is_wrong(&name);
    if (!error)
        error = serve_find(c->file[0], &name, &c->file[1]);
    if (!error)
        error = serve_put_file(c, c->file[1], false);
    if (!error && c->v3)
        serve_put_post_op(c, c->file[0]);
    return error;
}

enum {
    ACCESS_READ = 1,
    ACCESS_LOOKUP = 2,
    ACCESS_MODIFY = 4,
    ACCESS_EXTEND = 8,
    ACCESS_DELETE = 16,
    ACCESS_EXECUTE = 32
};

/* There is one user, root: only rights that make no sense are refused, and changes on a read-only server. */
static int serve_access(struct nfs_serving *c)
{
    serve_get_handle(c, 0);
    uint32_t wanted = xdr_get(&c->in);
    if (c->in.failed)
        return NFS_GARBAGE;
    int error = serve_open(c, 0);
    if (error)
        return error;
    uint32_t may = ACCESS_READ | ACCESS_MODIFY | ACCESS_EXTEND;
    may |= c->file[0]->type == VDIR ? ACCESS_LOOKUP | ACCESS_DELETE : ACCESS_EXECUTE;
    if (nfs_export.read_only)
        may &= ~(uint32_t)(ACCESS_MODIFY | ACCESS_EXTEND | ACCESS_DELETE);
    serve_put_post_op(c, c->file[0]);
    xdr_put(&c->out, wanted & may);
    return 0;
}

static int serve_readlink(struct nfs_serving *c)
{
    int error = serve_open_only(c);
    if (error)
        return error;
    int n = vfs_readlink(c->file[0], c->path, NFS_PATH_MOST);
    if (n < 0)
        return n;
    if (c->v3)
        serve_put_post_op(c, c->file[0]);
    xdr_put_opaque(&c->out, c->path, (uint32_t)n);
    return 0;
}

static int serve_regular(const struct vnode *vp)
{
    return vp->type == VREG ? 0 : vp->type == VDIR ? -EISDIR : -EINVAL;
}

/* The data are read directly into the answer, after the attributes that precede them. */
static int serve_read(struct nfs_serving *c)
{
    struct uio uio;
    struct vattr attr;
    serve_get_handle(c, 0);
    uint64_t offset = nfs_get_wide(&c->in, c->v3);
    uint32_t count = xdr_get(&c->in);
    if (!c->v3)
        xdr_get(&c->in);
    if (c->in.failed)
        return NFS_GARBAGE;
    int error = serve_open(c, 0);
    if (!error)
        error = serve_regular(c->file[0]);
    if (error)
        return error;
    struct xdr data = c->out;
    xdr_take(&data, c->v3 ? 4 + 84 + 3 * 4 : 68 + 4);
    count = MIN(count, NFS_IO);
    uio_kernel(&uio, data.at, count, MIN(offset, (uint64_t)VFS_SIZE_MOST), false);
    error = vfs_read(c->file[0], &uio);
    if (!error)
        error = vfs_getattr(c->file[0], &attr);
    if (error)
        return error;
    count -= uio.left;
    if (c->v3)
        xdr_put(&c->out, true);
    nfs_put_attr(&c->out, &attr, nfs_export.fsid, c->v3);
    if (c->v3) {
        xdr_put(&c->out, count);
        xdr_put(&c->out, offset + count >= attr.size);
    }
    xdr_put(&c->out, count);
    uint8_t *end = xdr_take(&c->out, count);
    if (end)
        memset(end + count, 0, xdr_padded(count) - count);
    return 0;
}

static void serve_put_verifier(struct nfs_serving *c)
{
    xdr_put(&c->out, nfs_export.fsid);
    xdr_put(&c->out, nfs_export.boots);
}

static int serve_write(struct nfs_serving *c)
{
    struct uio uio;
    uint32_t n;
    serve_get_handle(c, 0);
    if (!c->v3)
        xdr_get(&c->in);
    uint64_t offset = nfs_get_wide(&c->in, c->v3);
    uint32_t count = xdr_get(&c->in), stable = c->v3 ? xdr_get(&c->in) : NFS_FILE_SYNC;
    const uint8_t *data = xdr_get_opaque(&c->in, RPC_MOST, &n);
    if (c->in.failed || stable > NFS_FILE_SYNC || (c->v3 && count > n))
        return NFS_GARBAGE;
    n = c->v3 ? count : n;
    int error = serve_open(c, 0);
    if (!error)
        error = nfs_export.read_only ? -EROFS : serve_regular(c->file[0]);
    if (!error && (offset > VFS_SIZE_MOST || n > VFS_SIZE_MOST - offset))
        error = -EFBIG;
    if (error)
        return error;
    uio_kernel(&uio, (uint8_t *)data, n, offset, true);
    uio.most = VFS_SIZE_MOST;
    error = vfs_write(c->file[0], &uio, false);
    if (!error && stable != NFS_UNSTABLE)
        error = vfs_fsync(c->file[0]);
    if (error)
        return error;
    if (!c->v3)
        return serve_put_attr(c, c->file[0]);
    serve_put_wcc(c, c->file[0]);
    xdr_put(&c->out, n);
    xdr_put(&c->out, stable ? NFS_FILE_SYNC : NFS_UNSTABLE);
    serve_put_verifier(c);
    return 0;
}

/* Creates a file of type `type`, with the given attributes: with a reference in c->file[1]. */
static int serve_make(struct nfs_serving *c, const struct serve_name *name, enum vtype type, uint32_t rdev,
                      const struct nfs_set *set, const char *target)
{
    struct vnode *dvp = c->file[0];
    struct vattr attr = {.type = type, .rdev = rdev};
    uint32_t mode = set->which & ATTR_MODE ? set->attr.mode & MODE_BITS : type == VDIR ? 0755 : 0644;
    attr.mode = nfs_mode_of(type) | (uint16_t)(type == VLNK ? 0777 : mode);
    attr.uid = set->which & NFS_SET_UID ? set->attr.uid : c->call.uid;
    attr.gid = set->which & NFS_SET_GID ? set->attr.gid : c->call.gid;
    lock_write(&dvp->lock);
    int error = dvp->ops->create(dvp, name->text, name->n, &attr, target, &c->file[1]);
    lock_done(&dvp->lock);
    if (error)
        return error;
    struct nfs_set rest = *set;
    rest.which &= ATTR_TIMES | (type == VREG && set->attr.size ? NFS_SET_SIZE : 0);
    return rest.which ? serve_set(c->file[1], &rest) : 0;
}

static int serve_made(struct nfs_serving *c)
{
    int error = vfs_fsync(c->file[1]);
    if (!error)
        error = serve_put_file(c, c->file[1], true);
    if (!error && c->v3)
        serve_put_wcc(c, c->file[0]);
    return error;
}

/* The file exists: it is the result, unless the call forbids that. */
static int serve_create_there(struct nfs_serving *c, const struct serve_name *name, uint32_t how,
                              const struct nfs_set *set)
{
    struct vattr attr;
    if (how == NFS_GUARDED)
        return -EEXIST;
    int error = serve_find(c->file[0], name, &c->file[1]);
    if (error)
        return error;
    if (c->file[1]->type != VREG)
        return -EEXIST;
    if (how == NFS_EXCLUSIVE) { /* created by this call, if it has the verifier */
        error = vfs_getattr(c->file[1], &attr);
        return error ? error : attr.atime == set->attr.atime && attr.mtime == set->attr.mtime ? 0 : -EEXIST;
    }
    struct nfs_set size = *set;
    size.which &= NFS_SET_SIZE;
    return size.which ? serve_set(c->file[1], &size) : 0;
}

/* Clients of version 2 create special files by the type in the mode, with the device's number as size. */
static enum vtype serve_type_of_v2(const struct nfs_set *set)
{
    enum vtype type = set->which & ATTR_MODE ? nfs_type_of(set->attr.mode) : VNON;
    return nfs_is_special(type) ? type : VREG;
}

static int serve_create(struct nfs_serving *c)
{
    struct nfs_set set = {0};
    serve_get_handle(c, 0);
    struct serve_name name = serve_get_name(c);
    uint32_t how = c->v3 ? xdr_get(&c->in) : NFS_UNCHECKED;
    if (how == NFS_EXCLUSIVE) {
        set.which = ATTR_TIMES;
        set.attr.atime = (int32_t)xdr_get(&c->in);
        set.attr.mtime = (int32_t)xdr_get(&c->in);
    } else {
        nfs_get_set(&c->in, &set, c->v3);
    }
    if (c->in.failed || how > NFS_EXCLUSIVE)
        return NFS_GARBAGE;
    int error = serve_open_to_change(c, 0);
    if (!error)
        error = serve_name_to_change(&name, -EEXIST);
    enum vtype type = c->v3 ? VREG : serve_type_of_v2(&set);
    if (!error)
        error = serve_make(c, &name, type, type == VREG ? 0 : (uint32_t)set.attr.size, &set, 0);
    if (error == -EEXIST && type == VREG && !serve_name_is_dots(&name))
        error = serve_create_there(c, &name, how, &set);
    return error ? error : serve_made(c);
}

static int serve_mkdir(struct nfs_serving *c)
{
    struct nfs_set set;
    serve_get_handle(c, 0);
    struct serve_name name = serve_get_name(c);
    nfs_get_set(&c->in, &set, c->v3);
    if (c->in.failed)
        return NFS_GARBAGE;
    int error = serve_open_to_change(c, 0);
    if (!error)
        error = serve_name_to_change(&name, -EEXIST);
    if (!error)
        error = serve_make(c, &name, VDIR, 0, &set, 0);
    return error ? error : serve_made(c);
}

static int serve_symlink(struct nfs_serving *c)
{
    struct nfs_set set;
    uint32_t n;
    serve_get_handle(c, 0);
    struct serve_name name = serve_get_name(c);
    if (c->v3)
        nfs_get_set(&c->in, &set, true);
    const uint8_t *text = xdr_get_opaque(&c->in, RPC_MOST, &n);
    if (!c->v3)
        nfs_get_set(&c->in, &set, false);
    if (c->in.failed)
        return NFS_GARBAGE;
    int error = serve_open_to_change(c, 0);
    if (!error)
        error = serve_name_to_change(&name, -EEXIST);
    if (!error && (n >= NFS_PATH_MOST || !n || memchr(text, 0, n)))
        error = n >= NFS_PATH_MOST ? -ENAMETOOLONG : -EINVAL;
    if (error)
        return error;
    memcpy(c->path, text, n);
    c->path[n] = 0;
    error = serve_make(c, &name, VLNK, 0, &set, c->path);
    if (error || c->v3)
        return error ? error : serve_made(c);
    return vfs_fsync(c->file[1]);
}

static int serve_mknod(struct nfs_serving *c)
{
    struct nfs_set set = {0};
    uint32_t rdev = 0;
    serve_get_handle(c, 0);
    struct serve_name name = serve_get_name(c);
    enum vtype type = nfs_of_ftype3(xdr_get(&c->in));
    if (nfs_is_special(type))
        nfs_get_set(&c->in, &set, true);
    if (type == VBLK || type == VCHR) {
        rdev = xdr_get(&c->in) << 8;
        rdev |= xdr_get(&c->in) & 0xff;
    }
    if (c->in.failed)
        return NFS_GARBAGE;
    int error = serve_open_to_change(c, 0);
    if (!error)
        error = nfs_is_special(type) ? serve_name_to_change(&name, -EEXIST) : -NFS_ERR_BADTYPE;
    if (!error)
        error = serve_make(c, &name, type, rdev, &set, 0);
    return error ? error : serve_made(c);
}

static int serve_remove(struct nfs_serving *c)
{
    serve_get_handle(c, 0);
    struct serve_name name = serve_get_name(c);
    if (c->in.failed)
        return NFS_GARBAGE;
    int error = serve_open_to_change(c, 0);
    if (!error)
        error = serve_name_to_change(&name, -EINVAL);
    if (error)
        return error;
    struct vnode *dvp = c->file[0];
    lock_write(&dvp->lock);
    error = dvp->ops->remove(dvp, name.text, name.n, c->procedure == NFS_RMDIR);
    lock_done(&dvp->lock);
    if (!error)
        error = vfs_fsync(dvp);
    if (!error && c->v3)
        serve_put_wcc(c, dvp);
    return error;
}

static int serve_rename(struct nfs_serving *c)
{
    serve_get_handle(c, 0);
    struct serve_name name = serve_get_name(c);
    serve_get_handle(c, 1);
    struct serve_name new_name = serve_get_name(c);
    if (c->in.failed)
        return NFS_GARBAGE;
    int error = serve_open_to_change(c, 0);
    if (!error)
        error = serve_open_to_change(c, 1);
    if (!error)
        error = serve_name_to_change(&name, -EINVAL);
    if (!error)
        error = serve_name_to_change(&new_name, -EINVAL);
    if (error)
        return error;
    error = c->file[0]->ops->rename(c->file[0], name.text, name.n, c->file[1], new_name.text, new_name.n);
    if (!error)
        error = vfs_fsync(c->file[1]);
    if (!error && c->v3) {
        serve_put_wcc(c, c->file[0]);
        serve_put_wcc(c, c->file[1]);
    }
    return error;
}

static int serve_link(struct nfs_serving *c)
{
    serve_get_handle(c, 0);
    serve_get_handle(c, 1);
    struct serve_name name = serve_get_name(c);
    if (c->in.failed)
        return NFS_GARBAGE;
    int error = serve_open(c, 0);
    if (!error)
        error = serve_open_to_change(c, 1);
    if (!error)
        error = serve_name_to_change(&name, -EEXIST);
    if (error)
        return error;
    struct vnode *dvp = c->file[1];
    lock_write(&dvp->lock);
    error = dvp->ops->link(dvp, name.text, name.n, c->file[0]);
    lock_done(&dvp->lock);
    if (!error)
        error = vfs_fsync(dvp);
    if (!error && c->v3) {
        serve_put_post_op(c, c->file[0]);
        serve_put_wcc(c, dvp);
    }
    return error;
}

/* Directories ------------------------------------------------------------------------------------------------------ */

struct serve_entries {
    struct nfs_serving *c;
    uint32_t left; /* bytes left for results, up to the client's limit */
    bool full, any;
};

static bool serve_put_entry(void *arg, const struct dirent_out *entry)
{
    struct serve_entries *to = arg;
    struct xdr *out = &to->c->out;
    bool v3 = to->c->v3;
    uint32_t size = 4 + (v3 ? 8 + 8 : 4 + 4) + 4 + xdr_padded(entry->length);
    if (size > to->left) {
        to->full = true;
        return false;
    }
    to->left -= size;
    to->any = true;
    xdr_put(out, true);
    nfs_put_wide(out, entry->ino, v3);
    xdr_put_opaque(out, entry->name, entry->length);
    nfs_put_wide(out, entry->next, v3);
    return true;
}

static int serve_readdir(struct nfs_serving *c)
{
    serve_get_handle(c, 0);
    uint64_t cookie = nfs_get_wide(&c->in, c->v3);
    if (c->v3)
        xdr_take(&c->in, NFS_COOKIE_VERIFIER); /* an offset in a directory stays valid whatever changes there */
    uint32_t count = xdr_get(&c->in);
    if (c->in.failed)
        return NFS_GARBAGE;
    int error = serve_open_directory(c, 0);
    if (error)
        return error;
    if (c->v3) {
        serve_put_post_op(c, c->file[0]);
        xdr_put_hyper(&c->out, 0);
    }
    uint32_t room = MIN(MIN(count, NFS_IO), xdr_left(&c->out)), behind = 2 * 4; /* end of entries; end of directory */
    struct serve_entries to = {.c = c, .left = room > behind ? room - behind : 0};
    error = vfs_readdir(c->file[0], cookie, serve_put_entry, &to);
    if (!error && to.full && !to.any)
        error = -NFS_ERR_TOOSMALL;
    xdr_put(&c->out, false);
    xdr_put(&c->out, !to.full);
    return error;
}

static int serve_readdirplus(struct nfs_serving *c)
{
    serve_get_handle(c, 0);
    if (c->in.failed)
        return NFS_GARBAGE;
    int error = serve_open_directory(c, 0);
    return error ? error : -NFS_ERR_NOTSUPP; /* clients then use READDIR */
}

/* File systems ----------------------------------------------------------------------------------------------------- */

static int serve_fsstat(struct nfs_serving *c)
{
    struct statfs_out fs;
    int error = serve_open_only(c);
    if (!error)
        error = vfs_statfs(c->file[0], &fs);
    if (error)
        return error;
    if (!c->v3) {
        const uint32_t words[] = {NFS_IO, fs.block_size, fs.blocks, fs.blocks_free, fs.blocks_free};
        for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
            xdr_put(&c->out, words[i]);
        return 0;
    }
    uint64_t free = (uint64_t)fs.blocks_free * fs.block_size;
    serve_put_post_op(c, c->file[0]);
    const uint64_t numbers[] = {
        (uint64_t)fs.blocks * fs.block_size, free, free, fs.files, fs.files_free, fs.files_free};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        xdr_put_hyper(&c->out, numbers[i]);
    xdr_put(&c->out, 0);
    return 0;
}

enum { FSINFO_LINK = 1, FSINFO_SYMLINK = 2, FSINFO_HOMOGENEOUS = 8, FSINFO_CANSETTIME = 16 };

static int serve_fsinfo(struct nfs_serving *c)
{
    int error = serve_open_only(c);
    if (error)
        return error;
    serve_put_post_op(c, c->file[0]);
    const uint32_t sizes[] = {NFS_IO, NFS_IO, 1, NFS_IO, NFS_IO, 1, NFS_IO}; /* of reads, writes, directories */
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        xdr_put(&c->out, sizes[i]);
    xdr_put_hyper(&c->out, VFS_SIZE_MOST);
    xdr_put(&c->out, 1); /* resolution of times: a second */
    xdr_put(&c->out, 0);
    xdr_put(&c->out, FSINFO_LINK | FSINFO_SYMLINK | FSINFO_HOMOGENEOUS | FSINFO_CANSETTIME);
    return 0;
}

static int serve_pathconf(struct nfs_serving *c)
{
    int error = serve_open_only(c);
    if (error)
        return error;
    serve_put_post_op(c, c->file[0]);
    /*
     * Most links, bytes of a name; too long names are refused; chown is restricted; case insensitive; case preserving.
     */
    const uint32_t words[] = {EXT2_LINKS_MOST, NAME_MOST, true, true, false, true};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        xdr_put(&c->out, words[i]);
    return 0;
}

static int serve_commit(struct nfs_serving *c)
{
    serve_get_handle(c, 0);
    xdr_get_hyper(&c->in);
    xdr_get(&c->in);
    if (c->in.failed)
        return NFS_GARBAGE;
    int error = serve_open(c, 0);
    if (!error)
        error = vfs_fsync(c->file[0]);
    if (error)
        return error;
    serve_put_wcc(c, c->file[0]);
    serve_put_verifier(c);
    return 0;
}

/* All procedures, and what version 3 adds to an error: attributes of a file, of one or two directories. */
enum serve_fails { FAILS_BARE, FAILS_POST_OP, FAILS_WCC, FAILS_RENAME, FAILS_LINK };
static const struct serve_procedure {
    int (*serve)(struct nfs_serving *c);
    enum serve_fails fails;
} serve_procedures[NFS_PROCEDURES] = {
    [NFS_GETATTR] = {serve_getattr, FAILS_BARE},
    [NFS_SETATTR] = {serve_setattr, FAILS_WCC},
    [NFS_LOOKUP] = {serve_lookup, FAILS_POST_OP},
    [NFS_ACCESS] = {serve_access, FAILS_POST_OP},
    [NFS_READLINK] = {serve_readlink, FAILS_POST_OP},
    [NFS_READ] = {serve_read, FAILS_POST_OP},
    [NFS_WRITE] = {serve_write, FAILS_WCC},
    [NFS_CREATE] = {serve_create, FAILS_WCC},
    [NFS_MKDIR] = {serve_mkdir, FAILS_WCC},
    [NFS_SYMLINK] = {serve_symlink, FAILS_WCC},
    [NFS_MKNOD] = {serve_mknod, FAILS_WCC},
    [NFS_REMOVE] = {serve_remove, FAILS_WCC},
    [NFS_RMDIR] = {serve_remove, FAILS_WCC},
    [NFS_RENAME] = {serve_rename, FAILS_RENAME},
    [NFS_LINK] = {serve_link, FAILS_LINK},
    [NFS_READDIR] = {serve_readdir, FAILS_POST_OP},
    [NFS_READDIRPLUS] = {serve_readdirplus, FAILS_POST_OP},
    [NFS_FSSTAT] = {serve_fsstat, FAILS_POST_OP},
    [NFS_FSINFO] = {serve_fsinfo, FAILS_POST_OP},
    [NFS_PATHCONF] = {serve_pathconf, FAILS_POST_OP},
    [NFS_COMMIT] = {serve_commit, FAILS_WCC},
};

int nfs_serve(struct nfs_serving *c)
{
    return serve_procedures[c->procedure].serve(c);
}

void nfs_serve_failed(struct nfs_serving *c)
{
    if (!c->v3)
        return;
    switch (serve_procedures[c->procedure].fails) {
    case FAILS_BARE: break;
    case FAILS_POST_OP: serve_put_post_op(c, c->file[0]); break;
    case FAILS_WCC: serve_put_wcc(c, c->file[0]); break;
    case FAILS_RENAME:
        serve_put_wcc(c, c->file[0]);
        serve_put_wcc(c, c->file[1]);
        break;
    case FAILS_LINK:
        serve_put_post_op(c, c->file[0]);
        serve_put_wcc(c, c->file[1]);
        break;
    }
}

void nfs_serve_end(struct nfs_serving *c)
{
    for (unsigned i = 0; i < 2; i++)
        if (c->file[i])
            vrele(c->file[i]);
}
