/*
 * The structure of a task's memory, for code that rebuilds it on another node (paper `crtc`, section 3): regions, the
 * objects that they show, the chain below each, and single pages. It is read from a child made by vm_map_fork, so all
 * that is reached by copy is as it was at one moment, and is not written while a reference is held: a writer gets an
 * object of its own in front.
 *
 * An object is read alone, and the reader goes down the chain by itself, object after object; but not below an
 * asymmetric copy: its pages are those that have been pushed there and, as long as the source is not written, the
 * source's own. Between two separate reads the source may be written. So a chain ends there (vm_object_below gives 0),
 * and the object is read `through`: with all that lies below it, in one step.
 *
 * Locking: as in internal.h. Each call takes the locks it needs; objects are passed with a reference.
 */
#ifndef VM_INHERITED_H
#define VM_INHERITED_H

#include "vm/object.h"
#include "vm/types.h"

struct vm_inherited {
    uint32_t begin, end;
    struct vm_object *object; /* 0: none yet; else with a reference */
    uint32_t offset;
    unsigned rights, maximum;
    enum vm_inherit inherit;
    bool needs_copy, charged;
};

/* The first region that ends above `address`; false: there is none. */
bool vm_map_next(struct vm_map *map, uint32_t address, struct vm_inherited *to);

/* Adds such a region. Takes over the reference unless there is an error; errors are those of vm_map_object. */
int vm_map_enter(struct vm_map *map, const struct vm_inherited *from);

/* The room for regions without a fixed address, and how far a stack may still grow. */
struct vm_form {
    uint32_t room[2], growth[3];
};
struct vm_form vm_map_form(struct vm_map *map);
void vm_map_set_form(struct vm_map *map, const struct vm_form *form); /* for a map in use by no other thread yet */

/*
 * Takes another reference, unless the last one has gone. For a pager that finds the object while it keeps `terminate`
 * from returning.
 */
bool vm_object_try_reference(struct vm_object *object);

uint32_t vm_object_size(const struct vm_object *object); /* pages */

/*
 * A number that related objects, and no others, have in common on all nodes: they must be related on the other node,
 * too. `own`: becomes the number if they have none yet.
 */
uint32_t vm_object_kin(struct vm_object *object, uint32_t own);

/*
 * The object that this one shadows, with a reference, seen from *offset on; 0: none, or the chain ends here. *through:
 * the object must be read `through`.
 */
struct vm_object *vm_object_below(struct vm_object *object, uint32_t *offset, bool *through);

/* The next object of its chain, wherever the chain ends, with a reference; or 0. */
struct vm_object *vm_object_next(struct vm_object *object);

/*
 * Reads a page as the object has it, or, with `through`, as a map of the object shows it. May wait for pagers. 0; 1:
 * there is none, and it is one of 0 if nothing lies below; -EIO; -ENOMEM.
 */
int vm_object_read(struct vm_object *object, uint32_t index, bool through, void *to);

/*
 * As in the original system (paper `crtc`, sections 1 and 5), where a chain does not end at an asymmetric copy: the
 * source below it, from *offset on, with a reference; 0: there is none. vm_object_read_above reads what the object and
 * those above the source have of a page; 1: the page is the source's.
 */
struct vm_object *vm_object_source(struct vm_object *object, uint32_t *offset);
int vm_object_read_above(struct vm_object *object, uint32_t index, void *to);
bool vm_object_has_above(struct vm_object *object, uint32_t index); /* whether that would return 0; it does not wait */

/*
 * An object whose pages come from a pager, and those that the pager does not have (vm_pager_data_unavailable) from the
 * object that it shadows, if any. It is copied symmetrically, and never written. In the family of `relative`, or, if
 * that is 0, a new one of number `kin`. 0: memory is out.
 */
struct vm_object *vm_object_create_relative(const struct vm_pager *pager, uint32_t memory, uint32_t pages,
                                            struct vm_object *relative, uint32_t kin);

/*
 * Call once, before a page of it is requested; both are of one family. If `below` is shared, this is its only copy, and
 * gets its pages. False: it has a shadow, or would lie below itself, or is of another family; nothing has changed.
 */
bool vm_object_set_shadow(struct vm_object *object, struct vm_object *below, uint32_t offset);
#endif
