/*
 * The pager of files (vm/pager.h): mmap of a vnode's contents. A file that is mapped has one object, whoever maps it,
 * in a list of as many as memory carries; the list's own reference to it goes, with the changed pages written, when
 * nobody has it mapped any more (vnode_pager_sweep, called where regions go).
 *
 * read, write and truncate see what is stored through a mapping, and the other way round: with the vnode's lock held
 * alone they have the object's pages of their range written to the file, and taken away if they change it. A page is
 * supplied with the lock held, too, so it is from before the change or from after it. Nothing is said of where a page
 * of a private mapping that has not been written comes from then (POSIX leaves it open).
 *
 * What is stored behind the file's end is lost; a page that begins there cannot be had (SIGBUS, or the call's EFAULT).
 * A page for which the disk has no room stays as it is, and is tried again: fsync and msync say so, and a read or write
 * of its bytes fails until there is room. It is lost if nobody has it mapped any more; the next fsync says that.
 *
 * Locking: the list's mutex; then the vnode's lock; then those of vm/. Who pages out has the page busy and only tries
 * for the vnode's lock, as who has that may wait for the page. No fault is made with a vnode's lock: copies to and from
 * programs go through resident pages, or the kernel's (fs/vnode_file.c).
 */
#ifndef FS_VNODE_PAGER_H
#define FS_VNODE_PAGER_H

#include "fs/vnode.h"

/*
 * The object of a regular file, with a reference of the caller's. Null, with *error: -ENOMEM, or -ETXTBSY: pages of
 * memory are put into it.
 */
struct vm_object *vnode_pager_object(struct vnode *vp, int *error);

/* Files that nobody has mapped any more are let go of. */
void vnode_pager_sweep(void);

/* What is changed in any of them is on its disk. 0, or the first error. */
int vnode_pager_sync(void);
#endif
