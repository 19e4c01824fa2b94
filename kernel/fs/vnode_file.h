/* Vnodes (vnode.h) as open files (file/file.h): what a descriptor that open() gave refers to. */
#ifndef FS_VNODE_FILE_H
#define FS_VNODE_FILE_H

#include "file/file.h"
#include "fs/vnode.h"

/*
 * The vnode as an open file, which takes over the caller's reference; 0: memory is out, and the caller keeps the
 * reference. `kind` and `flags` as for file_create.
 */
struct file *vnode_file(struct vnode *vp, uint32_t kind, uint32_t flags);

/* The vnode of a file, without a reference of its own: valid while the caller holds the file. 0: it has none. */
struct vnode *vnode_of_file(const struct file *f);

/* As ftruncate. -EFBIG: the caller may not make it so large (vfs.h). */
int vnode_resize(struct vnode *vp, int32_t size);

/* What stat returns. -EOVERFLOW: a size that does not fit. */
int vnode_stat(struct vnode *vp, struct user_stat *to);
#endif
