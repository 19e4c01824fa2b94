/* Locks of ranges of files (record_lock.h). */
#include "file/record_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lock/simple_lock.h"
#include "sched/sched.h"

#define OFFSET_MOST 0x7fffffff

struct record {
    const void *file; /* its data: a descriptor of the owner keeps them. 0: none */
    const struct descriptors *owner;
    uint32_t id; /* of the owner's process */
    int32_t first, last;
    int type; /* F_RDLCK or F_WRLCK */
};

static SIMPLE_LOCK_CLASS(record_class, "record locks", SPL_SOFTPREEMPT);
static struct simple_lock record_lock = SIMPLE_LOCK("record locks", record_class);
static struct record records[RECORD_LOCKS];
static struct record waiting[RECORD_LOCKS]; /* what somebody sleeps for */
static volatile uint32_t count;             /* of records */

static bool overlap(const struct record *a, const struct record *b)
{
    return a->file == b->file && a->first <= b->last && b->first <= a->last;
}

static bool conflict(const struct record *a, const struct record *b)
{
    return a->file && b->file && a->owner != b->owner && overlap(a, b) && (a->type == F_WRLCK || b->type == F_WRLCK);
}

/* The rest with record_lock. */
static const struct record *in_the_way(const struct record *wanted)
{
    for (const struct record *r = records; r < records + RECORD_LOCKS; r++)
        if (conflict(r, wanted))
            return r;
    return 0;
}

/* Whether who has what is in the way waits for `me`, itself or through others, of which there are at most as many as wait. */
static bool would_wait_for_ever(const struct record *wanted, const struct descriptors *me, unsigned depth)
{
    for (const struct record *r = records; r < records + RECORD_LOCKS; r++) {
        if (!conflict(r, wanted))
            continue;
        if (r->owner == me)
            return true;
        for (const struct record *w = waiting; w < waiting + RECORD_LOCKS && depth < RECORD_LOCKS; w++)
            if (w->file && w->owner == r->owner && would_wait_for_ever(w, me, depth + 1))
                return true;
    }
    return false;
}

static struct record *free_record(struct record *table)
{
    for (struct record *r = table; r < table + RECORD_LOCKS; r++)
        if (!r->file)
            return r;
    return 0;
}

static void remove(struct record *r)
{
    r->file = 0;
    count--;
}

static void add(const struct record *new)
{
    *free_record(records) = *new;
    count++;
}

/* What the owner had there is gone, and `wanted` is there, if it is a lock. -ENOLCK, with nothing done. */
static int set(const struct record *wanted)
{
    uint32_t more = wanted->type != F_UNLCK;
    for (const struct record *r = records; r < records + RECORD_LOCKS; r++)
        more += r->owner == wanted->owner && overlap(r, wanted) && r->first < wanted->first && r->last > wanted->last;
    if (count + more > RECORD_LOCKS)
        return -ENOLCK; /* one is to become two, or there is a new one */
    for (struct record *r = records; r < records + RECORD_LOCKS; r++) {
        if (!r->file || r->owner != wanted->owner || !overlap(r, wanted))
            continue;
        struct record behind = *r;
        behind.first = wanted->last + (wanted->last < OFFSET_MOST);
        bool is_behind = r->last > wanted->last;
        r->last = wanted->first - 1;
        if (r->last < r->first)
            remove(r);
        if (is_behind)
            add(&behind);
    }
    if (wanted->type != F_UNLCK)
        add(wanted); /* what it stands for has gone by now, so there is room */
    thread_wakeup(records);
    return 0;
}

static int set_or_wait(const struct record *wanted, bool wait)
{
    int error = 0;
    crit_t s = simple_lock_enter(&record_lock);
    while (!error && wanted->type != F_UNLCK && in_the_way(wanted)) {
        struct record *w = wait ? free_record(waiting) : 0;
        if (!w) {
            error = wait ? -ENOLCK : -EAGAIN;
        } else if (would_wait_for_ever(wanted, wanted->owner, 0)) {
            error = -EDEADLK;
        } else {
            *w = *wanted;
            error = thread_sleep_interruptibly(records, &record_lock) ? -ERESTART : 0;
            w->file = 0;
        }
    }
    if (!error)
        error = set(wanted);
    simple_lock_leave(&record_lock, s);
    return error;
}

/* From the caller's words to a range. */
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
    crit_t s = simple_lock_enter(&record_lock);
    const struct record *r = in_the_way(&wanted);
    l.type = r ? (int16_t)r->type : F_UNLCK;
    if (r) {
        l.whence = SEEK_SET;
        l.start = r->first;
        l.length = r->last == OFFSET_MOST ? 0 : r->last - r->first + 1;
        l.process = (int16_t)r->id;
    }
    simple_lock_leave(&record_lock, s);
    return copyout(map, at, &l, sizeof l);
}

void record_locks_end(const struct descriptors *d, const struct file *f)
{
    if (!count) /* a look without the lock: who closes has none of his own to come */
        return;
    bool any = false;
    crit_t s = simple_lock_enter(&record_lock);
    for (struct record *r = records; r < records + RECORD_LOCKS; r++)
        if (r->file && r->file == f->data && r->owner == d) {
            remove(r);
            any = true;
        }
    if (any)
        thread_wakeup(records);
    simple_lock_leave(&record_lock, s);
}
