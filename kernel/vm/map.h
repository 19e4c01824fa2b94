/*
 * Address maps (papers `crtc`, section 2; Rashid and others, *Machine-Independent Virtual Memory Management*, 1988): a
 * task's memory is a list of regions, sorted by address, each with its rights, what a child inherits of it, and the
 * object (vm/object.h) whose pages it shows. Nothing is in memory before it is used: faults bring pages in.
 *
 * `address` and `size` are rounded outwards to whole pages. A range outside of [VM_BEGIN, VM_END), or one that wraps
 * around, is -EINVAL; an address in no region is -EFAULT, but vm_deallocate skips holes. Other errors:
 *   -ENOMEM  memory is out, or would be if all promised memory were used (vm_promise), or no address is free
 *   -EACCES  the region's rights, or the most that they may become, do not suffice
 *   -EEXIST  the range is in use
 *   -EIO     the pager could not supply the page
 *
 * Any of these calls may sleep: call them from threads, without a simple lock. Several threads may call them at once.
 *
 * Locking, in this order: the map's read/write lock; the families of objects (internal.h); the locks of pmap.h and
 * page.h. Calls that change regions hold the map's lock exclusively; faults share it.
 */
#ifndef VM_MAP_H
#define VM_MAP_H

#include "vm/types.h"

struct vm_map *vm_map_create(void); /* empty, with one reference; 0: memory is out */

/* A child by inheritance, copied on write. 0: memory is out; the parent is unchanged. */
struct vm_map *vm_map_fork(struct vm_map *parent);

/* The map goes with its last reference; no thread runs in it any more then. */
void vm_map_reference(struct vm_map *map);
void vm_map_release(struct vm_map *map);

static inline struct pmap *vm_map_pmap(struct vm_map *map)
{
    return (struct pmap *)map; /* which begins with it */
}

/* The bytes of all its regions. */
uint32_t vm_map_size(struct vm_map *map);

#define VM_FIXED 0u    /* at *address */
#define VM_ANYWHERE 1u /* at the first free address from *address on, or else anywhere in the room; sets *address */
#define VM_REPLACE 2u  /* at *address; removes what is there first */

/* Zeroed memory, all rights but PAGE_EXECUTE, inheritance by copy. */
int vm_allocate(struct vm_map *map, uint32_t *address, uint32_t size, unsigned flags);
int vm_deallocate(struct vm_map *map, uint32_t address, uint32_t size);

/* The room for VM_ANYWHERE, at first [VM_BEGIN, VM_END). For a map not in use yet; a child inherits it. */
void vm_map_set_room(struct vm_map *map, uint32_t begin, uint32_t end);

/*
 * The same for a stack below `top`: `step` bytes at first, and another `step` whenever an address below is used, down
 * to `most` in all (as 4.3BSD's grow()): only its current size is promised. Once in a map, which is not in use yet; a
 * child inherits it.
 */
int vm_allocate_stack(struct vm_map *map, uint32_t top, uint32_t most, uint32_t step);

/* Limits all regions together to `most` bytes from now on, unless they have more already. Beyond it: -ENOMEM. */
void vm_map_limit(struct vm_map *map, uint32_t most);
void vm_map_limit_stack(struct vm_map *map,
                        uint32_t most); /* limits the growth of the stack, to no more than vm_allocate_stack set */

/*
 * Makes the task's own memory in a range zeroed memory again, with its rights; shared memory stays. -EFAULT: it is not
 * all in regions; -EINVAL: a copy of a pager's object, or wired; part may be done then.
 */
int vm_discard(struct vm_map *map, uint32_t address, uint32_t size);

/*
 * The rights of a range that is all in regions; 0 is allowed, and PAGE_WRITE with PAGE_EXECUTE is -EACCES. `maximum`:
 * sets the most that they may become, which never grows; the rights are cut to it, too.
 */
int vm_protect(struct vm_map *map, uint32_t address, uint32_t size, bool maximum, unsigned rights);
int vm_inherit(struct vm_map *map, uint32_t address, uint32_t size, enum vm_inherit inherit);

/*
 * Copies whole pages over others of the same map, on write (both page-aligned, else -EINVAL). Shared destinations keep
 * their object.
 */
int vm_copy(struct vm_map *map, uint32_t from, uint32_t size, uint32_t to);

/*
 * vm_map_copy_in: whole pages of one region as an object, from *page of it on, as they are now: copied on write, with a
 * reference. -EOPNOTSUPP: they lie in several regions, or in none, or were never used. vm_map_copy_out: maps such an
 * object at any address; takes over the reference.
 */
int vm_map_copy_in(struct vm_map *map, uint32_t from, uint32_t size, struct vm_object **object, uint32_t *page);
int vm_map_copy_out(struct vm_map *map, uint32_t *to, uint32_t size, struct vm_object *object, uint32_t page);

/* To and from the kernel's memory, with user mode's rights. `vm_fill` needs no PAGE_WRITE: for loaders. */
int vm_read(struct vm_map *map, uint32_t from, uint32_t size, void *to);
int vm_write(struct vm_map *map, uint32_t to, const void *from, uint32_t size);
int vm_fill(struct vm_map *map, uint32_t to, const void *from, uint32_t size);

/*
 * Maps `size` bytes of `object` from page `offset` on, at a page's beginning. With `copy` no other map sees what is
 * written there; else the object itself is mapped. The caller keeps its reference to the object. `object` 0: zeroed
 * memory.
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

/* Brings a range in and keeps it in memory: a fault there waits for no pager. To be undone as often as done. */
int vm_wire(struct vm_map *map, uint32_t address, uint32_t size, bool wired);

/*
 * User mode lacked one of `rights` at `address`. 0: it has them now. -EFAULT: no region; -EACCES; -ENOMEM;
 * -EIO.
 */
int vm_fault(struct vm_map *map, uint32_t address, unsigned rights);

/*
 * Copies between the kernel and user mode, with user mode's rights: pages are faulted in. 0; -EFAULT; or -ENOMEM, if
 * the memory that they need is out. Part may be copied then. A string is copied with its final 0; -E2BIG if it needs
 * more than `size` bytes.
 */
int copyin(struct vm_map *map, void *to, uint32_t from, uint32_t n);
int copyout(struct vm_map *map, uint32_t to, const void *from, uint32_t n);
int copyinstr(struct vm_map *map, char *to, uint32_t from, uint32_t size);

/*
 * The same without sleeping, so also with simple locks of levels up to SPL_SOFTCLOCK: -EFAULT if a page is not there. A
 * caller that needs it releases the lock then, calls vm_fault, or copyin, and tries again.
 */
int copyin_resident(struct vm_map *map, void *to, uint32_t from, uint32_t n);
int copyout_resident(struct vm_map *map, uint32_t to, const void *from, uint32_t n);

/* In pages, or events since the start. */
struct vm_statistics {
    uint32_t pages, free, used, active, inactive, wired; /* used: by objects */
    uint32_t promised; /* how many may be requested at any time (vm/page.h) */
    uint32_t tables;   /* page tables that are promised besides that */
    uint32_t faults, zero_fills, copies, reactivations, pageins, pageouts, pushes;
    uint32_t shadows, collapses, bypasses; /* of object chains */
    uint32_t shootdowns, calls; /* ranges whose translations were dropped; harts called for that */
    uint32_t objects, maps;
};

void vm_statistics(struct vm_statistics *s);

/*
 * Panics if a map or an object is left, or a page is neither free nor the kernel's: for the end of runs with programs.
 */
void vm_check_no_leak(void);

/* On hart 0: main RAM to be handed out, at most `most` pages. Reads the boot argument vm.swap. */
void vm_init(uint32_t begin, uint32_t end, uint32_t most);
#endif
