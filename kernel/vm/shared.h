/*
 * Objects that tasks of several nodes write (paper `crtc`, section 2: single writer, many readers by page). A layer
 * above vm/ (xmm/share.c) knows which node may do what with which page, and says it here; vm/ enforces it.
 *
 *   VM_SHARED_HOME   an object of the managing node, as it was before it was shared, with any pager or none. A page
 *                    that another node has stays in memory here, with the rights withheld (`locked`) that this node
 *                    must not have: a thread that needs them calls `vm_sharing->want`, and sleeps on the page.
 *   VM_SHARED_AWAY   an object that stands for one of another node. Its pager supplies pages for reading, with the
 *                    right to write withheld, or for writing; these count as written, so they are returned to the
 *                    pager before they are freed.
 *
 * A page whose rights were given and have not been used yet is `granted`: it is not taken away before they are used,
 * except after a few clock ticks. Else two nodes could take a page from each other forever before either uses it.
 *
 * **Copies.** An object of the managing node is copied asymmetrically like any other; other nodes return the right to
 * write first (`freeze`), and get it again when the page has been pushed. An object that is away is copied only by its
 * managing node (`copy`), and read from there by reference: copy on write does not cross nodes (section 5).
 *
 * Locking: the lock of the object's family, within each call. Calls that wait say so; none waits for another node.
 */
#ifndef VM_SHARED_H
#define VM_SHARED_H

#include "vm/object.h"

enum { VM_SHARED_NOT, VM_SHARED_HOME, VM_SHARED_AWAY };

/* Set by the layer that shares objects. Called without locks of vm/ but, for copies, a map's. */
struct vm_sharing {
    /*
     * A thread needs rights that are withheld from a page of an object of this node: calls vm_shared_allow when they
     * are there. -EIO: the page is lost; -ENOMEM.
     */
    int (*want)(struct vm_object *object, uint32_t page, unsigned rights);
    void (*freeze)(struct vm_object *object); /* until thaw: no other node may write it, nor does */
    void (*thaw)(struct vm_object *object);
    struct vm_object *(*copy)(struct vm_object *object); /* as it is now, frozen, with a reference; 0: there is none */
};
extern const struct vm_sharing *vm_sharing;

/* An asymmetric copy of a shared object of this node, frozen meanwhile, with a reference; 0: memory is out. */
struct vm_object *vm_object_shared_copy(struct vm_object *object);

/* The object must be the caller's, or the only one of its family. */
void vm_object_set_shared(struct vm_object *object, unsigned how);
unsigned vm_object_shared(const struct vm_object *object);

/*
 * For VM_SHARED_HOME. From now on this node has none of the `withheld` rights to the page; its content is copied `to`
 * (0: nowhere). Rights withheld for reading mean a write elsewhere: the newest copy must have its page before. May wait
 * while the page is busy. 1: the page is not in memory, or not in the copy: call vm_shared_bring first. -EIO.
 */
int vm_shared_take(struct vm_object *object, uint32_t page, unsigned withheld, void *to);

/*
 * Brings the page into the object itself, and into its newest copy if it is about to be written. Waits for pagers;
 * -EIO, -ENOMEM.
 */
int vm_shared_bring(struct vm_object *object, uint32_t page, bool written);

/* Stores what another node has written; the page was taken. */
void vm_shared_put(struct vm_object *object, uint32_t page, const void *content);

/* From now on no more than `withheld` is withheld; waiters check again. */
void vm_shared_allow(struct vm_object *object, uint32_t page, unsigned withheld);

/*
 * For VM_SHARED_AWAY, called by its pager. The page may be written from now on. -ENOENT: it is not there (any more).
 */
int vm_shared_grant(vm_control_t control, uint32_t page);

/*
 * Removes the page, or, if it is `kept`, its right to write; copies its content `to` if it has been written. 1: it was;
 * 0: it was not. -ENOENT: the object is about to go.
 */
int vm_shared_give(vm_control_t control, uint32_t page, bool kept, void *to);

/* The pager of the object did not have the page, and must be asked again. */
void vm_pager_forget(vm_control_t control, uint32_t page);

/* At its end: copies the next written page from *page on `to`. */
bool vm_shared_last(struct vm_object *object, uint32_t *page, void *to);
#endif
