/*
 * Address maps (papers `crtc`, section 2; Rashid and others, *Machine-Independent Virtual Memory Management*, 1988):
 * the memory of a task is a list of regions, sorted by address, each with its rights, what a child inherits of it, and
 * the object (vm/object.h) whose pages are seen there. Nothing is in memory before it is used: a page comes by a fault.
 *
 * `address` and `size` are rounded outwards to whole pages. What lies outside of [VM_BEGIN, VM_END), or wraps around,
 * is -EINVAL; an address that is in no region is -EFAULT, but vm_deallocate passes over holes. Other errors:
 *   -ENOMEM  memory is out, or would be if everything that was promised were used (vm_promise), or no address is free
 *   -EACCES  the region's rights, or the most that they may become, are less
 *   -EEXIST  something is there already
 *   -EIO     the pager could not give the page
 *
 * Any of these calls may sleep: from threads only, without a simple lock. All may be called by several threads at once.
 *
 * Locking, in this order: the map's read/write lock; objects, each before the object that it shadows; those of pmap.h
 * and page.h. Calls that change regions have the map's lock alone; faults share it.
 */
#ifndef VM_MAP_H
#define VM_MAP_H

#include "vm/types.h"

struct vm_map *vm_map_create(void); /* with nothing in it, and one reference; 0: memory is out */

/* A child by inheritance, copied on write. 0: memory is out; the parent is as it was. */
struct vm_map *vm_map_fork(struct vm_map *parent);

/* The last reference that goes takes the map with it; no thread runs in it any more then. */
void vm_map_reference(struct vm_map *map);
void vm_map_release(struct vm_map *map);

static inline struct pmap *vm_map_pmap(struct vm_map *map)
{
    return (struct pmap *)map; /* which begins with it */
}

/* How many bytes all its regions have. */
uint32_t vm_map_size(struct vm_map *map);

#define VM_FIXED 0u    /* at *address */
#define VM_ANYWHERE 1u /* at the first free address from *address on, or else of all the room, which is put there */
#define VM_REPLACE 2u  /* at *address; what is there goes first */

/* Memory of 0, all rights but PAGE_EXECUTE, inheritance by copy. */
int vm_allocate(struct vm_map *map, uint32_t *address, uint32_t size, unsigned flags);
int vm_deallocate(struct vm_map *map, uint32_t address, uint32_t size);

/* The room for VM_ANYWHERE, at first [VM_BEGIN, VM_END). For a map that is nobody else's yet; a child inherits it. */
void vm_map_set_room(struct vm_map *map, uint32_t begin, uint32_t end);

/*
 * The same below `top`, `step` bytes at first, and so many more whenever something below them is used, down to `most`
 * in all (as 4.3BSD's grow()): only what it has is promised. Once in a map, which is nobody else's yet; a child
 * inherits that.
 */
int vm_allocate_stack(struct vm_map *map, uint32_t top, uint32_t most, uint32_t step);

/* All regions together have no more than `most` bytes from now on, if they do not have more already. -ENOMEM then. */
void vm_map_limit(struct vm_map *map, uint32_t most);
void vm_map_limit_stack(struct vm_map *map,
                        uint32_t most); /* the stack grows to no more, nor than it was to at first */

/*
 * What a range has that is the task's own is memory of 0 again, with its rights; what is shared stays. -EFAULT: it is
 * not all in regions; -EINVAL: a copy of a pager's object, or wired; some may be done then.
 */
int vm_discard(struct vm_map *map, uint32_t address, uint32_t size);

/*
 * The rights of a range that is all in regions; none is allowed, and PAGE_WRITE with PAGE_EXECUTE is -EACCES.
 * `maximum`: the most that they may become; the rights are cut to it, too, and it never grows.
 */
int vm_protect(struct vm_map *map, uint32_t address, uint32_t size, bool maximum, unsigned rights);
int vm_inherit(struct vm_map *map, uint32_t address, uint32_t size, enum vm_inherit inherit);

/*
 * Copy whole pages over others of the same map, on write (both page-aligned, else -EINVAL). Those there stay in their
 * object.
 */
int vm_copy(struct vm_map *map, uint32_t from, uint32_t size, uint32_t to);

/*
 * Whole pages of one region as an object, from *page of it on, as they are now: copied on write, with a reference.
 * -EOPNOTSUPP: they lie in several regions, or in none, or nobody has used them. And such an object as memory of a map,
 * at any address: takes the reference over.
 */
int vm_map_copy_in(struct vm_map *map, uint32_t from, uint32_t size, struct vm_object **object, uint32_t *page);
int vm_map_copy_out(struct vm_map *map, uint32_t *to, uint32_t size, struct vm_object *object, uint32_t page);

/* To and from the kernel's memory, by the rights that user mode has. `vm_fill` needs no PAGE_WRITE: for loaders. */
int vm_read(struct vm_map *map, uint32_t from, uint32_t size, void *to);
int vm_write(struct vm_map *map, uint32_t to, const void *from, uint32_t size);
int vm_fill(struct vm_map *map, uint32_t to, const void *from, uint32_t size);

/*
 * Map `size` bytes of `object` from page `offset` on, at a page's beginning. With `copy` what is written there is seen
 * by nobody else; else the object itself is mapped. The caller's reference to the object stays his. `object` 0: memory
 * of 0.
 */
int vm_map_object(struct vm_map *map, uint32_t *address, uint32_t size, unsigned flags, struct vm_object *object,
                  uint32_t offset, bool copy, unsigned rights, unsigned maximum, enum vm_inherit inherit);

struct vm_region {
    uint32_t begin, end;
    unsigned rights, maximum;
    enum vm_inherit inherit;
    bool copy; /* its first write makes a new object */
    uint32_t wired; /* how often */
    uint32_t offset; /* pages */
    uint32_t objects; /* length of the chain of objects that a fault may have to search; 0: none yet */
    uint32_t resident; /* pages of its first object */
};

/* The first region that ends above `address`; -EFAULT: there is none. */
int vm_region(struct vm_map *map, uint32_t address, struct vm_region *region);

/* Bring a range in and keep it in memory: a fault there waits for no pager. Undone as often as done. */
int vm_wire(struct vm_map *map, uint32_t address, uint32_t size, bool wired);

/*
 * User mode wanted one of `rights` at `address`, and had not got it. 0: it has now. -EFAULT: no region; -EACCES;
 * -ENOMEM; -EIO.
 */
int vm_fault(struct vm_map *map, uint32_t address, unsigned rights);

/*
 * Copies between the kernel and user mode, as user mode might do it itself: pages are faulted in. 0; -EFAULT; or
 * -ENOMEM, if the memory that they need is out. Part may be copied then. A string is copied with its final 0; -E2BIG if
 * it needs more than `size` bytes.
 */
int copyin(struct vm_map *map, void *to, uint32_t from, uint32_t n);
int copyout(struct vm_map *map, uint32_t to, const void *from, uint32_t n);
int copyinstr(struct vm_map *map, char *to, uint32_t from, uint32_t size);

/*
 * The same without sleeping, so also with simple locks of levels up to SPL_SOFTCLOCK: -EFAULT if a page is not there.
 * Whoever has to have them let go of the lock then, calls vm_fault, or copyin, and tries again.
 */
int copyin_resident(struct vm_map *map, void *to, uint32_t from, uint32_t n);
int copyout_resident(struct vm_map *map, uint32_t to, const void *from, uint32_t n);

/* All in pages, or events since the start. */
struct vm_statistics {
    uint32_t pages, free, used, active, inactive, wired; /* used: by objects */
    uint32_t promised; /* what may be asked for at any time (vm/page.h) */
    uint32_t tables;   /* page tables that are promised beside that */
    uint32_t faults, zero_fills, copies, reactivations, pageins, pageouts, pushes;
    uint32_t shadows, collapses, bypasses; /* of object chains */
    uint32_t shootdowns, calls; /* ranges whose translations were dropped; harts called for that */
    uint32_t objects, maps;
};

void vm_statistics(struct vm_statistics *s);

/*
 * Panics if a map or an object is left, or a page is neither free nor the kernel's: at the end of runs with programs.
 */
void vm_check_no_leak(void);

/* Hart 0: main RAM that is to be handed out, no more than `most` pages of it. Reads the boot argument vm.swap. */
void vm_init(uint32_t begin, uint32_t end, uint32_t most);
#endif
