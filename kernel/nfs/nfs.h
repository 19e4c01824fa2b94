/*
 * NFS versions 2 (RFC 1094) and 3 (RFC 1813), the MOUNT protocol (RFC 1094, appendix A; RFC 1813, appendix I) and the
 * part of the port mapper (RFC 1833, section 3) that these need: numbers, and data that both ends write and read in the
 * same way. README.md describes the rest.
 *
 * Functions take `v3`: false is version 2.
 */
#ifndef NFS_NFS_H
#define NFS_NFS_H

#include "fs/vnode.h"
#include "nfs/rpc.h"

#define PMAP_PROGRAM 100000u
#define PMAP_VERSION 2
#define PMAP_PORT 111
#define PMAP_GETPORT 3
#define NFS_PROGRAM 100003u
#define NFS_PORT 2049
#define MOUNT_PROGRAM 100005u
#define MOUNT_PORT 20048
enum { MOUNT_NULL, MOUNT_MNT, MOUNT_DUMP, MOUNT_UMNT, MOUNT_UMNTALL, MOUNT_EXPORT };
#define MOUNT_PATH_MOST 1024u

#define NFS_HANDLE_V2 32u   /* bytes of a file handle of version 2, and of this server's of both */
#define NFS_HANDLE_MOST 64u /* in version 3 */
#define NFS_IO 1024u        /* bytes of a read or a write: with headers it fits in one frame */
#define NFS_PATH_MOST 1024u
#define NFS_COOKIE_VERIFIER 8u

/* RFC 1813, 3.3; the procedures of version 2 are mapped to these. */
enum nfs_procedure {
    NFS_NULL,
    NFS_GETATTR,
    NFS_SETATTR,
    NFS_LOOKUP,
    NFS_ACCESS,
    NFS_READLINK,
    NFS_READ,
    NFS_WRITE,
    NFS_CREATE,
    NFS_MKDIR,
    NFS_SYMLINK,
    NFS_MKNOD,
    NFS_REMOVE,
    NFS_RMDIR,
    NFS_RENAME,
    NFS_LINK,
    NFS_READDIR,
    NFS_READDIRPLUS,
    NFS_FSSTAT,
    NFS_FSINFO,
    NFS_PATHCONF,
    NFS_COMMIT,
    NFS_PROCEDURES,
    NFS_NONE = NFS_PROCEDURES
};
#define NFS_V2_PROCEDURES 18u
extern const uint8_t nfs_of_v2[NFS_V2_PROCEDURES]; /* enum nfs_procedure of each of version 2 (RFC 1094, 2.2) */
uint32_t nfs_to_v2(uint32_t procedure); /* the reverse; NFS_V2_PROCEDURES: no such procedure */

enum { NFS_UNSTABLE, NFS_DATA_SYNC, NFS_FILE_SYNC };    /* of WRITE */
enum { NFS_UNCHECKED, NFS_GUARDED, NFS_EXCLUSIVE };     /* of CREATE */
enum { NFS_KEEP_TIME, NFS_SERVER_TIME, NFS_CLIENT_TIME }; /* of SETATTR */

/* RFC 1813, 2.6, in addition to Unix's. */
#define NFS_ERR_BADHANDLE 10001
#define NFS_ERR_NOT_SYNC 10002
#define NFS_ERR_BAD_COOKIE 10003
#define NFS_ERR_NOTSUPP 10004
#define NFS_ERR_TOOSMALL 10005
#define NFS_ERR_SERVERFAULT 10006
#define NFS_ERR_BADTYPE 10007
#define NFS_ERR_JUKEBOX 10008
/* Converts minus an error number, or minus one of the above, to a status and back. */
uint32_t nfs_status_of(int error, bool v3);
int nfs_error_of(uint32_t status);

/* A file's attributes: fattr (RFC 1094, 2.3.5) and fattr3 (RFC 1813, 2.5.5). `fsid` is the file system's. */
void nfs_put_attr(struct xdr *x, const struct vattr *attr, uint32_t fsid, bool v3);
void nfs_get_attr(struct xdr *x, struct vattr *attr, bool v3);

/* Attributes to be set: sattr (RFC 1094, 2.3.6) and sattr3 (RFC 1813, 2.5.7). */
struct nfs_set {
    unsigned which; /* ATTR_MODE, ATTR_ATIME, ATTR_MTIME of vnode.h, and the next three */
    struct vattr attr;
};
#define NFS_SET_UID 0x100u
#define NFS_SET_GID 0x200u
#define NFS_SET_SIZE 0x400u
void nfs_put_set(struct xdr *x, const struct nfs_set *set, bool v3);
void nfs_get_set(struct xdr *x, struct nfs_set *set, bool v3); /* the server's time is fs_time() */

/* A file's number, an offset or a place in a directory: 64 bits in version 3, 32 in version 2. */
static inline uint64_t nfs_get_wide(struct xdr *x, bool v3)
{
    return v3 ? xdr_get_hyper(x) : xdr_get(x);
}

static inline void nfs_put_wide(struct xdr *x, uint64_t value, bool v3)
{
    if (v3)
        xdr_put_hyper(x, value);
    else
        xdr_put(x, (uint32_t)value);
}

/* ftype (RFC 1094, 2.3.2) and ftype3 (RFC 1813, 2.6); version 2 has fifos and sockets only in the mode. */
uint32_t nfs_ftype(enum vtype type, bool v3);
enum vtype nfs_of_ftype3(uint32_t ftype); /* VNON: no such type */

static inline bool nfs_is_special(enum vtype type)
{
    return type == VBLK || type == VCHR || type == VSOCK || type == VFIFO;
}

static inline uint16_t nfs_mode_of(enum vtype type)
{
    static const uint16_t modes[] = {[VREG] = 0100000, [VDIR] = 0040000,  [VBLK] = 0060000, [VCHR] = 0020000,
                                     [VLNK] = 0120000, [VFIFO] = 0010000, [VSOCK] = 0140000};
    return modes[type];
}

static inline enum vtype nfs_type_of(uint32_t mode)
{
    static const uint8_t types[16] = {
        [1] = VFIFO, [2] = VCHR, [4] = VDIR, [6] = VBLK, [8] = VREG, [10] = VLNK, [12] = VSOCK};
    return types[(mode & MODE_TYPE) >> 12];
}
#endif
