/*
 * Memory objects (paper `crtc`, section 2): pages by number, and the source of those that are not in memory: a pager
 * (vm/pager.h), the object that this one shadows, or none, which means pages of 0.
 *
 * How a copy is made depends on the object (vm/README.md draws both):
 *   symmetric   both mappings keep the object, which is not written any more; the first writer gets a new object that
 *               shadows it. For memory of 0, whose identity does not matter.
 *   asymmetric  the source keeps the object and may write on; the copy is a new object that shadows it, into which a
 *               page is pushed before the source changes it. For objects with a pager, and those mapped by name or in
 *               several tasks.
 *
 * Chains that grow by copies shrink again: an object that only one other shadows is collapsed into it, or, if all its
 * pages are hidden, bypassed.
 *
 * Locking: objects related by copies share one mutex, their family's (internal.h).
 */
#ifndef VM_OBJECT_H
#define VM_OBJECT_H

#include "vm/pager.h"
#include "vm/types.h"

enum vm_copy_strategy { VM_COPY_SYMMETRIC, VM_COPY_ASYMMETRIC };

/* An object of `pages` pages of 0, with one reference; 0: memory is out. */
struct vm_object *vm_object_create(uint32_t pages);

/*
 * The object that `pager` knows as `memory`, asymmetric, with one reference; calls the pager's init now, and its
 * terminate after the last reference has gone. 0: memory is out.
 */
struct vm_object *vm_object_create_paged(const struct vm_pager *pager, uint32_t memory, uint32_t pages);

/* The number by which its pager names it. */
vm_control_t vm_object_control(const struct vm_object *object);

/* Whether the caller's reference is the only one: then only the caller can make another. */
bool vm_object_is_only(struct vm_object *object);

void vm_object_reference(struct vm_object *object);
void vm_object_release(struct vm_object *object);

/* Whether chains are collapsed and bypassed (true at start); off in experiments that show the effect. */
extern bool vm_object_collapses;
#endif
