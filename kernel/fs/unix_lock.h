/*
 * Locks of the file system that differ between the serial kernel and the parallel ones (build option `unix`; paper
 * `mach`, sections 1, 2.2 and 3.2), so that one source serves both:
 *
 *                 serial                                              parallel, beyond
 *   cache_lock    the level SPL_BIO: 4.3BSD's splbio                  a blocking lock: hash chains and free lists of
 *                                                                     buffers
 *   table_lock    nothing                                             a blocking lock: inode table, allocation on disk
 *   buf_lock      a busy flag; a thread that needs the buffer sleeps  a blocking lock, read/write in the build
 *                                                                     buffers=shared
 *
 * In the serial kernel, a thread in the file system is on the master (sched/master.h): one thread at a time, until it
 * sleeps. Cache and table locks are not held across a sleep there, except disk_alloc_lock, which guards no more than
 * the busy buffers do. Only the disk's interrupts remain, which release buffers at their own level, on the master too:
 * cache locks mask them. Images with LOCK_DEBUG check all this.
 *
 * Callers are those of any blocking lock; in the serial kernel the handler of SPL_BIO may take cache locks and release
 * buffers, too.
 */
#ifndef FS_UNIX_LOCK_H
#define FS_UNIX_LOCK_H

#include <stdbool.h>

#include "lock/lock.h"
#include "lock/lock_debug.h"

#if UNIX_SERIAL

#include "fs/serial.h"

struct cache_lock {};
struct table_lock {};
struct buf_lock {
    bool busy, wanted; /* changed at SPL_BIO */
};

#define DEFINE_CACHE_LOCK(id, name) static struct cache_lock id
#define DEFINE_TABLE_LOCK(id, name) static struct table_lock id
#define cache_lock_init(l, class, name) ((void)(l), (void)(class))
#define table_lock_init(l, class, name) ((void)(l), (void)(class))
#define buf_lock_init(l, class, name) ((void)(class), *(l) = (struct buf_lock){0})
#define table_lock_destroy(l) ((void)(l))

#define cache_lock(l) ((void)(l), serial_spl_enter())
#define cache_try(l) ((void)(l), serial_spl_enter(), true)
#define cache_unlock(l) ((void)(l), serial_spl_leave())
#define cache_assert_held(l) ((void)(l), serial_assert_spl())

#define table_lock(l) ((void)(l), serial_assert())
#define table_try(l) ((void)(l), serial_assert(), true)
#define table_unlock(l) ((void)(l), serial_assert())

#define buf_lock(l) serial_busy(&(l)->busy, &(l)->wanted)
#define buf_try(l) serial_try_busy(&(l)->busy)
#define buf_unlock(l) serial_idle(&(l)->busy, &(l)->wanted)
#define buf_disown(l) assert((l)->busy)
#define buf_adopt(l) assert((l)->busy)
#define buf_unlock_disowned(l) buf_unlock(l)
#define buf_assert_mine(l) assert((l)->busy)

#else

struct cache_lock {
    struct lock lock;
};
struct table_lock {
    struct lock lock;
};
struct buf_lock {
    struct lock lock;
};

#define DEFINE_CACHE_LOCK(id, name)       \
    static MUTEX_CLASS(id##_class, name); \
    static struct cache_lock id = {LOCK(name, id##_class)}
#define DEFINE_TABLE_LOCK(id, name)       \
    static MUTEX_CLASS(id##_class, name); \
    static struct table_lock id = {LOCK(name, id##_class)}
#define cache_lock_init(l, class, name) lock_init(&(l)->lock, class, name)
#define table_lock_init(l, class, name) lock_init(&(l)->lock, class, name)
#define buf_lock_init(l, class, name) lock_init(&(l)->lock, class, name)
#define table_lock_destroy(l) lock_destroy(&(l)->lock)

#define cache_lock(l) mutex_lock(&(l)->lock)
#define cache_try(l) mutex_try(&(l)->lock)
#define cache_unlock(l) mutex_unlock(&(l)->lock)
#define cache_assert_held(l) lock_assert_write_held(&(l)->lock)

#define table_lock(l) mutex_lock(&(l)->lock)
#define table_try(l) mutex_try(&(l)->lock)
#define table_unlock(l) mutex_unlock(&(l)->lock)

#define buf_lock(l) mutex_lock(&(l)->lock)
#define buf_try(l) mutex_try(&(l)->lock)
#if BUFFERS_SHARED
#define buf_unlock(l) lock_done(&(l)->lock)
#else
#define buf_unlock(l) mutex_unlock(&(l)->lock)
#endif
#define buf_disown(l) lock_disown(&(l)->lock)
#define buf_adopt(l) lock_adopt(&(l)->lock)
#define buf_unlock_disowned(l) lock_done_disowned(&(l)->lock)
#define buf_assert_mine(l) lock_assert_write_held(&(l)->lock)

#endif
#endif
