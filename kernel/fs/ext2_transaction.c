/*
 * ext2: writes the journal (ext2.h), a JBD log of metadata as ext3's; contents are written before the
 * transaction that leads to them (Tweedie, *Journaling the Linux ext2fs Filesystem*; e2fsprogs e2fsck/recovery.c
 * reads it).
 *
 * One transaction runs at a time, and collects all operations between ext2_begin and ext2_end. The buffers that it has
 * changed are pinned in the cache. ext2_commit, at fsync, sync, and when there is no room for another operation, waits
 * until no thread is between the two, and then writes, in this order:
 *
 *   delayed contents, and a flush
 *   descriptors and blocks, and the revoked blocks, to the log, and a flush
 *   the commit block, and a flush
 *   then the buffers become delayed writes
 *
 * When the log has no room for another transaction, all of these are written, and the log is emptied (checkpoint).
 *
 * A freed block is not reused before the transaction is committed (ext2_alloc.c, `held`): until then a crash
 * restores its old use. Freed metadata are revoked: an older copy in the log must not overwrite what is written
 * there later.
 *
 * Inodes without links that are still open, and files that are cut in several transactions, are on the superblock's
 * list of orphans, linked from inode to inode by dtime, so that the next mount continues.
 *
 * Locking: log->lock is held for reading between ext2_begin and ext2_end, for writing by ext2_commit. It is taken after
 * inodes, before allocation and buffers; a reader waits for no inode. log->counts, a simple lock, guards the fields
 * that follow it.
 */
#include <errno.h>
#include <string.h>

#include "fs/ext2.h"
#include "fs/ext2_jbd.h"
#include "lib/compiler.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "mem/page.h"

#define CREDITS \
    24u /* blocks that are changed, or freed as metadata, between ext2_begin and ext2_end, or until ext2_is_full */
#define PINNED_MOST ((uint32_t)(PAGE_SIZE / sizeof(struct buf *)))
#define REVOKED_MOST ((uint32_t)(PAGE_SIZE / sizeof(uint32_t)))

static RW_LOCK_CLASS(log_class, "journal");
static SIMPLE_LOCK_CLASS(log_counts_class, "journal counts", SPL_SOFTPREEMPT);

struct ext2_log {
    struct lock lock;
    struct simple_lock counts;
    uint32_t open;              /* how many operations are between ext2_begin and ext2_end */
    uint32_t pinned, revoked;   /* of the running transaction */
    struct buf **buffers;       /* a page: the pinned buffers */
    uint32_t *revokes;        /* a page */
    uint8_t *tags;            /* a page: the descriptor that is being written */
    struct inode inode;
    uint32_t most;              /* blocks that a transaction may have */
    uint32_t length, first;     /* blocks of the journal; the log is those from `first` on */
    uint32_t head, used;        /* place of the next block; how many have been used since the last checkpoint */
    uint32_t sequence;
    int error;                  /* the log cannot be written: no further changes are allowed */
    uint8_t uuid[JBD_UUID_SIZE];
};

static uint32_t per_descriptor(const struct ext2 *fs)
{
    return (fs->block_size - sizeof(struct jbd_header) - JBD_UUID_SIZE) / sizeof(struct jbd_tag);
}

/* The most blocks that a transaction takes in the log. */
static uint32_t transaction_most(const struct ext2 *fs, uint32_t blocks)
{
    uint32_t most = blocks + 1 + fs->groups / fs->descriptors_per_block + 1;
    return most + most / per_descriptor(fs) + 1 + REVOKED_MOST * sizeof(uint32_t) / (fs->block_size - 16) + 1 + 1;
}

/* A block of the log ----------------------------------------------------------------------------------------------- */

static uint32_t next_place(struct ext2_log *log)
{
    uint32_t place = log->head;
    log->head = place + 1 < log->length ? place + 1 : log->first;
    log->used++;
    return place;
}

/* The buffer of a block of the journal, zeroed; null with *error. */
static struct buf *log_block(struct ext2 *fs, uint32_t place, int *error)
{
    uint32_t block;
    *error = ext2_bmap(&fs->log->inode, place, false, &block, 0, 0);
    if (!*error && !block)
        *error = ext2_error(fs, "hole in the journal, block", place);
    if (*error)
        return 0;
    struct buf *bp = ext2_getblk(fs, block);
    memset(bp->data, 0, fs->block_size);
    bp->flags |= B_VALID;
    return bp;
}

static uint8_t *header(const struct ext2_log *log, struct buf *bp, uint32_t type)
{
    *(struct jbd_header *)bp->data = (struct jbd_header){jbd_big(JBD_MAGIC), jbd_big(type), jbd_big(log->sequence)};
    return bp->data + sizeof(struct jbd_header);
}

/* Writes where the log begins to the device: `start` 0 if it is empty. */
static int write_log_super(struct ext2 *fs, uint32_t start)
{
    struct ext2_log *log = fs->log;
    uint32_t block;
    int error = ext2_bmap(&log->inode, 0, false, &block, 0, 0);
    if (error)
        return error;
    struct buf *bp = ext2_bread(fs, block);
    error = bfailed(bp);
    if (error)
        return error;
    struct jbd_super *s = (struct jbd_super *)bp->data;
    s->start = jbd_big(start);
    s->sequence = jbd_big(log->sequence);
    s->incompat = jbd_big(JBD_INCOMPAT_REVOKE);
    error = bwrite(bp);
    return error ? error : bflush_write(fs->device);
}

/* Between begin and end -------------------------------------------------------------------------------------------- */

/* Whether there is room for all changes of the operations in progress, and of `more` others. With log->counts held. */
static bool transaction_has_room(const struct ext2_log *log, uint32_t more)
{
    uint32_t coming = (log->open + more) * CREDITS;
    return log->error || (log->pinned + coming <= log->most && log->revoked + coming <= REVOKED_MOST);
}

static int commit(struct ext2 *fs);

/* `always`: also if the log has an error, which is returned. */
static COLD int transaction_begin(struct ext2 *fs, struct ext2_log *log, bool always)
{
    for (;;) {
        lock_read(&log->lock);
        crit_t s = simple_lock_enter(&log->counts);
        int error = log->error; /* it changes only while no thread is between begin and end */
        bool room = error ? always : transaction_has_room(log, 1);
        log->open += room;
        simple_lock_leave(&log->counts, s);
        if (room)
            return error;
        lock_done(&log->lock);
        if (error)
            return error;
        lock_write(&log->lock);
        if (!transaction_has_room(log, 1))
            commit(fs); /* an error is kept in the log */
        lock_done(&log->lock);
    }
}

int ext2_begin(struct ext2 *fs)
{
    return fs->log ? transaction_begin(fs, fs->log, false) : 0;
}

static COLD void transaction_end(struct ext2_log *log)
{
    crit_t s = simple_lock_enter(&log->counts);
    assert(log->open);
    log->open--;
    simple_lock_leave(&log->counts, s);
    lock_done(&log->lock);
}

void ext2_end(struct ext2 *fs)
{
    if (fs->log)
        transaction_end(fs->log);
}

int ext2_go_on(struct ext2 *fs)
{
    transaction_end(fs->log);
    return transaction_begin(fs, fs->log, true);
}

bool ext2_is_full(struct ext2 *fs)
{
    struct ext2_log *log = fs->log;
    crit_t s = simple_lock_enter(&log->counts);
    bool full = !transaction_has_room(log, 0);
    simple_lock_leave(&log->counts, s);
    return full;
}

/* The index of a block among the revoked ones, or `revoked`. With log->counts held. */
static uint32_t revoke_of(const struct ext2_log *log, uint32_t block)
{
    uint32_t i = 0;
    while (i < log->revoked && log->revokes[i] != block)
        i++;
    return i;
}

int ext2_meta(struct ext2 *fs, struct buf *bp, bool wait)
{
    struct ext2_log *log = fs->log;
    if (!log && wait)
        return bwrite_kept(bp);
    if (!log) {
        bdwrite(bp);
        return 0;
    }
    if (log->error) { /* drops the change so that the next reader reads the device, unless memory has newer data */
        bp->flags |= bp->flags & (B_DELWRI | B_PINNED) ? 0 : B_INVAL;
        brelse(bp);
        return log->error;
    }
    crit_t s = simple_lock_enter(&log->counts);
    if (!(bp->flags & B_PINNED)) {
        if (log->pinned == PINNED_MOST)
            panic("a transaction on %s has too many blocks", fs->device->name);
        log->buffers[log->pinned++] = bp;
        uint32_t i = revoke_of(log, bp->sector / fs->sectors_per_block);
        if (i < log->revoked) /* it is metadata again */
            log->revokes[i] = log->revokes[--log->revoked];
    }
    simple_lock_leave(&log->counts, s);
    bpin(bp);
    return 0;
}

/* Drops the block's buffer from the cache and from the transaction. */
static void transaction_forget(struct ext2 *fs, uint32_t block)
{
    struct ext2_log *log = fs->log;
    struct buf *bp = ext2_getblk(fs, block);
    if (bp->flags & B_PINNED) {
        crit_t s = simple_lock_enter(&log->counts);
        uint32_t i = 0;
        while (i < log->pinned && log->buffers[i] != bp)
            i++;
        if (i < log->pinned) /* else it is one that could not be written in place */
            log->buffers[i] = log->buffers[--log->pinned];
        simple_lock_leave(&log->counts, s);
    }
    bforget(bp);
}

void ext2_forget_meta(struct ext2 *fs, uint32_t block)
{
    struct ext2_log *log = fs->log;
    if (incore(fs->device, block * fs->sectors_per_block))
        transaction_forget(fs, block);
    if (!log || log->error)
        return;
    crit_t s = simple_lock_enter(&log->counts);
    if (revoke_of(log, block) == log->revoked) {
        if (log->revoked == REVOKED_MOST)
            panic("a transaction on %s revokes too many blocks", fs->device->name);
        log->revokes[log->revoked++] = block;
    }
    simple_lock_leave(&log->counts, s);
}

/* Commit ----------------------------------------------------------------------------------------------------------- */

/*
 * Writes the next block of the transaction to the log, and its tag to *tag. It cannot change: no thread is between
 * begin and end.
 */
static int write_copy(struct ext2 *fs, const struct buf *of, struct jbd_tag *tag, uint32_t flags)
{
    int error;
    struct buf *bp = log_block(fs, next_place(fs->log), &error);
    if (!bp)
        return error;
    memcpy(bp->data, of->data, fs->block_size);
    uint32_t *first = (uint32_t *)bp->data;
    if (*first == jbd_big(JBD_MAGIC)) {
        *first = 0;
        flags |= JBD_TAG_ESCAPED;
    }
    bawrite(bp);
    *tag = (struct jbd_tag){jbd_big(of->sector / fs->sectors_per_block), jbd_big(flags)};
    return 0;
}

/*
 * Writes descriptors, each before its blocks in the log. A thread holds one buffer at a time: so the tags are collected
 * in a page, and the descriptor is written after its blocks.
 */
static int transaction_write_blocks(struct ext2 *fs)
{
    struct ext2_log *log = fs->log;
    uint8_t *page = log->tags;
    for (uint32_t done = 0, n; done < log->pinned; done += n) {
        n = MIN(log->pinned - done, per_descriptor(fs));
        int error = 0;
        uint32_t place = next_place(log);
        memset(page, 0, fs->block_size);
        uint8_t *at = page;
        for (uint32_t i = 0; i < n && !error; i++) {
            uint32_t flags = (i ? JBD_TAG_SAME_UUID : 0) | (i + 1 == n ? JBD_TAG_LAST : 0);
            struct jbd_tag tag;
            error = write_copy(fs, log->buffers[done + i], &tag, flags);
            memcpy(at, &tag, sizeof tag);
            at += sizeof tag;
            if (!i)
                memcpy(at, log->uuid, JBD_UUID_SIZE);
            at += i ? 0 : JBD_UUID_SIZE;
        }
        struct buf *bp = error ? 0 : log_block(fs, place, &error);
        if (!bp)
            return error;
        memcpy(header(log, bp, JBD_DESCRIPTOR), page, fs->block_size - sizeof(struct jbd_header));
        bawrite(bp);
    }
    return 0;
}

static int write_revokes(struct ext2 *fs)
{
    struct ext2_log *log = fs->log;
    uint32_t room = (fs->block_size - sizeof(struct jbd_header) - sizeof(uint32_t)) / sizeof(uint32_t);
    for (uint32_t done = 0, n; done < log->revoked; done += n) {
        n = MIN(log->revoked - done, room);
        int error;
        struct buf *bp = log_block(fs, next_place(log), &error);
        if (!bp)
            return error;
        uint32_t *at = (uint32_t *)header(log, bp, JBD_REVOKE);
        *at++ = jbd_big(sizeof(struct jbd_header) + sizeof(uint32_t) + n * sizeof(uint32_t));
        for (uint32_t i = 0; i < n; i++)
            *at++ = jbd_big(log->revokes[done + i]);
        bawrite(bp);
    }
    return 0;
}

static int write_transaction(struct ext2 *fs)
{
    int error = transaction_write_blocks(fs);
    if (!error)
        error = write_revokes(fs);
    bwait(fs->device);
    int e = __atomic_exchange_n(&fs->device->write_error, 0, __ATOMIC_RELAXED);
    error = error ? error : e;
    if (!error)
        error = bflush_write(fs->device);
    if (error)
        return error;
    struct buf *bp = log_block(fs, next_place(fs->log), &error);
    if (!bp)
        return error;
    header(fs->log, bp, JBD_COMMIT);
    error = bwrite(bp);
    return error ? error : bflush_write(fs->device);
}

/* Makes freed blocks available again. */
static void let_go_of_held(struct ext2 *fs)
{
    for (uint32_t i = 0; i < fs->groups; i++)
        if (fs->group[i]->held) {
            page_free(page_address(fs->group[i]->held));
            fs->group[i]->held = 0;
        }
}

/* Writes all that has been committed in place, and empties the log. */
static int checkpoint(struct ext2 *fs)
{
    int error = bflush_cache(fs->device);
    if (!error)
        error = write_log_super(fs, fs->log->head);
    if (!error)
        fs->log->used = 0;
    return error;
}

/*
 * Releases the transaction's buffers to be written in place; or drops them with their changes (`drop`).
 */
static void unpin_all(struct ext2_log *log, bool drop)
{
    for (uint32_t i = 0; i < log->pinned; i++)
        bunpin(log->buffers[i], drop);
    log->pinned = log->revoked = 0;
}

/*
 * With log->lock held for writing. A failed write of contents is not its error: it stays the device's, for ext2_commit
 * to return. If the log cannot be written, the transaction's changes stay pinned until the unmount: so all inodes and
 * blocks in memory belong to one state.
 */
static int commit(struct ext2 *fs)
{
    struct ext2_log *log = fs->log;
    if (log->error)
        return log->error;
    bool anything = log->pinned || log->revoked;
    int error = anything ? ext2_write_counts(fs) : 0, e = bsettle(fs->device);
    error = error ? error : e;
    /* The block in place is outdated, and may have been read since: the log must not be changed. */
    bool needed = __atomic_load_n(&fs->device->log_needed, __ATOMIC_RELAXED);
    if (!anything && !needed)
        return error;
    error = needed ? -EIO : error;
    e = __atomic_exchange_n(&fs->device->write_error, 0, __ATOMIC_RELAXED); /* else it would be taken for the log's */
    if (!error)
        error = write_transaction(fs);
    if (!error)
        unpin_all(log, false);
    log->sequence++;
    if (!error && log->used + transaction_most(fs, log->most) > log->length - log->first)
        error = checkpoint(fs);
    let_go_of_held(fs);
    if (error) {
        kprintf("ext2 on %s: its journal cannot be written (%s): nothing is changed from now on\n", fs->device->name,
                strerror(-error));
        log->error = error;
        fs->mount.read_only = true;
    }
    if (e)
        __atomic_store_n(&fs->device->write_error, e, __ATOMIC_RELAXED);
    return error;
}

int ext2_commit(struct ext2 *fs)
{
    struct ext2_log *log = fs->log;
    if (!log) {
        int error = ext2_write_counts(fs), e = bflush_cache(fs->device);
        return error ? error : e;
    }
    lock_write(&log->lock);
    int error = commit(fs), e = __atomic_exchange_n(&fs->device->write_error, 0, __ATOMIC_RELAXED);
    lock_done(&log->lock);
    return error ? error : e;
}

static COLD bool commit_what_is_held(struct ext2 *fs)
{
    bool held = false;
    for (uint32_t i = 0; i < fs->groups; i++)
        held |= __atomic_load_n(&fs->group[i]->held, __ATOMIC_RELAXED) != 0;
    if (!held)
        return false;
    lock_write(&fs->log->lock);
    int error = commit(fs);
    lock_done(&fs->log->lock);
    return !error;
}

bool ext2_more_room(struct ext2 *fs, int error)
{
    return error == -ENOSPC && fs->log && !fs->log->error && commit_what_is_held(fs);
}

/* Orphans ---------------------------------------------------------------------------------------------------------- */

static void set_first_orphan(struct ext2 *fs, uint32_t number)
{
    crit_t s = simple_lock_enter(&fs->counts_lock);
    fs->super.last_orphan = number;
    fs->super_dirty = true;
    simple_lock_leave(&fs->counts_lock, s);
    if (fs->log)
        ext2_write_super(fs);
}

void ext2_orphan_add(struct inode *ip)
{
    struct ext2 *fs = ip->fs;
    if (ip->orphan)
        return;
    mutex_lock(&fs->orphan_lock);
    ip->disk.dtime = fs->super.last_orphan;
    ip->dirty = true;
    ext2_update(ip, false);
    SLIST_INSERT_HEAD(&fs->orphans, ip, orphans);
    ip->orphan = true;
    set_first_orphan(fs, ip->number);
    mutex_unlock(&fs->orphan_lock);
}

/* Removes it from the list in memory, with orphan_lock held. Returns the inode before it there, or null. */
static struct inode *unlink_orphan(struct inode *ip)
{
    struct inode *before = 0, *other, **at;
    SLIST_FOREACH_PREVPTR(other, at, &ip->fs->orphans, orphans) {
        if (other == ip) {
            SLIST_REMOVE_PREVPTR(at, ip, orphans);
            break;
        }
        before = other;
    }
    ip->orphan = false;
    return before;
}

void ext2_orphan_remove(struct inode *ip)
{
    struct ext2 *fs = ip->fs;
    mutex_lock(&fs->orphan_lock);
    uint32_t next = ip->disk.dtime;
    struct inode *before = unlink_orphan(ip);
    if (before) { /* its own lock is not held: no other thread changes this word, and the order of its writes is free */
        __atomic_store_n(&before->disk.dtime, next, __ATOMIC_RELAXED);
        ext2_change_dtime(fs, before->number, next);
    } else {
        set_first_orphan(fs, next);
    }
    ip->disk.dtime = 0;
    ip->dirty = true;
    ext2_update(ip, false);
    mutex_unlock(&fs->orphan_lock);
}

void ext2_orphan_forget(struct inode *ip)
{
    if (!ip->orphan)
        return;
    mutex_lock(&ip->fs->orphan_lock);
    unlink_orphan(ip);
    mutex_unlock(&ip->fs->orphan_lock);
}

/* Ends the first inode of the list; it is the only one in memory. */
static int end_orphan(struct ext2 *fs, struct inode *ip)
{
    int error = 0;
    ip->orphan = true;
    SLIST_INIT(&fs->orphans);
    SLIST_INSERT_HEAD(&fs->orphans, ip, orphans);
    if (ip->disk.links) {
        lock_write(&ip->v.lock);
        error = ext2_begin(fs);
        if (!error) {
            error = ext2_truncate(ip, ext2_size(ip));
            if (ip->orphan && !error)
                ext2_orphan_remove(ip);
            ext2_end(fs);
        }
        ext2_orphan_forget(ip);
        lock_done(&ip->v.lock);
    }
    ext2_release(&ip->v);
    return error;
}

int ext2_orphans_end(struct ext2 *fs)
{
    for (uint32_t number; (number = fs->super.last_orphan);) {
        struct inode *ip;
        int error = ext2_iget(fs, number, ORPHAN, &ip);
        if (!error)
            error = end_orphan(fs, ip);
        if (error == -ENOMEM)
            return error;
        if (error || fs->super.last_orphan == number) { /* damaged: e2fsck finds the others */
            ext2_error(fs, "orphaned inode", number);
            error = ext2_begin(fs);
            if (error)
                return error;
            set_first_orphan(fs, 0);
            ext2_end(fs);
        }
    }
    return 0;
}

/* The log as a whole ----------------------------------------------------------------------------------------------- */

static int read_log_super(struct ext2 *fs, struct ext2_log *log)
{
    uint32_t block = 0, number = fs->super.journal_inode;
    int error = number && number <= fs->super.inodes ? ext2_inode_on_disk(fs, number, &log->inode) : -EINVAL;
    if (!error)
        error = log->inode.v.type != VREG ? -EINVAL : ext2_bmap(&log->inode, 0, false, &block, 0, 0);
    if (error || !block)
        return error ? error : -EINVAL;
    struct buf *bp = ext2_bread(fs, block);
    error = bp->error;
    struct jbd_super s;
    if (!error)
        memcpy(&s, bp->data, sizeof s);
    brelse(bp);
    if (error)
        return error;
    log->length = jbd_big(s.length);
    log->first = jbd_big(s.first);
    log->sequence = jbd_big(s.sequence);
    memcpy(log->uuid, s.uuid, sizeof log->uuid);
    if (s.header.magic != jbd_big(JBD_MAGIC) || s.header.type != jbd_big(JBD_SUPER_2) || s.start || s.ro_compat ||
        jbd_big(s.incompat) & ~JBD_INCOMPAT_REVOKE || jbd_big(s.block_size) != fs->block_size ||
        log->length > ext2_size(&log->inode) >> fs->block_shift || !log->first || log->first >= log->length)
        return -EINVAL;
    return 0;
}

static void free_log(struct ext2_log *log)
{
    lock_destroy(&log->lock);
    simple_lock_destroy(&log->counts);
    page_free(page_address(log->buffers));
    page_free(page_address(log->revokes));
    page_free(page_address(log->tags));
    page_free(page_address(log));
}

static struct ext2_log *new_log(void)
{
    uint32_t rooms[4] = {page_alloc(), page_alloc_raw(), page_alloc_raw(), page_alloc_raw()};
    if (!rooms[0] || !rooms[1] || !rooms[2] || !rooms[3]) {
        for (unsigned i = 0; i < 4; i++)
            if (rooms[i])
                page_free(rooms[i]);
        return 0;
    }
    _Static_assert(sizeof(struct ext2_log) <= PAGE_SIZE, "it is in a page");
    struct ext2_log *log = page_pointer(rooms[0]);
    *log = (struct ext2_log){.counts = SIMPLE_LOCK("journal counts", log_counts_class),
                             .buffers = page_pointer(rooms[1]),
                             .revokes = page_pointer(rooms[2]),
                             .tags = page_pointer(rooms[3])};
    lock_init(&log->lock, &log_class, "journal");
    return log;
}

static uint32_t logs; /* how many are open */

/*
 * How large a transaction may be: half of the cache's buffers, with a second journal a quarter, as both could pin
 * theirs at once; a third of the log, which must hold two with all that belongs to them. -EINVAL: none fits.
 */
static int limit(struct ext2 *fs, struct ext2_log *log)
{
    uint32_t counts = 1 + fs->groups / fs->descriptors_per_block + 1; /* superblock and descriptors, at each commit */
    uint32_t part = 2u << __atomic_load_n(&logs, __ATOMIC_RELAXED);
    uint32_t most = bio_count() / part, third = (log->length - log->first) / 3;
    most = MIN(most, third);
    most = MIN(most, PINNED_MOST);
    uint32_t wanted = 3 * (counts + CREDITS), two = 2 * transaction_most(fs, CREDITS);
    wanted = log->first + MAX(wanted, two);
    if (most < counts + CREDITS || log->length < wanted) {
        kprintf("ext2 on %s: a journal wants bufs=%lu, and %lu blocks\n", fs->device->name,
                (unsigned long)part * (counts + CREDITS), (unsigned long)wanted);
        return -EINVAL;
    }
    log->most = most - counts;
    return 0;
}

int ext2_log_open(struct ext2 *fs)
{
    bool wanted = bootargs_number(BOOT(kernel, journal)) && fs->super.revision &&
                  fs->super.compat & EXT2_COMPAT_HAS_JOURNAL && !fs->super.journal_device;
    if (!wanted) {
        int error = ext2_write_super(fs);
        return error ? error : bflush_write(fs->device);
    }
    struct ext2_log *log = new_log();
    if (!log)
        return -ENOMEM;
    int error = read_log_super(fs, log);
    if (error)
        kprintf("ext2 on %s: this kernel cannot write its journal: mke2fs -j makes one\n", fs->device->name);
    if (!error)
        error = limit(fs, log);
    if (!error) { /* before the log has any contents */
        fs->super.incompat |= EXT2_INCOMPAT_RECOVER;
        if (fs->sound)
            fs->super.state |= EXT2_VALID;
        error = ext2_write_super(fs);
    }
    if (!error)
        error = bflush_write(fs->device);
    if (error) {
        free_log(log);
        return error;
    }
    log->head = log->first;
    fs->log = log;
    fs->device->log_needed = false;
    error = write_log_super(fs, log->head);
    if (error) {
        fs->log = 0;
        free_log(log);
    } else {
        __atomic_fetch_add(&logs, 1, __ATOMIC_RELAXED);
    }
    return error;
}

int ext2_log_close(struct ext2 *fs)
{
    struct ext2_log *log = fs->log;
    if (!log)
        return 0;
    int error = ext2_commit(fs);
    if (!error)
        error = bflush_cache(fs->device);
    if (!error)
        error = write_log_super(fs, 0);
    if (!error) {
        fs->super.incompat &= ~EXT2_INCOMPAT_RECOVER;
        fs->super_dirty = true;
    }
    let_go_of_held(fs);
    unpin_all(log, true); /* buffers that a failing log has left */
    fs->log = 0;
    free_log(log);
    __atomic_fetch_sub(&logs, 1, __ATOMIC_RELAXED);
    return error;
}
