/*
 * Address maps (map.h): the list of regions and its operations. Copies are made by inheritance (vm_map_fork), by range
 * (vm_copy) and of objects (vm_map_object), all by the strategy of the object (object.h).
 *
 * Locking: at the top of internal.h. Shootdowns are made with the map locked, so no thread of the map sees a change
 * half done.
 */
#include "vm/map.h"

#include <errno.h>
#include <string.h>

#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "mem/zone.h"
#include "vm/inherited.h"
#include "vm/internal.h"

DEFINE_ZONE(maps, "vm-maps", sizeof(struct vm_map), LINE, SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(entries, "vm-entries", sizeof(struct vm_entry), LINE, SPL_SOFTPREEMPT, 0);
static RW_LOCK_CLASS(map_class, "vm map");
static volatile uint32_t map_count;

void vm_init(uint32_t begin, uint32_t end, uint32_t most)
{
    uint32_t swap = bootargs_number(BOOT(kernel, vm_swap));
    uint32_t room = (end - begin) / PAGE_SIZE;
    if (swap > room / 2)
        swap = room / 2;
    vm_ahead = bootargs_number(BOOT(kernel, vm_ahead));
    vm_pages_init(vm_swap_init(begin, swap), end, most);
}

uint32_t vm_maps(void)
{
    return map_count;
}

uint32_t vm_map_size(struct vm_map *map)
{
    return map->size;
}

/* ---- The list. */

struct vm_entry *vm_map_entry_at(struct vm_map *map, uint32_t address)
{
    struct vm_entry *e = map->hint;
    if (address < e->begin || e == &map->head)
        e = map->head.next;
    for (; e != &map->head; e = e->next) {
        if (address < e->begin)
            return 0;
        if (address < e->end) {
            map->hint = e;
            return e;
        }
    }
    return 0;
}

/* The first region that ends above `address`, or the head. */
static struct vm_entry *first_above(struct vm_map *map, uint32_t address)
{
    struct vm_entry *e = map->head.next;
    while (e != &map->head && e->end <= address)
        e = e->next;
    return e;
}

static void insert_before(struct vm_map *map, struct vm_entry *next, struct vm_entry *e)
{
    e->next = next;
    e->previous = next->previous;
    e->previous->next = next->previous = e;
    map->size += e->end - e->begin;
}

static void vm_map_unlink(struct vm_map *map, struct vm_entry *e)
{
    e->previous->next = e->next;
    e->next->previous = e->previous;
    map->size -= e->end - e->begin;
    if (map->hint == e)
        map->hint = &map->head;
}

/*
 * A region takes kernel memory, with the object that it may get. A map has some regions for free; for each further
 * ENTRIES_PER_PAGE a page is promised, as if it were the program's own: so a program with many regions does not use
 * what was promised to others. The map is locked exclusively, or not in use yet.
 */
#define ENTRIES_FREE 64
#define ENTRIES_PER_PAGE 8

static bool entries_are_charged(uint32_t n)
{
    return n >= ENTRIES_FREE && n % ENTRIES_PER_PAGE == 0;
}

static struct vm_entry *entry_new(struct vm_map *map)
{
    bool charged = entries_are_charged(map->entries);
    if (charged && !vm_promise(1))
        return 0;
    struct vm_entry *e = zone_alloc(&entries);
    if (e)
        map->entries++;
    else if (charged)
        vm_unpromise(1);
    return e;
}

static void entry_free(struct vm_map *map, struct vm_entry *e)
{
    zone_free(&entries, e);
    if (entries_are_charged(--map->entries))
        vm_unpromise(1);
}

/* Splits the region at `address`, which may lie outside of it; the part behind becomes a region of its own. */
static int clip(struct vm_map *map, struct vm_entry *e, uint32_t address)
{
    if (address <= e->begin || address >= e->end)
        return 0;
    struct vm_entry *behind = entry_new(map);
    if (!behind)
        return -ENOMEM;
    *behind = *e;
    behind->begin = address;
    behind->offset += (address - e->begin) / PAGE_SIZE;
    if (e->object)
        vm_object_reference(e->object);
    else
        behind->offset = 0;
    map->size -= e->end - address;
    e->end = address;
    insert_before(map, e->next, behind);
    return 0;
}

/* Splits regions at the ends of [begin, end). */
static int clip_range(struct vm_map *map, uint32_t begin, uint32_t end)
{
    struct vm_entry *e = first_above(map, begin);
    if (e == &map->head)
        return 0;
    int error = clip(map, e, begin);
    e = first_above(map, begin);
    for (; !error && e != &map->head && e->begin < end; e = e->next)
        error = clip(map, e, end);
    return error;
}

static bool is_all_there(struct vm_map *map, uint32_t begin, uint32_t end)
{
    for (struct vm_entry *e = first_above(map, begin); begin < end; begin = e->end, e = e->next)
        if (e == &map->head || e->begin > begin)
            return false;
    return true;
}

/* Rounds to whole pages. -EINVAL: no such range. */
static int round_range(uint32_t *begin, uint32_t *end, uint32_t size)
{
    uint32_t from = *begin & ~PAGE_MASK, to = *begin + size;
    if (!size || to < *begin || *begin < VM_BEGIN || *begin >= VM_END || to > VM_END)
        return -EINVAL;
    *begin = from;
    *end = (to + PAGE_MASK) & ~PAGE_MASK;
    return 0;
}

/* ---- Maps. */

struct vm_map *vm_map_create(void)
{
    struct vm_map *map = zone_alloc(&maps);
    if (!map)
        return 0;
    *map = (struct vm_map){.references = 1, .room = {VM_BEGIN, VM_END}, .most = UINT32_MAX};
    map->head.next = map->head.previous = map->hint = &map->head;
    if (!pmap_init(&map->pmap)) {
        zone_free(&maps, map);
        return 0;
    }
    lock_init(&map->lock, &map_class, "vm map");
    __atomic_fetch_add(&map_count, 1, __ATOMIC_RELAXED);
    return map;
}

void vm_map_reference(struct vm_map *map)
{
    __atomic_fetch_add(&map->references, 1, __ATOMIC_RELAXED);
}

/* Removes a region whose pages are not mapped any more. The map is locked exclusively, or not in use yet. */
static void vm_map_drop(struct vm_map *map, struct vm_entry *e)
{
    vm_map_unlink(map, e);
    if (e->charged)
        vm_unpromise(vm_entry_pages(e));
    if (e->object)
        vm_object_release(e->object);
    entry_free(map, e);
}

/* The page that the region shows at `index` of its object, or 0. The family is locked. */
static struct vm_page *seen(struct vm_object *o, uint32_t index)
{
    struct vm_page *p = 0;
    while (o && (!(p = radix_get(&o->pages, index)) || p == VM_BELOW)) {
        index += o->shadow_offset;
        o = o->shadow;
    }
    return vm_is_page(p) ? p : 0;
}

static void unwire(struct vm_entry *e)
{
    struct vm_page *p;
    e->wired = 0;
    if (!e->object)
        return;
    vm_object_lock(e->object);
    for (uint32_t i = 0; i < vm_entry_pages(e); i++)
        if ((p = seen(e->object, e->offset + i)) && p->wired)
            p->wired--;
    vm_object_unlock(e->object);
}

#define NEIGHBOURS 16 /* how many are searched on each side, so that a call on many regions stays short */

/*
 * How many regions from `i` on, forwards or backwards, have the object of `e`; *seen: one of them shows pages that `e`
 * shows.
 */
static uint32_t aliases(const struct vm_map *map, const struct vm_entry *i, const struct vm_entry *e, bool forwards,
                        bool *seen)
{
    uint32_t n = 0, begin = e->offset, end = begin + vm_entry_pages(e);
    for (unsigned far = 0; far < NEIGHBOURS && i != &map->head; far++, i = forwards ? i->next : i->previous) {
        if (i->object != e->object)
            continue;
        n++;
        if (i->offset < end && i->offset + vm_entry_pages(i) > begin)
            *seen = true;
    }
    return n;
}

/* Drops the page at `index`, unless it is busy or wired, and the default pager's copy of it. */
static void discard_at(struct vm_object *o, uint32_t index, struct vm_page *p)
{
    bool paged = !vm_is_page(p), backed = paged || p->backed;
    if (paged) {
        radix_clear(&o->pages, index);
        o->paged--;
    } else if (!p->busy && !p->wired) {
        vm_page_discard(p);
    } else {
        return;
    }
    if (backed && o->pager && o->pager->data_unwanted)
        o->pager->data_unwanted(o->memory, o->control, index, 1);
}

/*
 * Region `e` is about to go. Its pages are freed now if only its neighbours keep its object, as after a region was
 * split, and none of them shows these pages: so a task that returns a part of what it allocated does not keep that
 * part's pages. The map is locked exclusively.
 */
static void discard_unseen(struct vm_map *map, const struct vm_entry *e)
{
    struct vm_object *o = e->object;
    vm_object_lock(o);
    if (o->references > 1 && !o->copy && !o->external) {
        bool is_seen = false;
        uint32_t n = 1 + aliases(map, e->previous, e, false, &is_seen) + aliases(map, e->next, e, true, &is_seen);
        uint32_t end = e->offset + vm_entry_pages(e);
        struct vm_page *p;
        for (uint32_t i = e->offset; n == o->references && !is_seen && (p = radix_next(&o->pages, &i)) && i < end; i++)
            discard_at(o, i, p);
    }
    vm_object_unlock(o);
}

static void remove_range(struct vm_map *map, uint32_t begin, uint32_t end)
{
    struct vm_entry *e = first_above(map, begin), *first = e;
    for (; e != &map->head && e->begin < end; e = e->next)
        if (e->wired)
            unwire(e);
    pmap_remove(&map->pmap, begin, end);
    for (struct vm_entry *next; first != &map->head && first->begin < end; first = next) {
        next = first->next;
        if (first->object && map->references) /* else all of them go */
            discard_unseen(map, first);
        vm_map_drop(map, first);
    }
}

/*
 * Page tables are kernel memory, too, and stay until the map goes: with the first region in the range of a table, its
 * page is promised.
 */
static uint32_t vm_map_new_tables(const struct vm_map *map, uint32_t begin, uint32_t end)
{
    uint32_t n = 0;
    for (uint32_t t = begin / TABLE_REACH; t <= (end - 1) / TABLE_REACH; t++)
        n += !(map->tables[t / 32] >> t % 32 & 1);
    return n;
}

static bool vm_map_promise_tables(struct vm_map *map, uint32_t begin, uint32_t end)
{
    uint32_t n = vm_map_new_tables(map, begin, end);
    if (n && !vm_promise_tables(n))
        return false;
    for (uint32_t t = begin / TABLE_REACH; n && t <= (end - 1) / TABLE_REACH; t++)
        map->tables[t / 32] |= 1u << t % 32;
    return true;
}

static void vm_map_unpromise_tables(const struct vm_map *map)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < sizeof map->tables / sizeof *map->tables; i++)
        n += (uint32_t)__builtin_popcount(map->tables[i]);
    vm_unpromise_tables(n);
}

void vm_map_release(struct vm_map *map)
{
    if (__atomic_sub_fetch(&map->references, 1, __ATOMIC_ACQ_REL))
        return;
    if (map->head.next != &map->head)
        remove_range(map, VM_BEGIN, VM_END);
    pmap_destroy(&map->pmap);
    vm_map_unpromise_tables(map);
    lock_destroy(&map->lock);
    zone_free(&maps, map);
    __atomic_fetch_sub(&map_count, 1, __ATOMIC_RELAXED);
}

/* ---- Regions. */

void vm_map_set_room(struct vm_map *map, uint32_t begin, uint32_t end)
{
    map->room.begin = begin;
    map->room.end = end;
}

/* Finds `size` free bytes from `*address` on, within the room; false: there are none. */
static bool find_room(struct vm_map *map, uint32_t *address, uint32_t size)
{
    uint32_t at = MAX(*address, map->room.begin);
    for (struct vm_entry *e = first_above(map, at); e != &map->head; e = e->next) {
        if (e->begin >= at && e->begin - at >= size)
            break;
        at = e->end;
    }
    *address = at;
    return at < map->room.end && map->room.end - at >= size;
}

static bool is_anonymous_like(const struct vm_entry *e, const struct vm_entry *as)
{
    return e->rights == as->rights && e->maximum == as->maximum && e->inherit == as->inherit && !e->wired &&
           e->charged == as->charged;
}

/* Joins memory of 0 to a region of the same kind that ends where it begins. */
static bool extend(struct vm_map *map, struct vm_entry *before, const struct vm_entry *e)
{
    if (before == &map->head || before->end != e->begin || e->object || e->needs_copy || before->needs_copy ||
        !is_anonymous_like(before, e))
        return false;
    struct vm_object *o = before->object;
    if (o) {
        vm_object_lock(o);
        bool alone = o->references == 1 && !o->shadow && !o->copy && !o->external && o->strategy == VM_COPY_SYMMETRIC &&
                     before->offset + vm_entry_pages(before) == o->size;
        if (alone)
            o->size += vm_entry_pages(e);
        vm_object_unlock(o);
        if (!alone)
            return false;
    }
    before->end = e->end;
    map->size += e->end - e->begin;
    return true;
}

/* Promised pages of a range that begins and ends with regions; `taken`: the caller takes over the promise. */
static uint32_t promised_in(struct vm_map *map, uint32_t begin, uint32_t end, bool taken)
{
    uint32_t n = 0;
    for (struct vm_entry *e = first_above(map, begin); e != &map->head && e->begin < end; e = e->next)
        if (e->charged) {
            n += vm_entry_pages(e);
            e->charged = !taken;
        }
    return n;
}

/* Bytes of regions in the range. */
static uint32_t vm_map_size_in(struct vm_map *map, uint32_t begin, uint32_t end)
{
    uint32_t size = 0;
    for (struct vm_entry *e = first_above(map, begin); e != &map->head && e->begin < end; e = e->next)
        size += MIN(e->end, end) - MAX(e->begin, begin);
    return size;
}

/* Adds a region like `wanted`. The map is locked exclusively. Takes over the object's reference on success. */
static int vm_map_add(struct vm_map *map, uint32_t *address, uint32_t size, unsigned flags,
                      const struct vm_entry *wanted)
{
    uint32_t begin = *address, end;
    if (flags & VM_ANYWHERE) {
        begin &= ~PAGE_MASK;
        size = size > VM_END ? size : (size + PAGE_MASK) & ~PAGE_MASK;
        if (!size || size > VM_END)
            return -EINVAL;
        if (!find_room(map, &begin, size)) {
            begin = map->room.begin;
            if (!find_room(map, &begin, size))
                return -ENOMEM;
        }
        end = begin + size;
    } else {
        if (round_range(&begin, &end, size))
            return -EINVAL;
        struct vm_entry *e = first_above(map, begin);
        if (e != &map->head && e->begin < end && !(flags & VM_REPLACE))
            return -EEXIST;
    }
    uint32_t stays = map->size - (flags & VM_REPLACE ? vm_map_size_in(map, begin, end) : 0);
    if (stays > map->most || end - begin > map->most - stays)
        return -ENOMEM;
    if (!vm_map_promise_tables(map, begin, end))
        return -ENOMEM;
    struct vm_entry *e = entry_new(map);
    if (!e)
        return -ENOMEM;
    *e = *wanted;
    e->begin = begin;
    e->end = end;
    int error = flags & VM_REPLACE ? clip_range(map, begin, end) : 0;
    uint32_t had = error ? 0 : promised_in(map, begin, end, false), want = e->charged ? vm_entry_pages(e) : 0;
    if (!error && want > had && !vm_promise(want - had))
        error = -ENOMEM;
    if (error) {
        entry_free(map, e);
        return error;
    }
    if (flags & VM_REPLACE) {
        promised_in(map, begin, end, true);
        remove_range(map, begin, end);
        if (had > want)
            vm_unpromise(had - want);
    }
    struct vm_entry *next = first_above(map, begin);
    if (extend(map, next->previous, e))
        entry_free(map, e);
    else
        insert_before(map, next, e);
    *address = begin;
    return 0;
}

static bool rights_are_sound(unsigned rights, unsigned maximum)
{
    return !(rights & ~PAGE_RIGHTS) && !(maximum & ~PAGE_RIGHTS) && !(rights & ~maximum) &&
           (rights & (PAGE_WRITE | PAGE_EXECUTE)) != (PAGE_WRITE | PAGE_EXECUTE);
}

int vm_map_enter(struct vm_map *map, const struct vm_inherited *from)
{
    uint32_t begin = from->begin;
    struct vm_entry wanted = {.object = from->object,
                              .offset = from->offset,
                              .rights = (uint8_t)from->rights,
                              .maximum = (uint8_t)from->maximum,
                              .inherit = (uint8_t)from->inherit,
                              .needs_copy = from->needs_copy,
                              .charged = from->charged};
    if (!rights_are_sound(from->rights, from->maximum) || from->inherit > VM_INHERIT_NONE ||
        (from->begin | from->end) & PAGE_MASK || from->begin >= from->end)
        return -EINVAL;
    lock_write(&map->lock);
    int error = vm_map_add(map, &begin, from->end - from->begin, VM_FIXED, &wanted);
    lock_done(&map->lock);
    return error;
}

bool vm_map_next(struct vm_map *map, uint32_t address, struct vm_inherited *to)
{
    lock_read(&map->lock);
    struct vm_entry *e = first_above(map, address);
    bool there = e != &map->head;
    if (there) {
        *to = (struct vm_inherited){.begin = e->begin,
                                    .end = e->end,
                                    .object = e->object,
                                    .offset = e->offset,
                                    .rights = e->rights,
                                    .maximum = e->maximum,
                                    .inherit = e->inherit,
                                    .needs_copy = e->needs_copy,
                                    .charged = e->charged};
        if (e->object)
            vm_object_reference(e->object);
    }
    lock_done(&map->lock);
    return there;
}

struct vm_form vm_map_form(struct vm_map *map)
{
    lock_read(&map->lock);
    struct vm_form form = {.room = {map->room.begin, map->room.end},
                           .growth = {map->growth.begin, map->growth.end, map->growth.step}};
    lock_done(&map->lock);
    return form;
}

void vm_map_set_form(struct vm_map *map, const struct vm_form *form)
{
    map->room.begin = form->room[0];
    map->room.end = form->room[1];
    map->growth.begin = form->growth[0];
    map->growth.end = form->growth[1];
    map->growth.step = form->growth[2];
}

int vm_map_object(struct vm_map *map, uint32_t *address, uint32_t size, unsigned flags, struct vm_object *object,
                  uint32_t offset, bool copy, unsigned rights, unsigned maximum, enum vm_inherit inherit)
{
    uint32_t pages = (uint32_t)(((uint64_t)size + PAGE_MASK) / PAGE_SIZE), shoot = 0;
    if (!rights_are_sound(rights, maximum))
        return -EACCES;
    if (object && (offset > object->size || pages > object->size - offset || *address & PAGE_MASK))
        return -EINVAL;
    struct vm_entry wanted = {.object = object,
                              .offset = object ? offset : 0,
                              .rights = (uint8_t)rights,
                              .maximum = (uint8_t)maximum,
                              .inherit = (uint8_t)inherit,
                              .charged = maximum & PAGE_WRITE && (copy || !object || !object->external)};
    if (object) {
        vm_object_lock(object);
        object->strategy = VM_COPY_ASYMMETRIC; /* it must keep its identity, here or elsewhere */
        if (copy && object->shared)
            wanted.object = vm_shared_copy(object, &shoot);
        else if (copy)
            wanted.object = vm_object_copy(object, &shoot);
        else
            object->references++;
        vm_object_unlock(object);
        pmap_shootdown(shoot);
        if (!wanted.object)
            return -ENOMEM;
        if (copy)
            vm_object_was_copied(object);
        wanted.needs_copy = copy;
    }
    lock_write(&map->lock);
    int error = vm_map_add(map, address, size, flags, &wanted);
    lock_done(&map->lock);
    if (error && wanted.object)
        vm_object_release(wanted.object);
    return error;
}

int vm_allocate(struct vm_map *map, uint32_t *address, uint32_t size, unsigned flags)
{
    return vm_map_object(map, address, size, flags, 0, 0, false, PAGE_READ | PAGE_WRITE, PAGE_RIGHTS, VM_INHERIT_COPY);
}

int vm_allocate_stack(struct vm_map *map, uint32_t top, uint32_t most, uint32_t step)
{
    uint32_t begin = top - step;
    struct vm_entry *e = first_above(map, top - most);
    if (e != &map->head && e->begin < top)
        return -EEXIST;
    map->growth.begin = map->growth.bottom = top - most;
    map->growth.end = begin;
    map->growth.step = step;
    map->growth.top = top;
    return vm_allocate(map, &begin, step, VM_FIXED);
}

void vm_map_limit(struct vm_map *map, uint32_t most)
{
    lock_write(&map->lock);
    map->most = most;
    lock_done(&map->lock);
}

void vm_map_limit_stack(struct vm_map *map, uint32_t most)
{
    lock_write(&map->lock);
    uint32_t top = map->growth.top, bottom = map->growth.bottom;
    if (top)
        map->growth.begin = most < top - bottom ? (top - most) & ~PAGE_MASK : bottom;
    lock_done(&map->lock);
}

/* Grows by whole steps where the range is free, as a region is not joined to the one above. */
int vm_map_grow(struct vm_map *map, uint32_t address)
{
    static const struct vm_entry wanted = {
        .rights = PAGE_READ | PAGE_WRITE, .maximum = PAGE_RIGHTS, .inherit = VM_INHERIT_COPY, .charged = true};
    lock_write(&map->lock);
    uint32_t begin = map->growth.begin, end = map->growth.end;
    int error = 0;
    if (!vm_map_entry_at(map, address)) { /* or another thread has grown it */
        struct vm_entry *above = first_above(map, address), *below = above->previous;
        error = -EFAULT;
        if (address >= begin && address < end && (above == &map->head || above->begin >= end)) {
            begin += (address - begin) / map->growth.step * map->growth.step;
            if (below != &map->head && below->end > begin)
                begin = below->end;
            error = vm_map_add(map, &begin, end - begin, VM_FIXED, &wanted);
            if (!error)
                map->growth.end = begin;
        }
    }
    lock_done(&map->lock);
    return error;
}

int vm_deallocate(struct vm_map *map, uint32_t address, uint32_t size)
{
    uint32_t end;
    int error = round_range(&address, &end, size);
    if (error)
        return error;
    lock_write(&map->lock);
    error = clip_range(map, address, end);
    if (!error)
        remove_range(map, address, end);
    lock_done(&map->lock);
    return error;
}

/* Begins work on a range that must be all in regions: locks the map exclusively, unless there is an error. */
static int begin_range(struct vm_map *map, uint32_t *address, uint32_t *end, uint32_t size)
{
    int error = round_range(address, end, size);
    if (error)
        return error;
    lock_write(&map->lock);
    if (!is_all_there(map, *address, *end))
        error = -EFAULT;
    if (!error)
        error = clip_range(map, *address, *end);
    if (error)
        lock_done(&map->lock);
    return error;
}

static bool has_pager_below(struct vm_object *object)
{
    bool found = false;
    vm_object_lock(object);
    for (const struct vm_object *o = object; o && !found; o = o->shadow)
        found = o->external;
    vm_object_unlock(object);
    return found;
}

int vm_discard(struct vm_map *map, uint32_t address, uint32_t size)
{
    uint32_t end;
    int error = begin_range(map, &address, &end, size);
    if (error)
        return error;
    for (struct vm_entry *e = first_above(map, address); !error && e != &map->head && e->begin < end; e = e->next) {
        struct vm_object *o = e->inherit == VM_INHERIT_COPY ? e->object : 0;
        if (!o)
            continue;
        if (e->wired || has_pager_below(o)) {
            error = -EINVAL;
            continue;
        }
        pmap_remove(&map->pmap, e->begin, e->end);
        discard_unseen(map, e);
        e->object = 0;
        e->offset = 0;
        e->needs_copy = false;
        vm_object_release(o);
    }
    lock_done(&map->lock);
    return error;
}

int vm_protect(struct vm_map *map, uint32_t address, uint32_t size, bool maximum, unsigned rights)
{
    uint32_t end;
    if (!maximum && !rights_are_sound(rights, PAGE_RIGHTS))
        return -EACCES;
    int error = begin_range(map, &address, &end, size);
    if (error)
        return error;
    struct vm_entry *first = first_above(map, address), *e;
    for (e = first; !maximum && e != &map->head && e->begin < end; e = e->next)
        if (rights & ~(unsigned)e->maximum)
            error = -EACCES;
    for (e = first; !error && e != &map->head && e->begin < end; e = e->next) {
        unsigned old = e->rights;
        if (maximum) {
            e->maximum &= (uint8_t)rights;
            e->rights &= e->maximum;
            if (e->charged && !(e->maximum & PAGE_WRITE) && !e->object) {
                e->charged = false;
                vm_unpromise(vm_entry_pages(e));
            }
        } else {
            e->rights = (uint8_t)rights;
        }
        if (old & ~(unsigned)e->rights)
            pmap_protect(&map->pmap, e->begin, e->end, e->rights);
    }
    lock_done(&map->lock);
    return error;
}

int vm_inherit(struct vm_map *map, uint32_t address, uint32_t size, enum vm_inherit inherit)
{
    uint32_t end;
    if (inherit > VM_INHERIT_NONE)
        return -EINVAL;
    int error = begin_range(map, &address, &end, size);
    if (error)
        return error;
    for (struct vm_entry *e = first_above(map, address); e != &map->head && e->begin < end; e = e->next)
        e->inherit = (uint8_t)inherit;
    lock_done(&map->lock);
    return 0;
}

int vm_region(struct vm_map *map, uint32_t address, struct vm_region *region)
{
    lock_read(&map->lock);
    struct vm_entry *e = first_above(map, address);
    bool there = e != &map->head;
    if (there) {
        *region = (struct vm_region){.begin = e->begin,
                                     .end = e->end,
                                     .rights = e->rights,
                                     .maximum = e->maximum,
                                     .inherit = e->inherit,
                                     .copy = e->needs_copy,
                                     .wired = e->wired,
                                     .offset = e->offset};
        if (e->object) {
            vm_object_lock(e->object);
            region->resident = e->object->resident;
            for (struct vm_object *o = e->object; o; o = o->shadow)
                region->objects++;
            vm_object_unlock(e->object);
        }
    }
    lock_done(&map->lock);
    return there ? 0 : -EFAULT;
}

/* ---- Copies. */

/*
 * The object of region `e` for another region, as it is now, with a reference; *needs_copy: a writer there makes an
 * object of its own first. 0: memory is out. The map is locked exclusively; *shoot as for vm_object_copy.
 */
static struct vm_object *copy_of(struct vm_map *map, struct vm_entry *e, uint32_t *shoot)
{
    struct vm_object *o = e->object, *copy = o;
    vm_object_lock(o);
    if (o->shared) {
        copy = vm_shared_copy(o, shoot);
    } else if (o->strategy == VM_COPY_ASYMMETRIC || e->wired) {
        copy = vm_object_copy(o, shoot);
    } else {
        if (!o->busy)
            vm_object_shorten(o);
        o->references++;
        if (!e->needs_copy) {
            e->needs_copy = true;
            o->written = true; /* it may have been, as this region could write to it */
            vm_object_unlock(o);
            if (e->rights & PAGE_WRITE)
                pmap_protect(&map->pmap, e->begin, e->end, e->rights & ~PAGE_WRITE);
            return o;
        }
    }
    vm_object_unlock(o);
    if (copy && copy != o)
        vm_object_was_copied(o);
    return copy;
}

/* Prepares the region's object for use in another map, too: an object of its own, which receives all writes. */
static int make_shared(struct vm_entry *e)
{
    if (!e->object) {
        e->object = vm_object_create(vm_entry_pages(e));
        e->offset = 0;
        if (!e->object)
            return -ENOMEM;
    }
    struct vm_object *o = e->object;
    vm_object_lock(o);
    if (e->needs_copy && (o->references > 1 || vm_object_is_frozen(o))) {
        struct vm_object *own = vm_object_shadow(o, e->offset, vm_entry_pages(e));
        if (!own) {
            vm_object_unlock(o);
            return -ENOMEM;
        }
        e->object = own;
        e->offset = 0;
    }
    e->needs_copy = false;
    e->object->written = true;
    e->object->strategy = VM_COPY_ASYMMETRIC;
    vm_object_unlock(e->object);
    return 0;
}

/* Adds the child's share of region `e` to the end of its list. */
static int inherit(struct vm_map *parent, struct vm_map *child, struct vm_entry *e, uint32_t *shoot)
{
    if (e->inherit == VM_INHERIT_NONE)
        return 0;
    if (!vm_map_promise_tables(child, e->begin, e->end))
        return -ENOMEM;
    bool shared = e->inherit == VM_INHERIT_SHARE;
    int error = shared ? make_shared(e) : 0;
    struct vm_entry *c = error ? 0 : entry_new(child);
    if (!c)
        return -ENOMEM;
    *c = *e;
    c->wired = 0;
    if (c->charged && !vm_promise(vm_entry_pages(c))) {
        entry_free(child, c);
        return -ENOMEM;
    }
    if (shared) {
        vm_object_reference(c->object);
    } else if (e->object) {
        c->object = copy_of(parent, e, shoot);
        c->needs_copy = true;
        if (!c->object) {
            if (c->charged)
                vm_unpromise(vm_entry_pages(c));
            entry_free(child, c);
            return -ENOMEM;
        }
    }
    insert_before(child, &child->head, c);
    return 0;
}

/* Shared memory stays writable or executable, so that no map executes what another writes. */
static void keep_kind(struct vm_map *map)
{
    for (struct vm_entry *e = map->head.next; e != &map->head; e = e->next)
        if (e->inherit == VM_INHERIT_SHARE)
            e->maximum &= e->rights & PAGE_EXECUTE ? (uint8_t)~PAGE_WRITE : (uint8_t)~PAGE_EXECUTE;
}

struct vm_map *vm_map_fork(struct vm_map *parent)
{
    struct vm_map *child = vm_map_create();
    if (!child)
        return 0;
    uint32_t shoot = 0;
    int error = 0;
    lock_write(&parent->lock);
    child->room = parent->room;
    child->growth = parent->growth;
    child->most = parent->most;
    for (struct vm_entry *e = parent->head.next; e != &parent->head && !error; e = e->next)
        error = inherit(parent, child, e, &shoot);
    pmap_shootdown(shoot);
    if (!error) {
        keep_kind(parent);
        keep_kind(child);
    }
    lock_done(&parent->lock);
    if (error) {
        vm_map_release(child);
        child = 0;
    }
    return child;
}

int vm_map_copy_in(struct vm_map *map, uint32_t from, uint32_t size, struct vm_object **object, uint32_t *page)
{
    uint32_t shoot = 0;
    lock_write(&map->lock);
    struct vm_entry *e = vm_map_entry_at(map, from);
    int error =
        !e || from + size > e->end || from + size < from || !e->object || !(e->rights & PAGE_READ) ? -EOPNOTSUPP : 0;
    if (!error) {
        *page = e->offset + (from - e->begin) / PAGE_SIZE;
        *object = copy_of(map, e, &shoot);
        error = *object ? 0 : -ENOMEM;
        pmap_shootdown(shoot);
    }
    lock_done(&map->lock);
    return error;
}

int vm_map_copy_out(struct vm_map *map, uint32_t *to, uint32_t size, struct vm_object *object, uint32_t page)
{
    struct vm_entry wanted = {.object = object,
                              .offset = page,
                              .rights = PAGE_READ | PAGE_WRITE,
                              .maximum = PAGE_RIGHTS,
                              .inherit = VM_INHERIT_COPY,
                              .needs_copy = true,
                              .charged = true};
    lock_write(&map->lock);
    int error = vm_map_add(map, to, size, VM_ANYWHERE, &wanted);
    lock_done(&map->lock);
    return error;
}

/* Copies by way of the kernel, where the destination must keep its object. */
static int copy_bytes(struct vm_map *map, uint32_t from, uint32_t size, uint32_t to)
{
    char piece[256];
    int error = 0;
    for (uint32_t at = 0; at < size && !error; at += sizeof piece) {
        error = copyin(map, piece, from + at, sizeof piece);
        if (!error)
            error = copyout(map, to + at, piece, sizeof piece);
    }
    return error;
}

/* Whether only the map uses the object of region `e`: then another may take its place. */
static bool is_private(const struct vm_entry *e)
{
    return !e->wired && (!e->object || e->object->strategy == VM_COPY_SYMMETRIC);
}

/* Copies [from, from + size), which lies in region `e`, to region `d`, which has exactly the destination's range. */
static int copy_region(struct vm_map *map, struct vm_entry *e, uint32_t from, struct vm_entry *d, uint32_t *shoot)
{
    struct vm_object *copy = 0;
    if (e->object) {
        copy = copy_of(map, e, shoot);
        if (!copy)
            return -ENOMEM;
    }
    pmap_remove(&map->pmap, d->begin, d->end);
    if (d->object)
        vm_object_release(d->object);
    d->object = copy;
    d->offset = copy ? e->offset + (from - e->begin) / PAGE_SIZE : 0;
    d->needs_copy = copy;
    return 0;
}

int vm_copy(struct vm_map *map, uint32_t from, uint32_t size, uint32_t to)
{
    uint32_t end, from_end, shoot = 0;
    if ((from | to | size) & PAGE_MASK || round_range(&from, &from_end, size))
        return -EINVAL;
    if (from < to ? to - from < size : from - to < size)
        return -EINVAL;
    int error = begin_range(map, &to, &end, size);
    if (error)
        return error;
    if (!is_all_there(map, from, from_end))
        error = -EFAULT;
    bool private = true;
    for (struct vm_entry *d = first_above(map, to); !error && d != &map->head && d->begin < end; d = d->next) {
        private = private && is_private(d);
        if (!(d->rights & PAGE_WRITE))
            error = -EACCES;
    }
    for (struct vm_entry *e = first_above(map, from); !error && e != &map->head && e->begin < from_end; e = e->next) {
        if (!(e->rights & PAGE_READ))
            error = -EACCES;
        /* the destination is split where the source is */
        if (!error && private && e->end < from_end) {
            uint32_t at = to + (e->end - from);
            error = clip(map, first_above(map, at), at);
        }
    }
    for (struct vm_entry *d = first_above(map, to); !error && private && d != &map->head && d->begin < end;
         d = d->next) {
        uint32_t at = from + (d->begin - to);
        error = copy_region(map, first_above(map, at), at, d, &shoot);
    }
    pmap_shootdown(shoot);
    lock_done(&map->lock);
    return error || private ? error : copy_bytes(map, from, size, to);
}

/* ---- Wired memory. */

static void unwire_range(struct vm_map *map, uint32_t begin, uint32_t end)
{
    for (struct vm_entry *e = first_above(map, begin); e != &map->head && e->begin < end; e = e->next)
        if (e->wired == 1)
            unwire(e);
        else if (e->wired)
            e->wired--;
}

int vm_wire(struct vm_map *map, uint32_t address, uint32_t size, bool wired)
{
    uint32_t end, at;
    int error = begin_range(map, &address, &end, size);
    if (error)
        return error;
    if (!wired) {
        unwire_range(map, address, end);
        lock_done(&map->lock);
        return 0;
    }
    for (struct vm_entry *e = first_above(map, address); e != &map->head && e->begin < end; e = e->next)
        e->wired++;
    lock_done(&map->lock);
    for (at = address; at < end && !error; at += PAGE_SIZE) {
        lock_read(&map->lock);
        struct vm_entry *e = vm_map_entry_at(map, at);
        unsigned rights = e ? e->rights : 0;
        bool first = e && e->wired == 1;
        lock_done(&map->lock);
        if (!e)
            error = -EFAULT;
        else if (first)
            error = vm_fault_wire(map, at, rights & (PAGE_READ | PAGE_WRITE));
    }
    if (error) {
        lock_write(&map->lock);
        unwire_range(map, address, end);
        lock_done(&map->lock);
    }
    return error;
}

void vm_check_no_leak(void)
{
    uint32_t nodes = radix_nodes();
    if (map_count || vm_objects() || pages_lent() || pmap_tables || nodes)
        panic("memory of programs is left: %lu maps, %lu objects, %lu nodes of theirs, %lu pages, %lu page tables",
              (unsigned long)map_count, (unsigned long)vm_objects(), (unsigned long)nodes, (unsigned long)pages_lent(),
              (unsigned long)pmap_tables);
}
