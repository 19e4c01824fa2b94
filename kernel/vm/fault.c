/*
 * Page faults. Under the map's lock, shared: find the region, then search the chain of its object from the top for the
 * page, as in paper `crtc`, section 2, under the lock of the chain's family. Slow work (clearing, copying, a pager) is
 * done without that lock, while the page is busy; then the chain is searched again, or all is begun again: nothing that
 * was read before is still valid.
 *
 * A write gets a page of the first object: the one that is there, a copy of one further down, or a new one of 0. If an
 * asymmetric copy of the first object does not have the page, it is pushed there first.
 *
 * Locking: at the top of internal.h.
 */
#include <errno.h>
#include <string.h>

#include "lib/minmax.h"
#include "lib/panic.h"
#include "vm/internal.h"

/* Step results besides 0 and minus an error number: start again; wait for memory. Copies leave the map locked. */
enum { AGAIN = 1, MEMORY };

struct fault {
    struct vm_map *map;
    struct vm_entry *entry;
    uint32_t address; /* of the page */
    unsigned rights;
    bool write, wire, force; /* force: the region's rights are ignored (vm_fill) */
    struct vm_object *first;
    uint32_t first_index;
};

/* Makes the region's object ready for this fault, with the map locked exclusively meanwhile. */
static COLD int vm_fault_prepare(struct fault *f)
{
    struct vm_entry *e = f->entry;
    if (!lock_read_to_write(&f->map->lock))
        return AGAIN;
    int result = 0;
    if (!e->object) {
        e->object = vm_object_create(vm_entry_pages(e));
        e->offset = 0;
        e->needs_copy = false;
        if (!e->object)
            result = MEMORY;
    } else {
        struct vm_object *o = e->object;
        vm_object_lock(o);
        if (o->references > 1 || vm_object_is_frozen(o)) {
            o = vm_object_shadow(o, e->offset, vm_entry_pages(e));
            if (o) {
                e->object = o;
                e->offset = 0;
            } else {
                result = MEMORY;
            }
        }
        if (!result) {
            e->object->written = true;
            e->needs_copy = false;
        }
        vm_object_unlock(e->object);
    }
    if (result)
        lock_done(&f->map->lock);
    else
        lock_write_to_read(&f->map->lock);
    return result;
}

static COLD int no_memory(struct fault *f)
{
    vm_object_unlock(f->first);
    lock_done(&f->map->lock);
    return MEMORY;
}

/* The rights that user mode can have without another fault. */
static inline unsigned allowed(const struct fault *f, const struct vm_page *p)
{
    unsigned rights = f->entry->rights & ~(unsigned)p->locked;
    if (f->entry->needs_copy || p->object != f->first || !p->dirty || (f->first->copy && !f->write))
        rights &= ~PAGE_WRITE;
    return rights;
}

/* With the family locked, or the page busy. */
static inline __attribute__((always_inline)) int vm_fault_enter(struct fault *f, struct vm_page *p)
{
    p->inactive = false;
    if (f->write)
        p->dirty = true;
    int error = pmap_enter(&f->map->pmap, f->address, p, allowed(f, p));
    if (!error && f->wire)
        p->wired++;
    return error;
}

/* No object of the chain has the page: inserts a zeroed one. It is busy until it is clear. */
static int zero_fill(struct fault *f)
{
    struct vm_page *p = vm_page_alloc();
    if (!p)
        return no_memory(f);
    if (!vm_page_insert(f->first, f->first_index, p)) {
        vm_page_free(p);
        return no_memory(f);
    }
    p->dirty =
        f->first->shadow; /* a later search that misses it might find another page instead: so it must not be lost */
    vm_object_unlock(f->first);
    vm_page_zero(p);
    VM_COUNT(zero_fills);
    vm_object_lock(f->first);
    int error = f->first->copy ? AGAIN : vm_fault_enter(f, p); /* the copy must have it, too: as if it had been there */
    vm_page_unbusy(p);
    vm_object_unlock(f->first);
    lock_done(&f->map->lock);
    return error == -ENOMEM ? MEMORY : error;
}

/*
 * Copies the page `from`, which the caller found in any object of the chain, into `to`, unless that has one. The family
 * is not locked during the copy. The new page stays available to all. 0: search again.
 */
__attribute__((noinline)) static int copy_page(struct fault *f, struct vm_page *from, struct vm_object *to,
                                               uint32_t index)
{
    struct vm_page *p = vm_page_alloc();
    if (!p)
        return MEMORY;
    bool push = to != f->first;
    from->busy = true;
    from->object->busy++;
    vm_object_unlock(f->first);
    vm_page_copy(p, from);
    vm_object_lock(f->first);
    vm_page_unbusy(from);
    bool wanted = push ? f->first->copy == to : true;
    if (!wanted || radix_get(&to->pages, index)) {
        vm_page_free(p);
        return 0;
    }
    if (!vm_page_insert(to, index, p)) {
        vm_page_free(p);
        return MEMORY;
    }
    p->dirty = true;
    if (!push && f->entry->wired && from->wired) { /* the new page is the wired one now */
        from->wired--;
        p->wired++;
    }
    vm_page_unbusy(p);
    if (from->place.pmap && (push || to->references > 1))
        pmap_page_protect(from, 0); /* threads that saw that page through `to` must see this one */
    if (push)
        VM_COUNT(pushes);
    else
        VM_COUNT(copies);
    return 0;
}

/* Requests a page from its pager. */
static COLD int page_in(struct fault *f, struct vm_object *o, uint32_t index)
{
    if (o->destroyed) {
        vm_object_unlock(f->first);
        lock_done(&f->map->lock);
        return -EIO;
    }
    struct vm_page *p = vm_page_alloc();
    if (!p)
        return no_memory(f);
    bool paged = radix_get(&o->pages, index);
    if (!vm_page_insert(o, index, p)) {
        vm_page_free(p);
        return no_memory(f);
    }
    o->paged -= paged;
    p->absent = true;
    const struct vm_pager *pager = o->pager;
    vm_object_unlock(f->first);
    pager->data_request(o->memory, o->control, index, 1, f->rights & PAGE_RIGHTS); /* the busy page keeps the object */
    lock_done(&f->map->lock);
    return AGAIN;
}

/* A page that its pager could not supply. The next thread that needs it asks again. */
static COLD int vm_fault_failed(struct fault *f, struct vm_page *p)
{
    if (p->object->external)
        vm_page_discard(p);
    else
        vm_page_to_pager(p);
    vm_object_unlock(f->first);
    lock_done(&f->map->lock);
    return -EIO;
}

/* The pager withholds a right: asks for it, and this thread waits until the page changes. */
static COLD int unlock_page(struct fault *f, struct vm_page *p, unsigned rights)
{
    struct vm_object *o = p->object;
    const struct vm_pager *pager = o->pager;
    uint32_t memory = o->memory, index = p->index;
    vm_control_t control = o->control;
    bool home = o->shared == VM_SHARED_HOME;
    int error = o->destroyed || (!home && !pager) ? -EIO : !home && !pager->data_unlock ? -EACCES : 0;
    if (error) {
        vm_object_unlock(f->first);
        lock_done(&f->map->lock);
        return error;
    }
    if (p->unlocking) { /* another thread has asked */
        vm_page_sleep(p, f->first, &f->map->lock);
        return AGAIN;
    }
    p->unlocking = true;
    if (home)
        o->references++; /* the page alone does not keep it */
    vm_object_unlock(f->first);
    if (home)
        error = vm_shared_want(o, index, rights);
    else
        pager->data_unlock(memory, control, index, 1, rights);
    lock_done(&f->map->lock);
    if (home)
        vm_object_release(o);
    return error == -ENOMEM ? MEMORY : error ? error : AGAIN;
}

/*
 * How many zeroed pages to supply from the address on: as many as lie before it in the region, and one, as a program
 * that has written through these is likely to go on; so at most half of them are wasted. 0: search for the page. Only
 * for memory of a single region, where nothing is mapped: a page there is unlikely, unless pages are taken from
 * tasks.
 */
static uint32_t probably_new(const struct fault *f)
{
    const struct vm_object *o = f->first;
    const struct vm_entry *e = f->entry;
    if (o->references != 1 || o->shadow || o->external || o->pager || vm_page_scarce)
        return 0;
    uint32_t before = (f->address - e->begin) / PAGE_SIZE, rest = (e->end - f->address) / PAGE_SIZE, most = vm_ahead;
    if (most > before + 1)
        most = before + 1;
    if (most > rest)
        most = rest;
    if (!f->write || f->force || f->wire || e->wired || most < 1)
        most = 1;
    uint32_t n = pmap_room(&f->map->pmap, f->address, most);
    return n > 1 && pages_in_common() < 4 * vm_page_low ? 1 : n;
}

/*
 * Supplies a zeroed page, cleared before the family is locked, which then is locked once and not twice. Conditions read
 * without the lock are checked again. The map stays locked. 1: search for the page.
 */
static int fill_at_once(struct fault *f)
{
    struct vm_object *o = f->first;
    struct vm_page *p = vm_page_alloc();
    if (!p)
        return 1;
    vm_page_zero(p);
    vm_object_lock(o);
    if (f->first_index >= o->size || o->shadow || o->copy || o->external || !vm_page_add(o, f->first_index, p)) {
        vm_object_unlock(o);
        vm_page_free(p);
        return 1;
    }
    VM_COUNT(zero_fills);
    p->dirty = f->write;
    int error = pmap_enter_new(&f->map->pmap, f->address, &p, 1, allowed(f, p));
    if (!error && f->wire)
        p->wired++;
    vm_object_unlock(o);
    return error;
}

/* The same with more pages behind it, as far as there are free ones. */
static __attribute__((noinline)) int fill_ahead(struct fault *f, uint32_t n)
{
    struct vm_object *o = f->first;
    struct vm_page *page[VM_AHEAD];
    uint32_t have = vm_page_alloc_some(page, n), used = 0;
    for (uint32_t i = 0; i < have; i++)
        vm_page_zero(page[i]);
    vm_object_lock(o);
    int error = 1;
    if (!o->shadow && !o->copy && !o->external)
        while (used < have && f->first_index + used < o->size && vm_page_add(o, f->first_index + used, page[used]))
            page[used++]->dirty = true;
    if (used) {
        vm_counts[curhart->id].zero_fills += used;
        error = pmap_enter_new(&f->map->pmap, f->address, page, used, allowed(f, page[0]));
    }
    vm_object_unlock(o);
    for (; used < have; used++)
        vm_page_free(page[used]);
    return error;
}

/*
 * Enters the page, which lies in `o`; or copies it first, into the first object, or into a copy that must show it as it
 * was before: then the search must be repeated.
 */
static int enter_or_copy(struct fault *f, struct vm_object *o, struct vm_page *p, bool *copied)
{
    struct vm_object *copy = f->first->copy;
    int error;
    *copied = false;
    if (f->write && o != f->first) {
        error = copy_page(f, p, f->first, f->first_index);
        *copied = !error;
        if (!error)
            vm_object_shorten(f->first);
    } else if (f->write && copy && f->first_index >= copy->shadow_offset &&
               f->first_index - copy->shadow_offset < copy->size &&
               !radix_get(&copy->pages, f->first_index - copy->shadow_offset)) {
        error = copy_page(f, p, copy, f->first_index - copy->shadow_offset);
        *copied = !error;
    } else {
        error = vm_fault_enter(f, p);
    }
    return error;
}

/* The map is locked, shared, and the region has an object: returns without locks. */
static int resolve(struct fault *f)
{
    struct vm_entry *e = f->entry;
    f->first = e->object;
    f->first_index = e->offset + (f->address - e->begin) / PAGE_SIZE;
    uint32_t n = probably_new(f);
    if (n) {
        int done = n > 1 ? fill_ahead(f, n) : fill_at_once(f);
        if (done <= 0) {
            lock_done(&f->map->lock);
            return done == -ENOMEM ? MEMORY : done;
        }
    }
    vm_object_lock(f->first);
    for (;;) {
        struct vm_object *o = f->first;
        uint32_t index = f->first_index;
        struct vm_page *p;
        for (;;) {
            if (index >= o->size) {
                vm_object_unlock(f->first);
                lock_done(&f->map->lock);
                return -EIO;
            }
            p = radix_get(&o->pages, index);
            if (vm_is_page(p))
                break;
            if (p != VM_BELOW && (p || o->external))
                return page_in(f, o, index);
            if (!o->shadow)
                return zero_fill(f);
            index += o->shadow_offset;
            o = o->shadow;
        }
        if (p->busy) {
            vm_page_sleep(p, f->first, &f->map->lock);
            return AGAIN;
        }
        if (p->error)
            return vm_fault_failed(f, p);
        unsigned wanted = o == f->first ? f->rights & PAGE_RIGHTS : PAGE_READ; /* pages further down are only copied */
        if (p->locked & wanted)
            return unlock_page(f, p, wanted);
        if (p->inactive)
            VM_COUNT(reactivations);
        bool copied;
        int error = enter_or_copy(f, o, p, &copied);
        if (copied)
            continue;
        if (error == MEMORY || error == -ENOMEM)
            return no_memory(f);
        vm_object_unlock(f->first);
        lock_done(&f->map->lock);
        return error;
    }
}

static int attempt(struct fault *f)
{
    lock_read(&f->map->lock);
    struct vm_entry *e = f->entry = vm_map_entry_at(f->map, f->address);
    if (!e) {
        lock_done(&f->map->lock);
        int error = vm_map_grow(f->map, f->address);
        return error ? error : AGAIN;
    }
    int error = f->rights & ~(unsigned)e->rights && !f->force ? -EACCES : 0;
    if (error) {
        lock_done(&f->map->lock);
        return error;
    }
    if (!e->object || (f->write && e->needs_copy)) {
        error = vm_fault_prepare(f);
        if (error)
            return error;
    }
    return resolve(f);
}

static int fault(struct fault *f)
{
    VM_COUNT(faults);
    if (f->address < VM_BEGIN || f->address >= VM_END)
        return -EFAULT;
    for (;;) {
        int result = attempt(f);
        if (result == MEMORY && !vm_page_wait())
            return -ENOMEM;
        if (result <= 0)
            return result;
    }
}

int vm_fault(struct vm_map *map, uint32_t address, unsigned rights)
{
    struct fault f = {.map = map, .address = address & ~PAGE_MASK, .rights = rights, .write = rights & PAGE_WRITE};
    return fault(&f);
}

int vm_fault_wire(struct vm_map *map, uint32_t address, unsigned rights)
{
    struct fault f = {
        .map = map, .address = address & ~PAGE_MASK, .rights = rights, .write = rights & PAGE_WRITE, .wire = true};
    return fault(&f);
}

/* For the kernel: a page that may be written, whatever the region's rights. */
static int fault_to_fill(struct vm_map *map, uint32_t address)
{
    struct fault f = {.map = map, .address = address & ~PAGE_MASK, .rights = PAGE_WRITE, .write = true, .force = true};
    return fault(&f);
}

/* ---- Copies in and out. */

/* The error of a copy after that of a fault. */
static int copy_error(int error)
{
    return error == -ENOMEM ? error : -EFAULT;
}

int copyin(struct vm_map *map, void *to, uint32_t from, uint32_t n)
{
    for (;;) {
        uint32_t done = pmap_copy_in(&map->pmap, to, from, n, false);
        if (done == n)
            return 0;
        to = (char *)to + done;
        from += done;
        n -= done;
        int error = vm_fault(map, from, PAGE_READ);
        if (error)
            return copy_error(error);
    }
}

static int vm_fault_copy_to(struct vm_map *map, uint32_t to, const void *from, uint32_t n, unsigned rights)
{
    for (;;) {
        uint32_t done = pmap_copy_out(&map->pmap, to, from, n, rights);
        if (done == n)
            return 0;
        from = (const char *)from + done;
        to += done;
        n -= done;
        int error = vm_fault(map, to, rights);
        if (error)
            return copy_error(error);
    }
}

int copyout(struct vm_map *map, uint32_t to, const void *from, uint32_t n)
{
    return vm_fault_copy_to(map, to, from, n, PAGE_WRITE);
}

int copyinstr(struct vm_map *map, char *to, uint32_t from, uint32_t size)
{
    while (size) {
        uint32_t done = pmap_copy_in(&map->pmap, to, from, size, true);
        if (done && !to[done - 1])
            return 0;
        to += done;
        from += done;
        size -= done;
        int error = size ? vm_fault(map, from, PAGE_READ) : 0;
        if (error)
            return copy_error(error);
    }
    return -E2BIG;
}

int copyin_resident(struct vm_map *map, void *to, uint32_t from, uint32_t n)
{
    return pmap_copy_in(&map->pmap, to, from, n, false) == n ? 0 : -EFAULT;
}

int copyout_resident(struct vm_map *map, uint32_t to, const void *from, uint32_t n)
{
    return pmap_copy_out(&map->pmap, to, from, n, PAGE_WRITE) == n ? 0 : -EFAULT;
}

int vm_fill(struct vm_map *map, uint32_t to, const void *from, uint32_t size)
{
    while (size) {
        uint32_t rest = PAGE_SIZE - (to & PAGE_MASK), now = MIN(size, rest);
        int error = fault_to_fill(map, to);
        if (error)
            return error;
        now = pmap_copy_out(&map->pmap, to, from, now, PAGE_READ); /* 0: the page has been removed again */
        from = (const char *)from + now;
        to += now;
        size -= now;
    }
    pmap_text_changed(&map->pmap);
    return 0;
}

int vm_read(struct vm_map *map, uint32_t from, uint32_t size, void *to)
{
    return copyin(map, to, from, size);
}

int vm_write(struct vm_map *map, uint32_t to, const void *from, uint32_t size)
{
    return copyout(map, to, from, size);
}
