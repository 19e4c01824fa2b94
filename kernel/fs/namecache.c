/* The name cache (namecache.h). */
#include "fs/namecache.h"

#include <string.h>

#include "lock/simple_lock.h"

#define CHAINS 32
#define WAYS 8 /* names that a chain keeps; the oldest one is replaced first */

struct entry {
    const void *fs; /* 0: none */
    uint32_t directory, number;
    uint8_t length;
    char name[NAMECACHE_NAME];
};

struct chain {
    struct simple_lock lock;
    uint32_t next;
    struct entry entry[WAYS];
};

static SIMPLE_LOCK_CLASS(namecache_class, "name cache", SPL_SOFTPREEMPT);
static struct chain namecache_chains[CHAINS];
struct namecache_counts namecache_counts;

void namecache_init(void)
{
    for (unsigned i = 0; i < CHAINS; i++)
        namecache_chains[i].lock = (struct simple_lock)SIMPLE_LOCK("name cache", namecache_class);
}

static void namecache_count(uint32_t *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static struct chain *namecache_chain_of(uint32_t directory, const char *name, uint32_t length)
{
    uint32_t hash = directory * 2654435769u;
    for (uint32_t i = 0; i < length; i++)
        hash = hash * 31 + (uint8_t)name[i];
    return &namecache_chains[(hash ^ hash >> 16) % CHAINS];
}

/* With the chain's lock held. */
static struct entry *namecache_look(struct chain *chain, const void *fs, uint32_t directory, const char *name,
                                    uint32_t length)
{
    for (struct entry *e = chain->entry; e < chain->entry + WAYS; e++)
        if (e->fs == fs && e->directory == directory && e->length == length && !memcmp(e->name, name, length))
            return e;
    return 0;
}

bool namecache_find(const void *fs, uint32_t directory, const char *name, uint32_t length, uint32_t *number)
{
    if (length > NAMECACHE_NAME)
        return false;
    struct chain *chain = namecache_chain_of(directory, name, length);
    crit_t s = simple_lock_enter(&chain->lock);
    const struct entry *e = namecache_look(chain, fs, directory, name, length);
    if (e)
        *number = e->number;
    simple_lock_leave(&chain->lock, s);
    namecache_count(e ? &namecache_counts.hits : &namecache_counts.misses);
    return e != 0;
}

void namecache_enter(const void *fs, uint32_t directory, const char *name, uint32_t length, uint32_t number)
{
    if (length > NAMECACHE_NAME)
        return;
    struct chain *chain = namecache_chain_of(directory, name, length);
    crit_t s = simple_lock_enter(&chain->lock);
    struct entry *e = namecache_look(chain, fs, directory, name, length);
    if (!e)
        e = &chain->entry[chain->next++ % WAYS];
    *e = (struct entry){.fs = fs, .directory = directory, .number = number, .length = length};
    memcpy(e->name, name, length);
    simple_lock_leave(&chain->lock, s);
    namecache_count(&namecache_counts.entered);
}

void namecache_drop(const void *fs, uint32_t directory, const char *name, uint32_t length)
{
    if (length > NAMECACHE_NAME)
        return;
    struct chain *chain = namecache_chain_of(directory, name, length);
    crit_t s = simple_lock_enter(&chain->lock);
    struct entry *e = namecache_look(chain, fs, directory, name, length);
    if (e)
        e->fs = 0;
    simple_lock_leave(&chain->lock, s);
    if (e)
        namecache_count(&namecache_counts.dropped);
}

void namecache_purge(const void *fs)
{
    for (struct chain *chain = namecache_chains; chain < namecache_chains + CHAINS; chain++) {
        crit_t s = simple_lock_enter(&chain->lock);
        for (struct entry *e = chain->entry; e < chain->entry + WAYS; e++)
            if (e->fs == fs)
                e->fs = 0;
        simple_lock_leave(&chain->lock, s);
    }
}
