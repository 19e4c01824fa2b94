/* RAM, translations and threads for vm/ on the host (vm.h). */
#include "test/host/fake/vm.h"

#include <errno.h>
#include <string.h>

#include "lib/bootargs.h"
#include "lock/lock.h"
#include "sched/sched.h"
#include "test/host/host.h"
#include "vm/page.h"

#define MOST 8192

static uint8_t memory[FAKE_PAGES * PAGE_SIZE] __attribute__((aligned(4096)));
static uint32_t swap_pages;
uint32_t fake_journal;
volatile uint32_t pmap_shootdowns, pmap_calls, pmap_tables;
bool (*host_upgrade_fails)(void);
void (*fake_sleep)(const void *channel);

static struct translation {
    struct pmap *pmap;
    uint32_t address;
    struct vm_page *page;
    unsigned rights;
} translations[MOST];
static unsigned used;

/*
 * What harts cache of them: a user's accesses go from hart to hart, by the hart's cached translation, if it has one,
 * else by the list above. So a translation that was removed without a flush on the harts stays in use. Harts
 * flush what they are told to, and nothing else.
 */
#define KEPT 64
static struct kept {
    struct translation translation[KEPT]; /* those without a pmap are none */
    unsigned next;
} kept[FAKE_HARTS];
static unsigned access_count;
bool fake_looks;
unsigned fake_patience = 3;

static void forget_on(unsigned hart, const struct pmap *pmap, uint32_t begin, uint32_t end)
{
    for (unsigned i = 0; i < KEPT; i++) {
        struct translation *t = &kept[hart].translation[i];
        if (!pmap || (t->pmap == pmap && t->address >= begin && t->address < end))
            *t = (struct translation){0};
    }
}

static void forget(const struct pmap *pmap, uint32_t begin, uint32_t end)
{
    for (unsigned h = 0; h < FAKE_HARTS; h++)
        forget_on(h, pmap, begin, end);
}

static struct translation *kept_on(unsigned hart, const struct pmap *pmap, uint32_t address, unsigned rights)
{
    for (unsigned i = 0; i < KEPT; i++) {
        struct translation *t = &kept[hart].translation[i];
        if (t->pmap == pmap && t->address == (address & ~PAGE_MASK))
            return rights & ~t->rights ? 0 : t;
    }
    return 0;
}

/* Replaces the hart's translation of the address, or its oldest. */
static void keep(unsigned hart, const struct translation *t)
{
    struct kept *k = &kept[hart];
    for (unsigned i = 0; i < KEPT; i++)
        if (k->translation[i].pmap == t->pmap && k->translation[i].address == t->address) {
            k->translation[i] = *t;
            return;
        }
    k->translation[k->next++ % KEPT] = *t;
}

void *page_pointer(uint32_t address)
{
    CHECK(address >= FAKE_RAM && address < FAKE_RAM + sizeof memory);
    return memory + (address - FAKE_RAM);
}

uint32_t page_address(const void *pointer)
{
    CHECK((const uint8_t *)pointer >= memory && (const uint8_t *)pointer < memory + sizeof memory);
    return FAKE_RAM + (uint32_t)((const uint8_t *)pointer - memory);
}

uint32_t bootargs_number(const char *key, uint32_t otherwise, uint32_t most)
{
    if (!strcmp(key, "journal"))
        return fake_journal;
    if (strcmp(key, "vm.swap"))
        return otherwise;
    CHECK(swap_pages <= most);
    return swap_pages;
}

void fake_vm_init(uint32_t pages, uint32_t swap)
{
    swap_pages = swap;
    used = 0;
    memset(kept, 0, sizeof kept);
    vm_init(FAKE_RAM, FAKE_RAM + sizeof memory, pages);
}

struct thread *thread_create(thread_fn *fn, void *arg, unsigned priority, int bound, const char *name)
{
    (void)fn, (void)arg, (void)priority, (void)bound, (void)name;
    return 0;
}

void thread_sleep(const void *channel, struct simple_lock *interlock)
{
    if (!fake_sleep)
        panic("a thread sleeps for ever");
    simple_unlock(interlock);
    fake_sleep(channel);
    simple_lock(interlock);
}

__attribute__((weak)) void thread_delay(uint32_t ticks)
{
    (void)ticks;
    panic("a thread waits for the clock");
}

void thread_wakeup(const void *channel)
{
    (void)channel;
}

bool pmap_init(struct pmap *pmap)
{
    *pmap = (struct pmap){.serial = 1, .root = page_alloc()};
    pmap_tables += pmap->root != 0;
    return pmap->root;
}

static void drop(struct translation *t)
{
    struct vm_page *page = t->page;
    t->pmap->resident--;
    *t = translations[--used];
    page->place.pmap = 0;
    for (unsigned i = 0; i < used; i++)
        if (translations[i].page == page)
            page->place.pmap = translations[i].pmap;
}

static struct translation *find(const struct pmap *pmap, uint32_t address)
{
    for (unsigned i = 0; i < used; i++)
        if (translations[i].pmap == pmap && translations[i].address == (address & ~PAGE_MASK))
            return &translations[i];
    return 0;
}

void pmap_destroy(struct pmap *pmap)
{
    pmap_remove(pmap, 0, VM_END);
    CHECK_EQUAL(pmap->resident, 0);
    forget(pmap, 0, UINT32_MAX);
    page_free(pmap->root);
    pmap_tables--;
}

int pmap_enter(struct pmap *pmap, uint32_t address, struct vm_page *page, unsigned rights)
{
    struct translation *old = find(pmap, address);
    CHECK(page->object && address % PAGE_SIZE == 0);
    if (old && (old->page != page || old->rights & ~rights))
        forget(pmap, address, address + PAGE_SIZE);
    if (old)
        drop(old);
    CHECK(used < MOST);
    if (rights) {
        translations[used++] = (struct translation){pmap, address, page, rights};
        page->place.pmap = pmap;
        pmap->resident++;
    }
    return 0;
}

int pmap_enter_new(struct pmap *pmap, uint32_t address, struct vm_page *const page[], uint32_t n, unsigned rights)
{
    for (uint32_t i = 0; i < n; i++)
        pmap_enter(pmap, address + i * PAGE_SIZE, page[i], rights);
    return 0;
}

uint32_t pmap_room(const struct pmap *pmap, uint32_t address, uint32_t most)
{
    uint32_t before = 0, n = 0;
    while (before < most && find(pmap, address - (before + 1) * PAGE_SIZE))
        before++;
    while (n < most && n < before + 1 && !find(pmap, address + n * PAGE_SIZE))
        n++;
    return n;
}

void pmap_protect(struct pmap *pmap, uint32_t begin, uint32_t end, unsigned rights)
{
    forget(pmap, begin & ~PAGE_MASK, end);
    for (unsigned i = 0; i < used;) {
        struct translation *t = &translations[i];
        if (t->pmap == pmap && t->address >= begin && t->address < end && !(t->rights &= rights))
            drop(t);
        else
            i++;
    }
}

void pmap_remove(struct pmap *pmap, uint32_t begin, uint32_t end)
{
    pmap_protect(pmap, begin, end, 0);
}

uint32_t pmap_page_protect_later(struct vm_page *page, unsigned rights)
{
    uint32_t lost = 0;
    for (unsigned i = 0; i < used;) {
        struct translation *t = &translations[i];
        if (t->page == page)
            lost |= t->rights & ~rights ? (1u << FAKE_HARTS) - 1 : 0;
        if (t->page == page && !(t->rights &= rights))
            drop(t);
        else
            i++;
    }
    return lost;
}

void pmap_page_protect(struct vm_page *page, unsigned rights)
{
    pmap_shootdown(pmap_page_protect_later(page, rights));
}

void pmap_shootdown(uint32_t harts_to_call)
{
    for (unsigned h = 0; h < FAKE_HARTS; h++)
        if (harts_to_call >> h & 1)
            forget_on(h, 0, 0, 0);
}

void pmap_text_changed(struct pmap *pmap)
{
    (void)pmap;
}

uint32_t pmap_lookup(struct pmap *pmap, uint32_t address, unsigned rights)
{
    struct translation *t = find(pmap, address);
    return t && !(rights & ~t->rights) ? vm_page_address(t->page) | (address & PAGE_MASK) : 0;
}

uint32_t pmap_copy_in(struct pmap *pmap, void *to, uint32_t from, uint32_t n, bool string)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = pmap_lookup(pmap, from + i, PAGE_READ);
        if (!at)
            return i;
        char c = *(char *)page_pointer(at);
        ((char *)to)[i] = c;
        if (string && !c)
            return i + 1;
    }
    return n;
}

uint32_t pmap_copy_out(struct pmap *pmap, uint32_t to, const void *from, uint32_t n, unsigned rights)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = pmap_lookup(pmap, to + i, rights);
        if (!at)
            return i;
        *(char *)page_pointer(at) = ((const char *)from)[i];
    }
    return n;
}

void *fake_access(struct vm_map *map, uint32_t address, unsigned rights, int *error)
{
    struct pmap *pmap = vm_map_pmap(map);
    unsigned hart = access_count++ % FAKE_HARTS;
    struct translation *t;
    *error = 0;
    for (unsigned faults = 0; fake_looks || !(t = kept_on(hart, pmap, address, rights)); faults++) {
        t = find(pmap, address);
        if (t && !(rights & ~t->rights)) {
            if (!fake_looks)
                keep(hart, t);
            break;
        }
        *error = vm_fault(map, address, rights);
        forget_on(hart, pmap, address & ~PAGE_MASK, (address & ~PAGE_MASK) + PAGE_SIZE);
        if (*error)
            return 0;
        CHECK(faults < fake_patience);
    }
    return page_pointer(vm_page_address(t->page) | (address & PAGE_MASK));
}

void fake_forget(uint32_t number, uint32_t of)
{
    pmap_shootdown((1u << FAKE_HARTS) - 1);
    for (unsigned i = 0; i < used;)
        if ((number = number * 1664525 + 1013904223) % of == 0)
            drop(&translations[i]);
        else
            i++;
}

unsigned fake_translations(void)
{
    return used;
}
