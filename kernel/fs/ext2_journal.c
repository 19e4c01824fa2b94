/*
 * ext2: replays a JBD journal (ext3's) before the file system is mounted, as e2fsck does. The journal is
 * inode 8, or the superblock's. The only write to it here marks it empty (ext2_transaction.c does the
 * rest).
 *
 *   superblock | descriptor: where the blocks behind it belong | blocks... | commit | descriptor ...
 *
 * Three passes along the log (Tweedie, *Journaling the Linux ext2fs Filesystem*; e2fsprogs e2fsck/recovery.c) find how
 * many transactions are complete; which blocks they revoke, so that older copies of these are ignored; and write the
 * blocks in place. An image may hold anything: each step is checked, and the log is no longer than the journal.
 */
#include "fs/ext2.h"
#include "fs/ext2_jbd.h"

#include <errno.h>
#include <string.h>

#include "lib/printf.h"
#include "mem/page.h"

#define KNOWN_INCOMPAT JBD_INCOMPAT_REVOKE

struct revoked {
    uint32_t block, sequence;
};

struct revokes { /* a page of them */
    SLIST_ENTRY(revokes) link;
    uint32_t count;
    struct revoked it[PAGE_SIZE / sizeof(struct revoked) - 2];
};

struct journal {
    struct ext2 *fs;
    struct inode inode;
    uint32_t length, first, start, sequence, end; /* `end`: the first sequence that is not complete */
    SLIST_HEAD(, revokes) revokes;
    uint8_t *block; /* a page: the block that is parsed */
    uint8_t *data;  /* another: the block that is copied */
};

enum pass { SCAN, COLLECT, CARRY_OUT };

static int journal_read_block(struct journal *j, uint32_t n, void *to)
{
    uint32_t block;
    int error = ext2_bmap(&j->inode, n, false, &block, 0, 0);
    if (error || !block)
        return error ? error : -EIO;
    struct buf *bp = ext2_bread(j->fs, block);
    error = bp->error;
    if (!error)
        memcpy(to, bp->data, j->fs->block_size);
    brelse(bp);
    return error;
}

static uint32_t journal_behind(const struct journal *j, uint32_t n)
{
    return n + 1 < j->length ? n + 1 : j->first;
}

static bool is_revoked(const struct journal *j, uint32_t block, uint32_t sequence)
{
    const struct revokes *r;
    SLIST_FOREACH(r, &j->revokes, link)
        for (uint32_t i = 0; i < r->count; i++)
            if (r->it[i].block == block && (int32_t)(r->it[i].sequence - sequence) >= 0)
                return true;
    return false;
}

static int revoke(struct journal *j, uint32_t block, uint32_t sequence)
{
    struct revokes *r = SLIST_FIRST(&j->revokes);
    if (!r || r->count == sizeof r->it / sizeof r->it[0]) {
        uint32_t page = page_alloc_raw();
        if (!page)
            return -ENOMEM;
        r = page_pointer(page);
        r->count = 0;
        SLIST_INSERT_HEAD(&j->revokes, r, link);
    }
    r->it[r->count++] = (struct revoked){block, sequence};
    return 0;
}

/* Collects the revoke block in j->block. */
static int collect(struct journal *j, uint32_t sequence)
{
    uint32_t bytes;
    memcpy(&bytes, j->block + sizeof(struct jbd_header), sizeof bytes);
    bytes = jbd_big(bytes);
    if (bytes > j->fs->block_size)
        return -EIO;
    for (uint32_t at = sizeof(struct jbd_header) + 4; at + 4 <= bytes; at += 4) {
        uint32_t block;
        memcpy(&block, j->block + at, sizeof block);
        int error = revoke(j, jbd_big(block), sequence);
        if (error)
            return error;
    }
    return 0;
}

static int carry_over(struct journal *j, const struct jbd_tag *tag, uint32_t from, uint32_t sequence)
{
    struct ext2 *fs = j->fs;
    uint32_t block = jbd_big(tag->block);
    if (is_revoked(j, block, sequence))
        return 0;
    if (block < fs->super.first_data_block || block >= fs->super.blocks)
        return -EIO;
    int error = journal_read_block(j, from, j->data);
    if (error)
        return error;
    if (jbd_big(tag->flags) & JBD_TAG_ESCAPED)
        memcpy(j->data, &(uint32_t){jbd_big(JBD_MAGIC)}, sizeof(uint32_t));
    struct buf *bp = ext2_getblk(fs, block);
    memcpy(bp->data, j->data, fs->block_size);
    bp->flags |= B_VALID;
    bdwrite(bp);
    return 0;
}

/* Passes the blocks of the descriptor in j->block; `at` is its place, and on return that of the last of them. */
static int descriptor(struct journal *j, enum pass pass, uint32_t sequence, uint32_t *at, uint32_t *steps)
{
    struct jbd_tag tag;
    for (uint32_t i = sizeof(struct jbd_header); i + sizeof tag <= j->fs->block_size;) {
        memcpy(&tag, j->block + i, sizeof tag);
        *at = journal_behind(j, *at);
        ++*steps;
        int error = pass == CARRY_OUT ? carry_over(j, &tag, *at, sequence) : 0;
        if (error)
            return error;
        i += sizeof tag + (jbd_big(tag.flags) & JBD_TAG_SAME_UUID ? 0 : JBD_UUID_SIZE);
        if (jbd_big(tag.flags) & JBD_TAG_LAST)
            break;
    }
    return 0;
}

/* One pass along the log. */
static int go_along(struct journal *j, enum pass pass)
{
    uint32_t sequence = j->sequence, at = j->start, steps = 0;
    for (; steps < j->length && (pass == SCAN || sequence != j->end); at = journal_behind(j, at), steps++) {
        struct jbd_header h;
        int error = journal_read_block(j, at, j->block);
        if (error)
            return error;
        memcpy(&h, j->block, sizeof h);
        if (jbd_big(h.magic) != JBD_MAGIC || jbd_big(h.sequence) != sequence)
            break;
        switch (jbd_big(h.type)) {
        case JBD_DESCRIPTOR: error = descriptor(j, pass, sequence, &at, &steps); break;
        case JBD_REVOKE: error = pass == COLLECT ? collect(j, sequence) : 0; break;
        case JBD_COMMIT: sequence++; break;
        default: steps = j->length; /* the end, as if nothing were here */
        }
        if (error)
            return error;
        if (pass == SCAN)
            j->end = sequence;
    }
    return 0;
}

static int journal_begin(struct journal *j)
{
    const struct ext2 *fs = j->fs;
    struct jbd_super s;
    int error = journal_read_block(j, 0, j->block);
    if (error)
        return error;
    memcpy(&s, j->block, sizeof s);
    uint32_t type = jbd_big(s.header.type);
    if (jbd_big(s.header.magic) != JBD_MAGIC || (type != JBD_SUPER_1 && type != JBD_SUPER_2) ||
        jbd_big(s.block_size) != fs->block_size || (type == JBD_SUPER_2 && jbd_big(s.incompat) & ~KNOWN_INCOMPAT))
        return -EINVAL;
    j->length = jbd_big(s.length);
    j->first = jbd_big(s.first);
    j->start = jbd_big(s.start);
    j->sequence = j->end = jbd_big(s.sequence);
    if (j->length > ext2_size(&j->inode) >> fs->block_shift || !j->first || j->first >= j->length ||
        j->start >= j->length || (j->start && j->start < j->first))
        return -EINVAL;
    return 0;
}

/* The replayed blocks are on the medium before the log is marked empty. */
static int journal_empty(struct journal *j)
{
    uint32_t block;
    int error = bflush_cache(j->fs->device);
    if (!error)
        error = ext2_bmap(&j->inode, 0, false, &block, 0, 0);
    if (error)
        return error;
    struct buf *bp = ext2_bread(j->fs, block);
    error = bfailed(bp);
    if (error)
        return error;
    struct jbd_super *s = (struct jbd_super *)bp->data;
    s->start = 0;
    s->sequence = jbd_big(j->end + 1);
    error = bwrite(bp);
    return error ? error : bflush_write(j->fs->device);
}

int ext2_journal_replay(struct ext2 *fs)
{
    uint32_t rooms[3] = {page_alloc(), page_alloc_raw(), page_alloc_raw()};
    _Static_assert(sizeof(struct journal) <= PAGE_SIZE, "it is in a page");
    int error = rooms[0] && rooms[1] && rooms[2] ? 0 : -ENOMEM;
    struct journal *j = error ? 0 : page_pointer(rooms[0]);
    if (!error) {
        *j = (struct journal){.fs = fs, .block = page_pointer(rooms[1]), .data = page_pointer(rooms[2])};
        uint32_t number = fs->super.journal_inode;
        error = number && number <= fs->super.inodes && !fs->super.journal_device
                    ? ext2_inode_on_disk(fs, number, &j->inode)
                    : -EINVAL;
    }
    if (!error && j->inode.v.type != VREG)
        error = -EINVAL;
    if (!error)
        error = journal_begin(j);
    if (!error && j->start) {
        error = go_along(j, SCAN);
        if (!error)
            error = go_along(j, COLLECT);
        if (!error)
            error = go_along(j, CARRY_OUT);
        if (!error)
            error = journal_empty(j);
    }
    struct revokes *r, *next;
    if (j)
        SLIST_FOREACH_SAFE(r, &j->revokes, link, next)
            page_free(page_address(r));
    for (unsigned i = 0; i < 3; i++)
        if (rooms[i])
            page_free(rooms[i]);
    if (error)
        kprintf("ext2 on %s: its journal cannot be carried out: run e2fsck\n", fs->device->name);
    return error;
}
