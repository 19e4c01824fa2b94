/* Sv32 page tables, and what harts cache of them (pmap.h). */
#include "vm/pmap.h"

#include <errno.h>
#include <string.h>

#include "arch/atomic.h"
#include "lib/compiler.h"
#include "intr/call.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "mem/zone.h"
#include "vm/mmu.h"
#include "vm/page.h"

#define ENTRIES 1024u
#define ENTRY_VALID 1u
#define ENTRY_USER (1u << 4)
#define ENTRY_ACCESSED (1u << 6)
#define ENTRY_DIRTY (1u << 7)
#define TABLE_SPAN (ENTRIES * PAGE_SIZE)
#define SATP_SV32 (1u << 31)
#define ALL_HARTS 0xffu
_Static_assert(MAX_HARTS <= 8, "vm/page.h: clean");

#define BATCH 128 /* entries that are changed in one section */
#define PIECE 256 /* bytes that are copied in one section */

typedef volatile uint32_t entry_t; /* harts walk the tables while they change */

#define PLACE_LOCKS 16
static SIMPLE_LOCK_CLASS(pmap_class, "pmap", SPL_SOFTCLOCK); /* pmap_enter relies on the level */
static SIMPLE_LOCK_CLASS(place_lock_class, "places of a page", SPL_SOFTCLOCK);
static struct places_lock {
    struct simple_lock lock;
} __attribute__((aligned(64))) places_locks[PLACE_LOCKS] = {
    [0 ... PLACE_LOCKS - 1] = {.lock = SIMPLE_LOCK("places of a page", place_lock_class)}};

DEFINE_ZONE(places, "pmap-places", sizeof(struct pmap_place), _Alignof(struct pmap_place), SPL_SOFTCLOCK, 0);

static uint32_t last_serial;
volatile uint32_t pmap_shootdowns, pmap_calls, pmap_tables;

static struct simple_lock *places_lock_of(const struct vm_page *page)
{
    return &places_locks[vm_page_address(page) / PAGE_SIZE % PLACE_LOCKS].lock;
}

static uint32_t entry_page(uint32_t entry)
{
    return entry >> 10 << 12;
}

static uint32_t entry_for(uint32_t page, uint32_t bits)
{
    return page >> 12 << 10 | bits | ENTRY_VALID;
}

/* The entry of `address` in the table whose page is `table`; level 1 is the root. */
static entry_t *pmap_entry_at(uint32_t table, uint32_t address, unsigned level)
{
    return (entry_t *)page_pointer(table) + (address >> (12 + 10 * level)) % ENTRIES;
}

/* The entry in the lower table, or 0 if there is none. */
static entry_t *leaf_at(const struct pmap *pmap, uint32_t address)
{
    uint32_t upper = *pmap_entry_at(pmap->root, address, 1);
    return upper & ENTRY_VALID ? pmap_entry_at(entry_page(upper), address, 0) : 0;
}

/* The mapped page must be filled before the entry is visible. */
static void entry_set(entry_t *entry, uint32_t value)
{
    fence_release(); /* GCC 12 makes an AMO of an atomic store (arch/atomic.h) */
    *entry = value;
}

static uint32_t new_serial(void)
{
    uint32_t serial;
    do
        serial = __atomic_add_fetch(&last_serial, 1, __ATOMIC_RELAXED);
    while (!serial);
    return serial;
}

static uint32_t table_alloc(void)
{
    uint32_t page = page_alloc();
    if (page)
        __atomic_fetch_add(&pmap_tables, 1, __ATOMIC_RELAXED);
    return page;
}

static void table_free(uint32_t page)
{
    page_free(page);
    __atomic_fetch_sub(&pmap_tables, 1, __ATOMIC_RELAXED);
}

bool pmap_init(struct pmap *pmap)
{
    *pmap = (struct pmap){.root = table_alloc(), .serial = new_serial(), .lock = SIMPLE_LOCK("pmap", pmap_class)};
    return pmap->root;
}

/*
 * ---- Harts. A hart announces that it uses a pmap before it reads the tables; a thread that changes the tables does so
 * before it reads which harts to call: so one of the two sees the other.
 */

#define fence_all() __asm__ volatile("fence rw, rw" ::: "memory")

/* Call after changes to the tables. */
static uint32_t users_of(const struct pmap *pmap)
{
    uint32_t harts_of_it = 0;
    fence_all();
    for (unsigned h = 0; h < hart_count; h++)
        if (vm_hart_of(&harts[h])->pmap == pmap)
            harts_of_it |= 1u << h;
    return harts_of_it;
}

COLD void mmu_change(struct pmap *pmap)
{
    vm_hart()->pmap = pmap;
    vm_hart()->serial = pmap->serial;
    fence_all();
    csr_write(satp, SATP_SV32 | pmap->root >> 12);
    mmu_flush();
    uint32_t hart = 1u << curhart->id;
    if (!(pmap->fetched & hart)) { /* instruction caches are not coherent, and pages are reused */
        __atomic_fetch_or(&pmap->fetched, hart, __ATOMIC_RELAXED);
        __asm__ volatile("fence.i" ::: "memory");
    }
}

/* In the trap of the called hart, or on the caller's own: in the kernel it need not keep its translations. */
static void drop_translations(void *arg)
{
    (void)arg;
    bool in_user = !(csr_read(mstatus) & MSTATUS_MPP);
    if (in_user) {
        mmu_flush();
    } else {
        vm_hart()->serial = 0;
        vm_hart()->pmap = 0;
    }
}

/* For the pmap's end: a hart that has it in satp is in the kernel. */
static void pmap_forget(void *arg)
{
    if (vm_hart()->pmap == arg) {
        vm_hart()->serial = 0;
        vm_hart()->pmap = 0;
    }
}

static void drop_instructions(void *arg)
{
    (void)arg;
    __asm__ volatile("fence.i" ::: "memory");
}

static void pmap_call(uint32_t which, void (*fn)(void *arg), void *arg)
{
    if (!which)
        return;
    if (crit_level_masks(SPL_SOFTPREEMPT))
        panic("pmap_shootdown: called in a section, or with a simple lock held");
    __atomic_fetch_add(&pmap_calls, (uint32_t)__builtin_popcount(which & ~(1u << curhart->id)), __ATOMIC_RELAXED);
    hart_call_run(which, fn, arg);
}

void pmap_shootdown(uint32_t which)
{
    if (!which)
        return;
    __atomic_fetch_add(&pmap_shootdowns, 1, __ATOMIC_RELAXED);
    pmap_call(which, drop_translations, 0);
}

/* ---- Where a page is mapped: call with the pmap's lock held. */

static bool place_add(struct vm_page *page, struct pmap *pmap, uint32_t address)
{
    if (!page->place
             .pmap) { /* no other thread adds one (pmap.h), and there is none that can be removed: no lock is needed */
        page->place.address = address;
        page->place.pmap = pmap;
        return true;
    }
    struct simple_lock *lock = places_lock_of(page);
    bool added = true;
    simple_lock(lock);
    if (!page->place.pmap) { /* the last mapping has been removed */
        page->place.address = address;
        page->place.pmap = pmap;
    } else {
        struct pmap_place *place = zone_alloc(&places);
        added = place;
        if (added) {
            *place = (struct pmap_place){.pmap = pmap, .address = address};
            SLIST_INSERT_AFTER(&page->place, place, link);
        }
    }
    simple_unlock(lock);
    return added;
}

/* Call with the lock of the page's places held, too. The first place of a page is in the page itself. */
static void place_take_out(struct vm_page *page, const struct pmap *pmap, uint32_t address)
{
    struct pmap_place *p = &page->place, *next;
    if (p->pmap == pmap && p->address == address) {
        next = SLIST_NEXT(p, link);
        if (next) {
            *p = *next;
            zone_free(&places, next);
        } else {
            p->pmap = 0;
        }
        return;
    }
    for (; (next = SLIST_NEXT(p, link)); p = next)
        if (next->pmap == pmap && next->address == address) {
            SLIST_REMOVE_AFTER(p, link);
            zone_free(&places, next);
            return;
        }
    panic("pmap: page %#lx has no mapping at %#lx", (unsigned long)vm_page_address(page), (unsigned long)address);
}

static void place_remove(struct vm_page *page, const struct pmap *pmap, uint32_t address)
{
    struct simple_lock *lock = places_lock_of(page);
    simple_lock(lock);
    place_take_out(page, pmap, address);
    simple_unlock(lock);
}

/* ---- Instructions. */

/*
 * A page is not mapped for writing and for executing at once, in any pmap: a fault that gives one right takes the other
 * from all pmaps, which get it back by a fault. So what is executed has been written before harts drop the contents of
 * their caches.
 */
static void take_right(struct vm_page *page, unsigned right)
{
    if (page->place.pmap)
        pmap_page_protect(page, PAGE_RIGHTS & ~right);
}

/*
 * Before `page` becomes executable: if it has been before, with other content, instruction caches may hold that: harts
 * that use the pmap drop it now, others when they begin to use it. While no hart's cache is clean, it may be mapped for
 * writing.
 */
static COLD void prepare_to_execute(struct pmap *pmap, struct vm_page *page)
{
    if (!page->executed || !page->clean)
        take_right(page, PAGE_WRITE);
    if (!page->executed) {
        page->executed = 1;
        page->clean = ALL_HARTS;
    }
    if (page->clean == ALL_HARTS)
        return;
    __atomic_fetch_and(&pmap->fetched, page->clean, __ATOMIC_RELAXED);
    uint32_t stale = users_of(pmap) & ~page->clean;
    pmap_call(stale, drop_instructions, 0);
    page->clean |= (uint8_t)stale;
}

static inline void prepare_to_write(struct vm_page *page)
{
    if (page->executed)
        take_right(page, PAGE_EXECUTE);
    page->clean = 0;
}

static void forget_instructions(void *arg)
{
    drop_instructions(arg);
}

void pmap_text_changed(struct pmap *pmap)
{
    pmap->fetched = 0;
    pmap->serial = new_serial(); /* harts that have it in satp check `fetched` again */
    pmap_call(users_of(pmap), forget_instructions, 0);
}

/* ---- Mappings. */

/* Makes the lower table for `address`; 0: memory is out. Allocated without the lock, as its page is cleared. */
static COLD entry_t *leaf_made(struct pmap *pmap, uint32_t address)
{
    uint32_t table = table_alloc();
    if (!table)
        return 0;
    entry_t *upper = pmap_entry_at(pmap->root, address, 1);
    crit_t s = simple_lock_enter(&pmap->lock);
    bool needed = !(*upper & ENTRY_VALID);
    if (needed)
        entry_set(upper, entry_for(table, 0));
    simple_lock_leave(&pmap->lock, s);
    if (!needed)
        table_free(table);
    return leaf_at(pmap, address);
}

static unsigned sound(unsigned rights)
{
    return rights & PAGE_WRITE ? rights | PAGE_READ : rights; /* no page can be writable only */
}

int pmap_enter(struct pmap *pmap, uint32_t address, struct vm_page *page, unsigned rights)
{
    rights = sound(rights);
    if (!rights) {
        pmap_remove(pmap, address, address + PAGE_SIZE);
        return 0;
    }
    entry_t *leaf = leaf_at(pmap, address);
    if (!leaf && !(leaf = leaf_made(pmap, address)))
        return -ENOMEM;
    if (rights & PAGE_EXECUTE)
        prepare_to_execute(pmap, page);
    else if (rights & PAGE_WRITE)
        prepare_to_write(page);
    uint32_t bits = rights | ENTRY_USER | ENTRY_ACCESSED | ENTRY_DIRTY; /* harts ignore the last two */
    uint32_t entry = entry_for(vm_page_address(page), bits), lost;
    int error = 0;
    crit_t s = crit_sec_enter(SPL_SOFTCLOCK); /* its class's level: saves reading the class's cache line */
    simple_lock(&pmap->lock);
    uint32_t old = *leaf;
    if (old & ENTRY_VALID && entry_page(old) == entry_page(entry)) {
        lost = old & ~entry;
        entry_set(leaf, entry);
    } else {
        lost = old & ENTRY_VALID;
        if (lost) {
            entry_set(leaf, 0);
            place_remove(vm_page_at(entry_page(old)), pmap, address);
            pmap->resident--;
        }
        if (place_add(page, pmap, address)) {
            entry_set(leaf, entry);
            pmap->resident++;
        } else {
            error = -ENOMEM;
        }
    }
    simple_lock_leave(&pmap->lock, s);
    if (lost)
        pmap_shootdown(users_of(pmap));
    return error;
}

uint32_t pmap_room(const struct pmap *pmap, uint32_t address, uint32_t most)
{
    const entry_t *leaf = leaf_at(pmap, address);
    if (!leaf)
        return 1;
    uint32_t at = address / PAGE_SIZE % ENTRIES, n = 0, before = 0;
    while (before < most && before < at && leaf[-(int32_t)before - 1] & ENTRY_VALID)
        before++;
    uint32_t limit = MIN(before + 1, most);
    while (n < limit && at + n < ENTRIES && !(leaf[n] & ENTRY_VALID))
        n++;
    return n;
}

int pmap_enter_new(struct pmap *pmap, uint32_t address, struct vm_page *const page[], uint32_t n, unsigned rights)
{
    entry_t *leaf = leaf_at(pmap, address);
    uint32_t i = 0;
    if (leaf && rights == (PAGE_READ | PAGE_WRITE)) {
        crit_t s = crit_sec_enter(SPL_SOFTCLOCK); /* as in pmap_enter */
        simple_lock(&pmap->lock);
        for (; i < n && !(leaf[i] & ENTRY_VALID); i++) {
            page[i]->clean = 0;
            page[i]->place.address = address + i * PAGE_SIZE;
            page[i]->place.pmap = pmap;
            entry_set(&leaf[i], entry_for(vm_page_address(page[i]),
                                          PAGE_READ | PAGE_WRITE | ENTRY_USER | ENTRY_ACCESSED | ENTRY_DIRTY));
        }
        pmap->resident += i;
        simple_lock_leave(&pmap->lock, s);
    }
    for (; i < n; i++) {
        int error = pmap_enter(pmap, address + i * PAGE_SIZE, page[i], rights);
        if (error)
            return i ? 0 : error;
    }
    return 0;
}

/*
 * Calls change(pmap, address, leaf, rights) for the entries of [begin, end), as far as there are tables, a batch in
 * each section; returns whether one of them lost something. Inlined, as a copy of a map spends its time here.
 */
typedef bool change_fn(struct pmap *pmap, uint32_t address, entry_t *leaf, uint32_t rights);

static inline __attribute__((always_inline)) bool for_range(struct pmap *pmap, uint32_t begin, uint32_t end,
                                                            change_fn *change, uint32_t rights)
{
    bool lost = false;
    while (begin < end && pmap->resident) { /* mappings added meanwhile are not in the range */
        entry_t *leaf = leaf_at(pmap, begin);
        uint32_t rest = TABLE_SPAN - begin % TABLE_SPAN;
        if (!leaf) {
            if (rest >= end - begin)
                break;
            begin += rest;
            continue;
        }
        uint32_t stop = rest < end - begin ? begin + rest : end;
        if (stop - begin > BATCH * PAGE_SIZE)
            stop = begin + BATCH * PAGE_SIZE;
        crit_t s = simple_lock_enter(&pmap->lock);
        for (; begin < stop; begin += PAGE_SIZE, leaf++)
            if (change(pmap, begin, leaf, rights))
                lost = true;
        simple_lock_leave(&pmap->lock, s);
    }
    return lost;
}

static inline __attribute__((always_inline)) bool remove_one(struct pmap *pmap, uint32_t address, entry_t *leaf,
                                                             uint32_t rights)
{
    (void)rights;
    uint32_t old = *leaf;
    if (!(old & ENTRY_VALID))
        return false;
    entry_set(leaf, 0);
    place_remove(vm_page_at(entry_page(old)), pmap, address);
    pmap->resident--;
    return true;
}

void pmap_remove(struct pmap *pmap, uint32_t begin, uint32_t end)
{
    if (for_range(pmap, begin & ~PAGE_MASK, end, remove_one, 0))
        pmap_shootdown(users_of(pmap));
}

static inline __attribute__((always_inline)) bool protect_one(struct pmap *pmap, uint32_t address, entry_t *leaf,
                                                              uint32_t rights)
{
    (void)pmap, (void)address;
    uint32_t old = *leaf, less = PAGE_RIGHTS & ~rights;
    if (!(old & less))
        return false;
    *leaf = old & ~less; /* it points to the same page */
    return true;
}

void pmap_protect(struct pmap *pmap, uint32_t begin, uint32_t end, unsigned rights)
{
    rights = sound(rights);
    if (!rights)
        pmap_remove(pmap, begin, end);
    else if (for_range(pmap, begin & ~PAGE_MASK, end, protect_one, rights))
        pmap_shootdown(users_of(pmap));
}

/*
 * Goes from the page to its pmaps: elsewhere their locks come first, so they are only tried. Returns false if one was
 * held: what has been done stays.
 */
static bool protect_places(struct vm_page *page, unsigned rights, uint32_t *shoot)
{
    struct pmap_place *place = &page->place;
    while (place && place->pmap) {
        struct pmap *pmap = place->pmap;
        uint32_t address = place->address;
        if (!simple_lock_try(&pmap->lock))
            return false;
        entry_t *leaf = leaf_at(pmap, address);
        bool lost;
        if (rights & (PAGE_READ | PAGE_EXECUTE)) {
            lost = protect_one(pmap, address, leaf, rights);
            place = SLIST_NEXT(place, link);
        } else {
            lost = true;
            entry_set(leaf, 0);
            place_take_out(page, pmap, address); /* which moves the next place into the first */
            pmap->resident--;
        }
        simple_unlock(&pmap->lock);
        if (lost)
            *shoot |= users_of(pmap);
    }
    return true;
}

uint32_t pmap_page_protect_later(struct vm_page *page, unsigned rights)
{
    uint32_t shoot = 0;
    struct simple_lock *lock = places_lock_of(page);
    for (bool done = false; !done;) {
        crit_t s = simple_lock_enter(lock);
        done = protect_places(page, rights, &shoot);
        simple_lock_leave(lock, s);
    }
    return shoot;
}

void pmap_page_protect(struct vm_page *page, unsigned rights)
{
    pmap_shootdown(pmap_page_protect_later(page, rights));
}

void pmap_destroy(struct pmap *pmap)
{
    const entry_t *upper = page_pointer(pmap->root);
    pmap_remove(pmap, VM_BEGIN, VM_END);
    pmap_call(users_of(pmap), pmap_forget, pmap);
    for (unsigned i = 0; i < ENTRIES; i++)
        if (upper[i] & ENTRY_VALID)
            table_free(entry_page(upper[i]));
    table_free(pmap->root);
    pmap->root = 0;
    simple_lock_destroy(&pmap->lock);
}

/* ---- Look-ups and copies. */

/* With the lock held, or as a hint. An entry's rights are user mode's. */
static uint32_t pmap_find(const struct pmap *pmap, uint32_t address, unsigned rights)
{
    entry_t *leaf = address >= VM_BEGIN && address < VM_END ? leaf_at(pmap, address) : 0;
    uint32_t entry = leaf ? *leaf : 0;
    if (!(entry & ENTRY_VALID) || rights & ~entry)
        return 0;
    return entry_page(entry) | (address & PAGE_MASK);
}

uint32_t pmap_lookup(struct pmap *pmap, uint32_t address, unsigned rights)
{
    return pmap_find(pmap, address, rights);
}

/* The bytes from `address` on that lie in its page, at most `n` and a piece; 0 if `rights` do not suffice. */
static uint32_t piece_at(const struct pmap *pmap, uint32_t address, uint32_t n, unsigned rights, void **at)
{
    uint32_t physical = pmap_find(pmap, address, rights), rest = PAGE_SIZE - (address & PAGE_MASK);
    if (!physical)
        return 0;
    *at = page_pointer(physical);
    n = MIN(n, rest);
    return MIN(n, PIECE);
}

/* With the lock held, so that the page cannot be freed meanwhile; piece by piece, so that it is held briefly. */
uint32_t pmap_copy_in(struct pmap *pmap, void *to, uint32_t from, uint32_t n, bool string)
{
    uint32_t done = 0;
    while (done < n) {
        void *at;
        crit_t s = simple_lock_enter(&pmap->lock);
        uint32_t now = piece_at(pmap, from + done, n - done, PAGE_READ, &at);
        const char *end = string && now ? memchr(at, 0, now) : 0;
        if (end)
            now = (uint32_t)(end - (const char *)at) + 1;
        if (now)
            memcpy((char *)to + done, at, now);
        simple_lock_leave(&pmap->lock, s);
        done += now;
        if (!now || end)
            break;
    }
    return done;
}

uint32_t pmap_copy_out(struct pmap *pmap, uint32_t to, const void *from, uint32_t n, unsigned rights)
{
    uint32_t done = 0;
    while (done < n) {
        void *at;
        crit_t s = simple_lock_enter(&pmap->lock);
        uint32_t now = piece_at(pmap, to + done, n - done, rights, &at);
        if (now)
            memcpy(at, (const char *)from + done, now);
        simple_lock_leave(&pmap->lock, s);
        if (!now)
            break;
        done += now;
    }
    return done;
}
