/* Sv32 page tables (space.h). Hardware-free: the host's tests run it. */
#include "vm/space.h"

#include <errno.h>
#include <string.h>

#include "lib/panic.h"

#define ENTRIES 1024u
#define ENTRY_VALID 1u
#define ENTRY_USER (1u << 4)
#define ENTRY_ACCESSED (1u << 6)
#define ENTRY_DIRTY (1u << 7)
#define ENTRY_LEAF (PAGE_READ | PAGE_WRITE | PAGE_EXECUTE)

typedef volatile uint32_t entry_t; /* other harts walk the tables while they grow */

static uint32_t last_serial;

static uint32_t entry_page(uint32_t entry)
{
    return entry >> 10 << 12;
}

static uint32_t entry_for(uint32_t page, uint32_t bits)
{
    return page >> 12 << 10 | bits | ENTRY_VALID;
}

/* Where the entry of `address` is in the table whose page is `table`; level 1 is the first. */
static entry_t *entry_at(uint32_t table, uint32_t address, unsigned level)
{
    return (entry_t *)page_pointer(table) + (address >> (12 + 10 * level)) % ENTRIES;
}

/* What is mapped must be there before the entry that says so. */
static void entry_set(entry_t *entry, uint32_t value)
{
    __atomic_store_n(entry, value, __ATOMIC_RELEASE);
}

bool space_init(struct space *space)
{
    *space = (struct space){.root = page_alloc()};
    while (!space->serial)
        space->serial = __atomic_add_fetch(&last_serial, 1, __ATOMIC_RELAXED);
    return space->root;
}

static void free_table(uint32_t table, unsigned level)
{
    const entry_t *entries = page_pointer(table);
    for (unsigned i = 0; i < ENTRIES; i++)
        if (entries[i] & ENTRY_VALID) {
            if (level)
                free_table(entry_page(entries[i]), level - 1);
            else
                page_free(entry_page(entries[i]));
        }
    page_free(table);
}

void space_destroy(struct space *space)
{
    free_table(space->root, 1);
    *space = (struct space){0};
}

static int map_page(struct space *space, uint32_t address, unsigned rights)
{
    entry_t *upper = entry_at(space->root, address, 1);
    if (!(*upper & ENTRY_VALID)) {
        uint32_t table = page_alloc();
        if (!table)
            return -ENOMEM;
        entry_set(upper, entry_for(table, 0));
    }
    entry_t *lower = entry_at(entry_page(*upper), address, 0);
    if (*lower & ENTRY_VALID)
        return -EEXIST;
    uint32_t page = page_alloc();
    if (!page)
        return -ENOMEM;
    entry_set(lower, entry_for(page, rights | ENTRY_USER | ENTRY_ACCESSED | (rights & PAGE_WRITE ? ENTRY_DIRTY : 0)));
    return 0;
}

int space_grow(struct space *space, uint32_t begin, uint32_t end, unsigned rights)
{
    if (begin < SPACE_BEGIN || end > SPACE_END || rights & ~ENTRY_LEAF || !(rights & PAGE_READ))
        panic("space_grow: [%#lx, %#lx) with rights %#x", (unsigned long)begin, (unsigned long)end, rights);
    int error = 0;
    for (uint32_t address = begin & ~PAGE_MASK; address < end && !error; address += PAGE_SIZE)
        error = map_page(space, address, rights);
    return error;
}

uint32_t space_lookup(const struct space *space, uint32_t address, unsigned rights)
{
    uint32_t upper = *entry_at(space->root, address, 1);
    if (!(upper & ENTRY_VALID))
        return 0;
    uint32_t lower = *entry_at(entry_page(upper), address, 0);
    if (!(lower & ENTRY_VALID) || rights & ~lower)
        return 0;
    return entry_page(lower) | (address & PAGE_MASK);
}

/* The bytes of [address, address + n) that lie in its first page, at *piece; 0 if `rights` do not reach that far. */
static uint32_t first_piece(const struct space *space, uint32_t address, uint32_t n, unsigned rights, void **piece)
{
    uint32_t physical = space_lookup(space, address, rights);
    if (!physical)
        return 0;
    uint32_t rest = PAGE_SIZE - (address & PAGE_MASK);
    *piece = page_pointer(physical);
    return n < rest ? n : rest;
}

int space_copy_in(const struct space *space, void *to, uint32_t from, uint32_t n)
{
    while (n) {
        void *piece;
        uint32_t now = first_piece(space, from, n, PAGE_READ, &piece);
        if (!now)
            return -EFAULT;
        memcpy(to, piece, now);
        to = (char *)to + now;
        from += now;
        n -= now;
    }
    return 0;
}

static int copy_to(const struct space *space, uint32_t to, const void *from, uint32_t n, unsigned rights)
{
    while (n) {
        void *piece;
        uint32_t now = first_piece(space, to, n, rights, &piece);
        if (!now)
            return -EFAULT;
        memcpy(piece, from, now);
        from = (const char *)from + now;
        to += now;
        n -= now;
    }
    return 0;
}

int space_copy_out(const struct space *space, uint32_t to, const void *from, uint32_t n)
{
    return copy_to(space, to, from, n, PAGE_WRITE);
}

int space_fill(const struct space *space, uint32_t to, const void *from, uint32_t n)
{
    return copy_to(space, to, from, n, PAGE_READ);
}

int space_copy_in_string(const struct space *space, char *to, uint32_t from, uint32_t size)
{
    while (size) {
        void *piece;
        uint32_t now = first_piece(space, from, size, PAGE_READ, &piece);
        if (!now)
            return -EFAULT;
        const char *end = memchr(piece, 0, now);
        memcpy(to, piece, end ? (uint32_t)(end - (const char *)piece) + 1 : now);
        if (end)
            return 0;
        to += now;
        from += now;
        size -= now;
    }
    return -E2BIG;
}
