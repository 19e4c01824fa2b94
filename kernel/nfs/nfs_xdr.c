/* Data that both ends of NFS write and read in the same way (nfs.h). */
#include "nfs/nfs.h"

#include <errno.h>

const uint8_t nfs_of_v2[NFS_V2_PROCEDURES] = {NFS_NULL,    NFS_GETATTR,  NFS_SETATTR, NFS_NONE /* ROOT */,
                                              NFS_LOOKUP,  NFS_READLINK, NFS_READ,    NFS_NONE /* WRITECACHE */,
                                              NFS_WRITE,   NFS_CREATE,   NFS_REMOVE,  NFS_RENAME,
                                              NFS_LINK,    NFS_SYMLINK,  NFS_MKDIR,   NFS_RMDIR,
                                              NFS_READDIR, NFS_FSSTAT};

uint32_t nfs_to_v2(uint32_t procedure)
{
    uint32_t n = 0;
    while (n < NFS_V2_PROCEDURES && nfs_of_v2[n] != procedure)
        n++;
    return n;
}

/*
 * Errors and their numbers (RFC 1813, 2.6). Version 2 uses them too, as Unix's servers and clients do, though RFC 1094
 * (2.3.1) does not list EXDEV, EINVAL and EMLINK.
 */
static const struct nfs_error {
    uint8_t status;
    uint8_t error;
} nfs_errors[] = {{1, EPERM},         {2, ENOENT},     {5, EIO},     {6, ENXIO},    {13, EACCES},
                  {17, EEXIST},       {18, EXDEV},     {19, ENODEV}, {20, ENOTDIR}, {21, EISDIR},
                  {22, EINVAL},       {27, EFBIG},     {28, ENOSPC}, {30, EROFS},   {31, EMLINK},
                  {63, ENAMETOOLONG}, {66, ENOTEMPTY}, {69, EDQUOT}, {70, ESTALE}};
#define NFS_ERRORS (sizeof nfs_errors / sizeof nfs_errors[0])
#define NFS_EIO 5u
#define NFS_ESTALE 70u

uint32_t nfs_status_of(int error, bool v3)
{
    int status = -error;
    if (!error)
        return 0;
    if (status >= NFS_ERR_BADHANDLE && status <= NFS_ERR_JUKEBOX)
        return v3 ? (uint32_t)status : status == NFS_ERR_BADHANDLE ? NFS_ESTALE : NFS_EIO;
    for (unsigned i = 0; i < NFS_ERRORS; i++)
        if (nfs_errors[i].error == status)
            return nfs_errors[i].status;
    return NFS_EIO;
}

int nfs_error_of(uint32_t status)
{
    if (!status)
        return 0;
    for (unsigned i = 0; i < NFS_ERRORS; i++)
        if (nfs_errors[i].status == status)
            return -nfs_errors[i].error;
    return status == NFS_ERR_BADHANDLE ? -ESTALE
           : status == NFS_ERR_NOTSUPP ? -EOPNOTSUPP
           : status == NFS_ERR_BADTYPE ? -EINVAL
                                       : -EIO;
}

uint32_t nfs_ftype(enum vtype type, bool v3)
{
    static const uint8_t types[] = {
        [VREG] = 1, [VDIR] = 2, [VBLK] = 3, [VCHR] = 4, [VLNK] = 5, [VSOCK] = 6, [VFIFO] = 7};
    return v3 || type < VFIFO ? types[type] : 0;
}

enum vtype nfs_of_ftype3(uint32_t ftype)
{
    static const uint8_t types[] = {VNON, VREG, VDIR, VBLK, VCHR, VLNK, VSOCK, VFIFO};
    return ftype < sizeof types ? types[ftype] : VNON;
}

static void nfs_put_times(struct xdr *x, const struct vattr *attr)
{
    const int32_t times[] = {attr->atime, attr->mtime, attr->ctime};
    for (unsigned i = 0; i < 3; i++) {
        xdr_put(x, (uint32_t)times[i]);
        xdr_put(x, 0);
    }
}

static void nfs_put_attr3(struct xdr *x, const struct vattr *attr, uint32_t fsid)
{
    xdr_put(x, nfs_ftype(attr->type, true));
    xdr_put(x, attr->mode & MODE_BITS);
    xdr_put(x, attr->nlink);
    xdr_put(x, attr->uid);
    xdr_put(x, attr->gid);
    xdr_put_hyper(x, attr->size);
    xdr_put_hyper(x, (uint64_t)attr->blocks << 9);
    xdr_put(x, attr->rdev >> 8);
    xdr_put(x, attr->rdev & 0xff);
    xdr_put_hyper(x, fsid);
    xdr_put_hyper(x, attr->ino);
    nfs_put_times(x, attr);
}

void nfs_put_attr(struct xdr *x, const struct vattr *attr, uint32_t fsid, bool v3)
{
    if (v3) {
        nfs_put_attr3(x, attr, fsid);
        return;
    }
    const uint32_t words[] = {nfs_ftype(attr->type, false),
                              (attr->mode & MODE_BITS) | nfs_mode_of(attr->type),
                              attr->nlink,
                              attr->uid,
                              attr->gid,
                              attr->size > UINT32_MAX ? UINT32_MAX : (uint32_t)attr->size,
                              attr->block_size,
                              attr->rdev,
                              attr->blocks,
                              fsid,
                              attr->ino};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        xdr_put(x, words[i]);
    nfs_put_times(x, attr);
}

static void nfs_get_times(struct xdr *x, struct vattr *attr)
{
    attr->atime = (int32_t)xdr_get(x), xdr_get(x);
    attr->mtime = (int32_t)xdr_get(x), xdr_get(x);
    attr->ctime = (int32_t)xdr_get(x), xdr_get(x);
}

static void nfs_get_attr3(struct xdr *x, struct vattr *attr)
{
    attr->type = nfs_of_ftype3(xdr_get(x));
    attr->mode = (uint16_t)(xdr_get(x) & MODE_BITS) | nfs_mode_of(attr->type);
    attr->nlink = (uint16_t)xdr_get(x);
    attr->uid = xdr_get(x);
    attr->gid = xdr_get(x);
    attr->size = xdr_get_hyper(x);
    attr->blocks = (uint32_t)((xdr_get_hyper(x) + 511) >> 9);
    uint32_t major = xdr_get(x);
    attr->rdev = major << 8 | (xdr_get(x) & 0xff);
    xdr_get_hyper(x);
    attr->ino = (uint32_t)xdr_get_hyper(x);
    attr->block_size = NFS_IO;
    nfs_get_times(x, attr);
}

void nfs_get_attr(struct xdr *x, struct vattr *attr, bool v3)
{
    static const uint8_t types[] = {VNON, VREG, VDIR, VBLK, VCHR, VLNK};
    *attr = (struct vattr){0};
    if (v3) {
        nfs_get_attr3(x, attr);
        return;
    }
    uint32_t type = xdr_get(x), mode = xdr_get(x);
    attr->type = nfs_type_of(mode);
    if (attr->type == VNON)
        attr->type = type < sizeof types ? types[type] : VNON;
    attr->mode = (uint16_t)(mode & MODE_BITS) | nfs_mode_of(attr->type);
    attr->nlink = (uint16_t)xdr_get(x);
    attr->uid = xdr_get(x);
    attr->gid = xdr_get(x);
    attr->size = xdr_get(x);
    attr->block_size = xdr_get(x);
    attr->rdev = xdr_get(x);
    attr->blocks = xdr_get(x);
    xdr_get(x);
    attr->ino = xdr_get(x);
    nfs_get_times(x, attr);
}

static void nfs_put_set3(struct xdr *x, const struct nfs_set *set)
{
    const struct vattr *attr = &set->attr;
    const struct {
        unsigned bit;
        uint32_t value;
    } words[] = {{ATTR_MODE, attr->mode & MODE_BITS}, {NFS_SET_UID, attr->uid}, {NFS_SET_GID, attr->gid}};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        xdr_put(x, !!(set->which & words[i].bit));
        if (set->which & words[i].bit)
            xdr_put(x, words[i].value);
    }
    xdr_put(x, !!(set->which & NFS_SET_SIZE));
    if (set->which & NFS_SET_SIZE)
        xdr_put_hyper(x, attr->size);
    for (unsigned i = 0; i < 2; i++) {
        bool is = set->which & (i ? ATTR_MTIME : ATTR_ATIME);
        xdr_put(x, is ? NFS_CLIENT_TIME : NFS_KEEP_TIME);
        if (is) {
            xdr_put(x, (uint32_t)(i ? attr->mtime : attr->atime));
            xdr_put(x, 0);
        }
    }
}

void nfs_put_set(struct xdr *x, const struct nfs_set *set, bool v3)
{
    const struct vattr *attr = &set->attr;
    unsigned which = set->which;
    if (v3) {
        nfs_put_set3(x, set);
        return;
    }
    xdr_put(x, which & ATTR_MODE ? attr->mode : UINT32_MAX);
    xdr_put(x, which & NFS_SET_UID ? attr->uid : UINT32_MAX);
    xdr_put(x, which & NFS_SET_GID ? attr->gid : UINT32_MAX);
    xdr_put(x, which & NFS_SET_SIZE ? (uint32_t)attr->size : UINT32_MAX);
    xdr_put(x, which & ATTR_ATIME ? (uint32_t)attr->atime : UINT32_MAX);
    xdr_put(x, which & ATTR_ATIME ? 0 : UINT32_MAX);
    xdr_put(x, which & ATTR_MTIME ? (uint32_t)attr->mtime : UINT32_MAX);
    xdr_put(x, which & ATTR_MTIME ? 0 : UINT32_MAX);
}

static void nfs_get_set3(struct xdr *x, struct nfs_set *set)
{
    struct vattr *attr = &set->attr;
    if (xdr_get(x)) {
        set->which |= ATTR_MODE;
        attr->mode = (uint16_t)xdr_get(x);
    }
    if (xdr_get(x)) {
        set->which |= NFS_SET_UID;
        attr->uid = xdr_get(x);
    }
    if (xdr_get(x)) {
        set->which |= NFS_SET_GID;
        attr->gid = xdr_get(x);
    }
    if (xdr_get(x)) {
        set->which |= NFS_SET_SIZE;
        attr->size = xdr_get_hyper(x);
    }
    for (unsigned i = 0; i < 2; i++) {
        int32_t *time = i ? &attr->mtime : &attr->atime;
        uint32_t how = xdr_get(x);
        if (how > NFS_CLIENT_TIME)
            x->failed = true;
        set->which |= how ? i ? ATTR_MTIME : ATTR_ATIME : 0;
        *time = how == NFS_CLIENT_TIME ? (int32_t)xdr_get(x) : (int32_t)fs_time();
        if (how == NFS_CLIENT_TIME)
            xdr_get(x);
    }
}

/*
 * In version 2 all bits set: unchanged; a million microseconds: the server's time (a convention of its clients).
 */
void nfs_get_set(struct xdr *x, struct nfs_set *set, bool v3)
{
    *set = (struct nfs_set){0};
    if (v3) {
        nfs_get_set3(x, set);
        return;
    }
    uint32_t words[8];
    for (unsigned i = 0; i < 8; i++)
        words[i] = xdr_get(x);
    const unsigned bits[] = {ATTR_MODE, NFS_SET_UID, NFS_SET_GID, NFS_SET_SIZE, ATTR_ATIME, 0, ATTR_MTIME, 0};
    for (unsigned i = 0; i < 8; i++)
        set->which |= words[i] == UINT32_MAX ? 0 : bits[i];
    set->attr = (struct vattr){.mode = (uint16_t)words[0],
                               .uid = words[1],
                               .gid = words[2],
                               .size = words[3],
                               .atime = (int32_t)(words[5] == 1000000 ? fs_time() : words[4]),
                               .mtime = (int32_t)(words[7] == 1000000 ? fs_time() : words[6])};
}
