/*
 * The pager of files (vm/pager.h): mmap of a vnode's contents. A mapped file has one object, shared by all its
 * mappings, in a list that only memory limits; the list drops its own reference, after the changed pages are written,
 * when the file is not mapped any more (vnode_pager_sweep, called where regions go).
 *
 * read, write and truncate see what is stored through a mapping, and the other way round: with the vnode's lock held
 * exclusively they have the object's pages of their range written to the file, and removed if they change it. A page is
 * supplied with the lock held, too, so it is from before the change or from after it. Where a page of a private mapping
 * that has not been written comes from then is undefined (POSIX leaves it open).
 *
 * What is stored behind the file's end is lost; a page that begins there cannot be had (SIGBUS, or the call's EFAULT).
 * A page for which the disk has no room stays dirty and is tried again: fsync and msync return the error, and a read or
 * write of its bytes fails until there is room. If the file is unmapped first, it is lost; the next fsync reports that.
 *
 * Locking: the list's mutex; then the vnode's lock; then those of vm/. A thread that pages out has the page busy and
 * only tries for the vnode's lock, as its holder may wait for the page. No fault is made with a vnode's lock held:
 * copies to and from programs go through resident pages, or the kernel's (fs/vnode_file.c).
 */
#ifndef FS_VNODE_PAGER_H
#define FS_VNODE_PAGER_H

#include "fs/vnode.h"

/*
 * The object of a regular file, with a reference of the caller's. Null, with *error: -ENOMEM, or -ETXTBSY: it is a swap
 * file.
 */
struct vm_object *vnode_pager_object(struct vnode *vp, int *error);

/* Releases files that are not mapped any more. */
void vnode_pager_sweep(void);

/* Writes all changes of mapped files to their disks. 0, or the first error. */
int vnode_pager_sync(void);
#endif
