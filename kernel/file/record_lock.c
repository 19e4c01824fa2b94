/* Locks of ranges of files (record_lock.h). */
#include "file/record_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/queue.h>
#include <unistd.h>

#include "lock/simple_lock.h"
#include "mem/zone.h"
#include "sched/sched.h"

#define OFFSET_MOST 0x7fffffff
#define CHAINS 32 /* of files; the number of records is limited by memory */

struct record {
    LIST_ENTRY(record) link;
    const void *file; /* its data: kept by a descriptor of the owner */
    const struct descriptors *owner;
    uint32_t id; /* of the owner's process */
    int32_t first, last;
    int type; /* F_RDLCK or F_WRLCK; F_UNLCK only in a request */
};

/* A sleeping thread, on its own stack. */
struct waiter {
    struct record wanted;
    LIST_ENTRY(waiter) link;
    struct waiter *found_next; /* during a search of the waits-for graph */
    bool found;
};

static SIMPLE_LOCK_CLASS(record_class, "record locks", SPL_SOFTPREEMPT);
static struct simple_lock records_lock = SIMPLE_LOCK("record locks", record_class);
DEFINE_ZONE(record_zone, "record-locks", sizeof(struct record), _Alignof(struct record), SPL_SOFTPREEMPT, 0);
static LIST_HEAD(record_list, record) chains[CHAINS];
static LIST_HEAD(, waiter) waiters;
static volatile uint32_t record_count; /* of records */

static struct record_list *record_chain_of(const void *file)
{
    return &chains[((uintptr_t)file >> 4 ^ (uintptr_t)file >> 9) % CHAINS];
}

static bool overlap(const struct record *a, const struct record *b)
{
    return a->file == b->file && a->first <= b->last && b->first <= a->last;
}

static bool conflict(const struct record *a, const struct record *b)
{
    return a->owner != b->owner && overlap(a, b) && (a->type == F_WRLCK || b->type == F_WRLCK);
}

/* The following with records_lock held. The first from `r` on that conflicts. */
static const struct record *in_the_way(const struct record *r, const struct record *wanted)
{
    while (r && !conflict(r, wanted))
        r = LIST_NEXT(r, link);
    return r;
}

static const struct record *any_in_the_way(const struct record *wanted)
{
    return in_the_way(LIST_FIRST(record_chain_of(wanted->file)), wanted);
}

static const struct record *first_in_the_way(const struct record *wanted)
{
    const struct record *first = any_in_the_way(wanted);
    for (const struct record *r = first; r; r = in_the_way(LIST_NEXT(r, link), wanted))
        if (r->first < first->first)
            first = r;
    return first;
}

/*
 * Whether the owner of a conflicting lock waits, directly or through others, for the owner of `wanted`: visits each
 * waiter once.
 */
static bool would_wait_for_ever(const struct record *wanted)
{
    struct waiter *open = 0, *other;
    LIST_FOREACH(other, &waiters, link)
        other->found = false;
    for (const struct record *w = wanted; w; w = open ? &open->wanted : 0, open = open ? open->found_next : 0)
        for (const struct record *r = any_in_the_way(w); r; r = in_the_way(LIST_NEXT(r, link), w)) {
            if (r->owner == wanted->owner)
                return true;
            LIST_FOREACH(other, &waiters, link)
                if (!other->found && other->wanted.owner == r->owner) {
                    other->found = true;
                    other->found_next = open;
                    open = other;
                }
        }
    return false;
}

/* Records that are in no chain. */
static void spare_one(struct record_list *spare, struct record *r)
{
    if (r)
        LIST_INSERT_HEAD(spare, r, link);
}

static void free_all(struct record_list *spare)
{
    struct record *r, *next;
    LIST_FOREACH_SAFE(r, spare, link, next)
        zone_free(&record_zone, r);
}

static void record_take_out(struct record *r, struct record_list *spare)
{
    LIST_REMOVE(r, link);
    record_count--;
    spare_one(spare, r);
}

static void put_in(const struct record *new, struct record_list *spare)
{
    struct record *r = LIST_FIRST(spare);
    LIST_REMOVE(r, link);
    *r = *new;
    LIST_INSERT_HEAD(record_chain_of(new->file), r, link);
    record_count++;
}

/*
 * Removes what the owner had in the range, and enters `wanted`, if it is a lock. -ENOLCK, with no change: no memory.
 */
static int record_set(const struct record *wanted, struct record_list *spare)
{
    unsigned have = 0, need = wanted->type != F_UNLCK;
    struct record *r, *next;
    LIST_FOREACH(r, spare, link)
        have++;
    LIST_FOREACH(r, record_chain_of(wanted->file), link)
        if (r->owner == wanted->owner && overlap(r, wanted)) {
            bool before = r->first < wanted->first;
            bool behind = r->last > wanted->last;
            need += before && behind; /* one becomes two */
            have += !before && !behind;
        }
    if (have < need)
        return -ENOLCK;
    LIST_FOREACH_SAFE(r, record_chain_of(wanted->file), link, next) {
        bool is_kept = r->owner != wanted->owner || !overlap(r, wanted);
        if (!is_kept && r->first < wanted->first) {
            struct record behind = *r;
            if (r->last > wanted->last) {
                behind.first = wanted->last + 1;
                put_in(&behind, spare); /* at the chain's head: the loop does not visit it */
            }
            r->last = wanted->first - 1;
            is_kept = true;
        } else if (!is_kept && r->last > wanted->last) {
            r->first = wanted->last + 1;
            is_kept = true;
        }
        if (!is_kept)
            record_take_out(r, spare);
    }
    if (wanted->type != F_UNLCK)
        put_in(wanted, spare);
    thread_wakeup(record_chain_of(wanted->file));
    return 0;
}

static int record_wait_for(const struct record *wanted)
{
    struct waiter self = {.wanted = *wanted};
    if (would_wait_for_ever(wanted))
        return -EDEADLK;
    LIST_INSERT_HEAD(&waiters, &self, link);
    int error = thread_sleep_interruptibly(record_chain_of(wanted->file), &records_lock) ? -ERESTART : 0;
    LIST_REMOVE(&self, link);
    return error;
}

static int set_or_wait(const struct record *wanted, bool wait)
{
    int error = 0;
    struct record_list spare = LIST_HEAD_INITIALIZER(spare);
    for (unsigned i = 0; i < 2; i++) /* the most that it can need: nothing is allocated with the lock held */
        spare_one(&spare, zone_alloc(&record_zone));
    crit_t s = simple_lock_enter(&records_lock);
    while (!error && wanted->type != F_UNLCK && any_in_the_way(wanted))
        error = wait ? record_wait_for(wanted) : -EAGAIN;
    if (!error)
        error = record_set(wanted, &spare);
    simple_lock_leave(&records_lock, s);
    free_all(&spare);
    return error;
}

/* Converts the caller's words to a range. */
static int range_of(struct file *f, const struct user_flock *l, struct record *to)
{
    int64_t first = l->start;
    if (l->whence == SEEK_CUR) {
        first += f->offset;
    } else if (l->whence == SEEK_END) {
        struct user_stat st;
        int error = f->ops->stat(f, &st);
        if (error)
            return error;
        first += st.size;
    } else if (l->whence != SEEK_SET) {
        return -EINVAL;
    }
    int64_t last = l->length > 0 ? first + l->length - 1 : l->length ? first - 1 : OFFSET_MOST;
    first += l->length < 0 ? l->length : 0;
    if (first < 0 || first > OFFSET_MOST)
        return -EINVAL;
    if (last > OFFSET_MOST)
        return -EOVERFLOW;
    to->first = (int32_t)first;
    to->last = (int32_t)last;
    return 0;
}

int record_lock_call(struct descriptors *d, uint32_t id, struct file *f, struct vm_map *map, uint32_t command,
                     uint32_t at)
{
    struct user_flock l;
    struct record wanted = {.file = f->data, .owner = d, .id = id};
    int error = copyin(map, &l, at, sizeof l);
    if (!error && !(f->kind & FILE_SEEKS && f->data && f->ops->stat))
        error = -EINVAL;
    if (!error)
        error = range_of(f, &l, &wanted);
    if (error)
        return error;
    wanted.type = l.type;
    if (l.type != F_RDLCK && l.type != F_WRLCK && (l.type != F_UNLCK || command == F_GETLK))
        return -EINVAL;
    if (command != F_GETLK) {
        if (l.type != F_UNLCK && !(f->kind & (l.type == F_WRLCK ? FILE_WRITE : FILE_READ)))
            return -EBADF;
        return set_or_wait(&wanted, command == F_SETLKW);
    }
    crit_t s = simple_lock_enter(&records_lock);
    const struct record *r = first_in_the_way(&wanted);
    l.type = r ? (int16_t)r->type : F_UNLCK;
    if (r) {
        l.whence = SEEK_SET;
        l.start = r->first;
        l.length = r->last == OFFSET_MOST ? 0 : r->last - r->first + 1;
        l.process = (int32_t)r->id;
    }
    simple_lock_leave(&records_lock, s);
    return copyout(map, at, &l, sizeof l);
}

void record_locks_end(const struct descriptors *d, const struct file *f)
{
    if (!record_count) /* read without the lock: a process that closes the file takes no more locks on it */
        return;
    struct record_list gone = LIST_HEAD_INITIALIZER(gone);
    struct record *r, *next;
    crit_t s = simple_lock_enter(&records_lock);
    LIST_FOREACH_SAFE(r, record_chain_of(f->data), link, next)
        if (r->file == f->data && r->owner == d)
            record_take_out(r, &gone);
    if (!LIST_EMPTY(&gone))
        thread_wakeup(record_chain_of(f->data));
    simple_lock_leave(&records_lock, s);
    free_all(&gone);
}
