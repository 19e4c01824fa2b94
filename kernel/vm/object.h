/*
 * Memory objects (paper `crtc`, section 2): pages by number, and where those that are not there come from: a pager
 * (vm/pager.h), the object that this one shadows, or nowhere, which is pages of 0.
 *
 * How a copy is made depends on the object (vm/README.md draws both):
 *   symmetric   both mappings keep the object, which nobody writes any more; who writes first gets a new object that
 *               shadows it. For memory of 0, whose identity nobody cares for.
 *   asymmetric  the source keeps the object and may write on; the copy is a new object that shadows it, into which a
 *               page is pushed before the source changes it. For objects with a pager, and those mapped by name or in
 *               several tasks.
 *
 * Chains that grow by copies shrink again: an object that only one other shadows is collapsed into it, or, if it has
 * pages that are hidden, bypassed.
 *
 * Locking: each object has a mutex; in a chain, the one that shadows is locked first.
 */
#ifndef VM_OBJECT_H
#define VM_OBJECT_H

#include "vm/pager.h"
#include "vm/types.h"

enum vm_copy_strategy { VM_COPY_SYMMETRIC, VM_COPY_ASYMMETRIC };

/* Of so many pages, of 0, with one reference; 0: memory is out. */
struct vm_object *vm_object_create(uint32_t pages);

/*
 * The object of what `pager` knows as `memory`, asymmetric, with one reference; the pager has been told (init), and is
 * told when the last reference has gone (terminate). 0: memory is out.
 */
struct vm_object *vm_object_create_paged(const struct vm_pager *pager, uint32_t memory, uint32_t pages);

/* What its pager calls it by. */
vm_control_t vm_object_control(const struct vm_object *object);

/* Whether the caller's reference is the only one: then nobody gets another but from him. */
bool vm_object_is_only(struct vm_object *object);

void vm_object_reference(struct vm_object *object);
void vm_object_release(struct vm_object *object);

/* Whether chains are collapsed and bypassed (true at start); off for experiments that show why. */
extern bool vm_object_collapses;
#endif
