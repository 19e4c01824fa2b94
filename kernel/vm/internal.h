/*
 * Shared by the files of vm/ only: the layout of maps, regions and objects. README.md explains the ideas; this file
 * says which lock guards what.
 *
 *   map->lock            the list of regions and their fields; faults share it
 *   family->lock         all objects of the family: their pages, what they shadow, their references
 *   controls_lock        which object has which number (pager.c); taken before a family's lock
 *   families_lock        keeps an object and its family from going while the page-out daemon looks at them (pageout.c);
 *   last pmaps, pages, zones  pmap.h, mem/page.h: last, too
 *
 * Objects that are related by copies share one lock, their family's: so a chain is searched, shortened, and has pages
 * pushed into it, without an order among its objects. It is held for short steps; a thread that clears, copies or
 * awaits a page has made it busy, and holds no lock. A family includes all that descends from one allocation by fork;
 * unrelated tasks share none.
 */
#ifndef VM_INTERNAL_H
#define VM_INTERNAL_H

#include <sys/queue.h>

#include "arch/hart.h"
#include "lib/bootargs.h"
#include "lock/lock.h"
#include "vm/map.h"
#include "vm/object.h"
#include "vm/page.h"
#include "vm/pmap.h"
#include "vm/radix.h"
#include "vm/shared.h"

#define LINE 64 /* of the data cache: a fault should read few of them */

struct vm_family {
    struct lock lock;
    uint32_t objects;
    uint32_t kin; /* inherited.h; 0: none yet */
};

struct vm_object {
    struct vm_family *family; /* the fields that a fault reads come first, in one cache line */
    uint32_t size;            /* pages */
    uint32_t references;      /* from regions, from objects that shadow it, from its creator */
    struct radix pages;       /* struct vm_page, or VM_PAGED: the pager has it */
    uint32_t resident, busy;  /* how many pages are in memory; how many of them are busy */
    struct vm_object *shadow; /* the source of pages that are not here, or 0, with a reference */
    struct vm_object *copy;   /* the newest asymmetric copy, which shadows it; without a reference */
    const struct vm_pager *pager;
    bool external; /* the pager has the pages that are not here */
    bool written;  /* a region writes to it: as an asymmetric copy it cannot serve again */
    bool dying, destroyed;
    uint32_t shadow_offset; /* the page of the shadow that is seen as page 0 here */
    uint32_t paged;         /* pages that the pager has */
    uint32_t memory;        /* the pager's name for it */
    vm_control_t control;   /* its number, if there is a pager */
    SLIST_ENTRY(vm_object) controls;
    uint8_t strategy; /* enum vm_copy_strategy */
    uint8_t shared;   /* VM_SHARED_*: other nodes have pages of it, too */
};

#define VM_PAGED ((struct vm_page *)4)
#define VM_BELOW ((struct vm_page *)2) /* the pager does not have it: look in the object that this one shadows */

static inline bool vm_is_page(const struct vm_page *p)
{
    return (uintptr_t)p > (uintptr_t)VM_PAGED;
}

struct vm_entry {
    struct vm_entry *next, *previous;
    uint32_t begin, end;
    struct vm_object *object; /* 0: not used yet */
    uint32_t offset;
    uint8_t rights, maximum, inherit;
    bool needs_copy; /* a writer makes an object of its own first */
    bool charged;    /* its pages are promised */
    uint16_t wired;
};

#define TABLE_REACH (PAGE_SIZE / 4 * PAGE_SIZE) /* bytes that one page table covers */

struct vm_map {
    struct pmap pmap; /* at the beginning (map.h) */
    struct lock lock;
    struct vm_entry *hint;
    struct vm_entry head; /* of a ring */
    uint32_t entries;     /* in it */
    uint32_t size, most; /* bytes of all regions */
    uint32_t tables[VM_END / TABLE_REACH / 32]; /* a bit for each promised page table */
    struct {
        uint32_t begin, end;
    } room; /* for regions without a fixed address */
    struct {
        uint32_t begin, end; /* the range that a stack may still grow into */
        uint32_t step;
        uint32_t bottom, top; /* its limits; 0: it cannot change */
    } growth;
    volatile uint32_t references;
};

/* Called if there is no region at `address`: 0: there is one now, as a stack has grown; -EFAULT; -ENOMEM. */
int vm_map_grow(struct vm_map *map, uint32_t address);

static inline uint32_t vm_entry_pages(const struct vm_entry *e)
{
    return (e->end - e->begin) / PAGE_SIZE;
}

/* Events, counted where they happen; approximate, as a thread may migrate while it counts. */
struct vm_counts {
    uint32_t faults, zero_fills, copies, reactivations, pageins, pageouts, pushes, shadows, collapses, bypasses;
} __attribute__((aligned(64)));

extern struct vm_counts vm_counts[MAX_HARTS];
#define VM_COUNT(what) (vm_counts[curhart->id].what++)

/* ---- page.c */
void vm_pages_init(uint32_t begin, uint32_t end, uint32_t most);
extern uint32_t vm_page_count, vm_page_low; /* all pages; with fewer free ones the daemon runs */
extern volatile bool vm_page_scarce; /* the page-out daemon frees some, or is about to: a hint */
#define VM_AHEAD BOOT_MOST(kernel, vm_ahead) /* zeroed pages that a fault supplies at most */
extern uint32_t vm_ahead; /* the boot argument vm.ahead=, up to that */
uint32_t vm_page_alloc_some(struct vm_page *page[], uint32_t n); /* up to n pages, at most VM_AHEAD */
bool vm_page_wait(void); /* for memory, without locks; false: there will be none (pageout.c) */
void vm_page_copy(struct vm_page *to, const struct vm_page *from);
void vm_page_zero(struct vm_page *page);

/*
 * The calling thread sleeps until the waiters for `page` are woken. It holds the lock of the page's family and, for
 * reading, `map` (0: none); both are released.
 */
void vm_page_sleep(struct vm_page *page, struct vm_object *object, struct lock *map);

/* With the family's lock held: */
void vm_page_unbusy(struct vm_page *page);      /* and wakes its waiters */
void vm_page_wake(struct vm_page *page);        /* its waiters check it again */
bool vm_page_insert(struct vm_object *object, uint32_t index, struct vm_page *page); /* busy; false: memory is out */
bool vm_page_add(struct vm_object *object, uint32_t index,
                 struct vm_page *page); /* not busy; false also if there is one */
void vm_page_remove(struct vm_page *page);      /* out of its object, busy; not mapped */
void vm_page_discard(struct vm_page *page);     /* out of all maps, out of its object, free; busy or not */

void vm_page_to_pager(struct vm_page *page);    /* the same, but its slot says that the pager has it */

/* ---- object.c, all with the family's lock held but the first */
static inline void vm_object_lock(struct vm_object *object)
{
    mutex_lock(&object->family->lock);
}

static inline void vm_object_unlock(struct vm_object *object)
{
    mutex_unlock(&object->family->lock);
}

/* It is never written, even by its only user: it stands for an object of another node (inherited.h). */
static inline bool vm_object_is_frozen(const struct vm_object *object)
{
    return object->external && object->strategy == VM_COPY_SYMMETRIC;
}

void vm_object_release_locked(struct vm_object *object); /* releases the family's lock */
struct vm_object *vm_object_shadow(struct vm_object *object, uint32_t offset, uint32_t pages);
struct vm_object *vm_object_copy(struct vm_object *object,
                                 uint32_t *shoot); /* asymmetric; the harts to call are or-ed to *shoot */
void vm_object_was_copied(struct vm_object *object);
void vm_object_shorten(struct vm_object *object); /* collapse and bypass what it shadows */
uint32_t vm_objects(void);
extern struct simple_lock vm_families_lock;

/* ---- pager.c */
void vm_control_add(struct vm_object *object);
void vm_control_remove(struct vm_object *object);
struct vm_object *vm_control_object(vm_control_t control); /* with its family's lock held, or 0 */

/* ---- shared.c */
int vm_shared_want(struct vm_object *object, uint32_t page, unsigned rights); /* of VM_SHARED_HOME; not locked */
/* The same with the family's lock held; sleeps on the page if another thread has asked; the caller checks again. */
int vm_shared_await(struct vm_object *object, struct vm_page *page, unsigned rights);
/* A copy of a shared object; the lock is released meanwhile. */
struct vm_object *vm_shared_copy(struct vm_object *object, uint32_t *shoot);

/* ---- map.c: with the map's lock held */
struct vm_entry *vm_map_entry_at(struct vm_map *map, uint32_t address); /* or 0 */
uint32_t vm_maps(void);

/* ---- fault.c */
int vm_fault_wire(struct vm_map *map, uint32_t address, unsigned rights);

/* ---- pageout.c, swap.c */
void vm_pageout_wake(void);
extern const struct vm_pager vm_swap;
uint32_t vm_swap_init(uint32_t begin, uint32_t pages); /* returns where it ends */
uint32_t vm_swap_pages(void), vm_swap_free(void);
#endif
