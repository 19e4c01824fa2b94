/*
 * Objects that tasks of several nodes write (paper `crtc`, section 2: single writer, many readers by page). Which node
 * may do what with which page, somebody above vm/ knows (xmm/share.c), and says it here; vm/ keeps to it.
 *
 *   VM_SHARED_HOME   an object of the managing node, as it was before it was shared, with any pager or none. A page
 *                    that another node has stays in memory here, with those rights withheld (`locked`) that nobody here
 *                    is to have: who wants them asks `vm_sharing->want`, and sleeps on the page.
 *   VM_SHARED_AWAY   an object that stands for one of another node. Its pager gives pages for reading, with the right
 *                    to write withheld, or for writing; these count as written, so they go back to the pager before
 *                    they go.
 *
 * A page that somebody has been given the right to, and has not used yet, is `granted`: it is not taken away before
 * that, but for a few clock ticks. Else two nodes could take a page from each other for ever before either has used it.
 *
 * **Copies.** An object of the managing node is copied asymmetrically as any other; other nodes give back the right to
 * write first (`freeze`), and get it again when the page has been pushed. One that is away is copied by its managing
 * node alone (`copy`), and read from there by reference: copy on write does not cross nodes (section 5).
 *
 * Locking: that of the object's family, within each call. Calls that wait say so; none waits for another node.
 */
#ifndef VM_SHARED_H
#define VM_SHARED_H

#include "vm/object.h"

enum { VM_SHARED_NOT, VM_SHARED_HOME, VM_SHARED_AWAY };

/* Filled in by who shares objects. Called without locks of vm/ but, for copies, a map's. */
struct vm_sharing {
    /*
     * Rights are wanted that are withheld from a page of an object of this node: vm_shared_allow when they are there.
     * -EIO: the page is lost; -ENOMEM.
     */
    int (*want)(struct vm_object *object, uint32_t page, unsigned rights);
    void (*freeze)(struct vm_object *object); /* until the other: no other node may write it, nor does */
    void (*thaw)(struct vm_object *object);
    struct vm_object *(*copy)(struct vm_object *object); /* as it is now, frozen, with a reference; 0: there is none */
};
extern const struct vm_sharing *vm_sharing;

/* An asymmetric copy of a shared object of this node, frozen meanwhile, with a reference; 0: memory is out. */
struct vm_object *vm_object_shared_copy(struct vm_object *object);

/* The object is the caller's, or its family has no other. */
void vm_object_set_shared(struct vm_object *object, unsigned how);
unsigned vm_object_shared(const struct vm_object *object);

/*
 * Of VM_SHARED_HOME. From now on `withheld` of the page is nobody's here, and its content is put `to` (0: nowhere).
 * What is withheld for reading is about to be written elsewhere: the newest copy has its page then. May wait for who
 * works on the page. 1: the page is not in memory, or not in the copy: vm_shared_bring first. -EIO.
 */
int vm_shared_take(struct vm_object *object, uint32_t page, unsigned withheld, void *to);

/*
 * The page is in the object itself, and in its newest copy if it is about to be written. Waits for pagers; -EIO,
 * -ENOMEM.
 */
int vm_shared_bring(struct vm_object *object, uint32_t page, bool written);

/* What another node has written; the page was taken. */
void vm_shared_put(struct vm_object *object, uint32_t page, const void *content);

/* From now on no more than `withheld` is; who waits looks again. */
void vm_shared_allow(struct vm_object *object, uint32_t page, unsigned withheld);

/*
 * Of VM_SHARED_AWAY, by its pager. The page may be written from now on. -ENOENT: it is not there (any more).
 */
int vm_shared_grant(vm_control_t control, uint32_t page);

/*
 * The page goes, or, if it is `kept`, cannot be written any more; the content is put `to` if it has been written. 1:
 * so; 0: not. -ENOENT: the object is about to go.
 */
int vm_shared_give(vm_control_t control, uint32_t page, bool kept, void *to);

/* What the pager of the object had not got, it is to be asked for again. */
void vm_pager_forget(vm_control_t control, uint32_t page);

/* When it goes: the next page from *page on that has been written, whose content is put `to`. */
bool vm_shared_last(struct vm_object *object, uint32_t *page, void *to);
#endif
