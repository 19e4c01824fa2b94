/*
 * What a task's memory is made of, for whoever builds the same on another node (paper `crtc`, section 3): regions, the
 * objects that they see, the chain below each, and single pages. A child that has been made by vm_map_fork is read, so
 * all that is reached here by copy is as it was at one moment, and nobody writes it while a reference is held: who
 * writes gets an object of its own in front.
 *
 * An object is read alone, and whoever asks goes down the chain by itself, object after object; but not below an object
 * that is an asymmetric copy: its pages are those that have been pushed there and, as long as the source is not
 * written, the source's own. Between the two looks the source may be written. So a chain ends there (vm_object_below
 * gives 0), and the object is read `through`: with all that lies below it, in one step.
 *
 * Locking: as in internal.h. Each call takes what it needs; objects are passed with a reference.
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

/* A region as that says. The reference is taken over unless there is an error: those of vm_map_object. */
int vm_map_enter(struct vm_map *map, const struct vm_inherited *from);

/* Where what may lie anywhere goes, and how far a stack may still grow. */
struct vm_form {
    uint32_t room[2], growth[3];
};
struct vm_form vm_map_form(struct vm_map *map);
void vm_map_set_form(struct vm_map *map, const struct vm_form *form); /* which is nobody else's yet */

/*
 * Another reference, unless the last one has gone. For a pager that finds the object while it keeps `terminate` from
 * returning.
 */
bool vm_object_try_reference(struct vm_object *object);

uint32_t vm_object_size(const struct vm_object *object); /* pages */

/*
 * Objects that are related have one number, on all nodes, and no others: they are to be related on the other node, too.
 * `own`: it is that, if they have none yet.
 */
uint32_t vm_object_kin(struct vm_object *object, uint32_t own);

/*
 * What is seen through it, with a reference, from *offset on; 0: nothing, or the chain ends here. *through: it is read
 * so.
 */
struct vm_object *vm_object_below(struct vm_object *object, uint32_t *offset, bool *through);

/* The next one of its chain, wherever that ends, with a reference; or 0. */
struct vm_object *vm_object_next(struct vm_object *object);

/*
 * The content of a page, as the object, or, `through` it, whoever maps it has it. May wait for pagers. 0; 1: there is
 * none, which is one of 0 if nothing lies below; -EIO; -ENOMEM.
 */
int vm_object_read(struct vm_object *object, uint32_t index, bool through, void *to);

/*
 * As the original has it (paper `crtc`, sections 1 and 5), where a chain does not end at an asymmetric copy: the source
 * below it, from *offset on, with a reference; 0: it is none. What the object and those above the source have of a page
 * is read as by vm_object_read; 1: it is the source's.
 */
struct vm_object *vm_object_source(struct vm_object *object, uint32_t *offset);
int vm_object_read_above(struct vm_object *object, uint32_t index, void *to);
bool vm_object_has_above(struct vm_object *object, uint32_t index); /* whether that is 0; it does not wait */

/*
 * An object whose pages come from a pager, and those that the pager has not got (vm_pager_data_unavailable) from what
 * it shadows, if it does. Copied symmetrically: nobody writes it. In the family of `relative`, or, if it is 0, a new
 * one of number `kin`. 0: memory is out.
 */
struct vm_object *vm_object_create_relative(const struct vm_pager *pager, uint32_t memory, uint32_t pages,
                                            struct vm_object *relative, uint32_t kin);

/*
 * Once, before a page of it is wanted; both of one family. Of a shared object it is the only copy, and gets its pages.
 * False: it shadows something already, or it would lie below itself, or be of another family; nothing has changed.
 */
bool vm_object_set_shadow(struct vm_object *object, struct vm_object *below, uint32_t offset);
#endif
