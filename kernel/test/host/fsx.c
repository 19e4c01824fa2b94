/*
 * One file, read, written, cut, appended to, and mapped, at random, beside a model of it (as the file system exerciser
 * fsx does): by the open file, the vnode, ext2, the pager of files and virtual memory, with an image of the host's
 * mke2fs, which its e2fsck and debugfs check in the end; meanwhile, power cuts. FSX_OPERATIONS in the environment
 * says how many operations, FSX_CUTS how many cuts. Besides, a file that pages are swapped to. Sources:
 * fs/vnode_pager.c fs/vnode_file.c fs/swap_file.c file/file.c
 * fs/vfs.c fs/namecache.c fs/bio.c fs/freelist.c fs/ext2_mount.c fs/ext2_alloc.c fs/ext2_inode.c fs/ext2_bmap.c
 * fs/ext2_dir.c fs/ext2_ops.c fs/ext2_journal.c fs/ext2_transaction.c vm/map.c vm/shared.c vm/inherited.c
 * vm/object.c vm/fault.c vm/page.c
 * vm/pager.c vm/pageout.c vm/swap.c vm/radix.c mem/page.c mem/zone.c lock/simple_lock.c lib/printf.c
 * test/host/fake/vm.c. Options: BUFFERS_BUCKETS=0 ALLOC_GROUPS=0
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file/flock.h"
#include "fs/ext2.h"
#include "fs/namecache.h"
#include "fs/swap_file.h"
#include "fs/vfs.h"
#include "fs/vnode_file.h"
#include "fs/vnode_pager.h"
#include "lib/minmax.h"
#include "lib/random.h"
#include "mem/zone.h"
#include "sched/sched.h"
#include "test/host/fake/vm.h"
#include "test/host/host.h"
#include "vm/object.h"
#include "vm/swap.h"

/* No file has a lock here. */
void flock_end(struct file *f)
{
    (void)f;
}

#define DISK_SIZE (2304u << 10) /* a journal needs more than 2 MiB */
#define MOST 300000u /* bytes of the file */
#define PIECE 20000u /* bytes of an operation */
#define BUFFER 0x20000000u /* of the program */
#define MAPPING 0x30000000u
#define MAPPED (MOST + 3 * PAGE_SIZE)

static uint8_t *disk;
static void (*sector_written)(uint32_t sector, const uint8_t *data); /* or 0 */
static struct blockdev device = {.name = "disk", .sectors = DISK_SIZE / SECTOR_SIZE};
static char folder[HOST_PATH];

static void strategy(struct blockdev *d, struct buf *bp)
{
    (void)d;
    if (bp->flags & B_READ)
        memcpy(bp->data, disk + (size_t)bp->sector * SECTOR_SIZE, bp->size);
    else
        memcpy(disk + (size_t)bp->sector * SECTOR_SIZE, bp->data, bp->size);
    for (uint32_t i = 0; sector_written && !(bp->flags & B_READ) && i < bp->size / SECTOR_SIZE; i++)
        sector_written(bp->sector + i, bp->data + (size_t)i * SECTOR_SIZE);
    if (bp->flags & B_ASYNC)
        biodone(bp);
    else
        event_post(&bp->done);
}

void event_post(struct event *e)
{
    e->posted = true;
}

void event_clear(struct event *e)
{
    e->posted = false;
}

void event_wait(struct event *e)
{
    CHECK(e->posted);
}

void thread_yield(void)
{
    panic("nobody is there to wait for");
}

static void clean_up(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command))
        perror(command);
    free(disk);
}

static void shell(const char *format)
{
    char command[512];
    snprintf(command, sizeof command, format, folder, folder, folder, folder);
    int status = system(command);
    if (status)
        host_failed(__FILE__, __LINE__, "status %d of: %s", status >> 8, command);
}

static void transfer_image(const char *how)
{
    char path[96];
    snprintf(path, sizeof path, "%s/image", folder);
    FILE *file = fopen(path, how);
    CHECK(file && (*how == 'r' ? fread(disk, 1, DISK_SIZE, file) : fwrite(disk, 1, DISK_SIZE, file)) == DISK_SIZE);
    fclose(file);
}

static struct random chance;
static struct vm_map *map;
static struct file *file;
static struct vnode *vnode;
static uint8_t model[MOST + PIECE], piece[PIECE];
static uint32_t size;
static bool mapped;

/* The program's memory as the program sees it. */
static void to_program(uint32_t at, const void *from, uint32_t n)
{
    CHECK_EQUAL(copyout(map, at, from, n), 0);
}

static void is_in_program(uint32_t at, const void *should, uint32_t n, const char *what)
{
    static uint8_t is[PIECE];
    CHECK_EQUAL(copyin(map, is, at, n), 0);
    for (uint32_t i = 0; i < n; i++)
        if (is[i] != ((const uint8_t *)should)[i])
            host_failed(__FILE__, __LINE__, "%s: byte %u of %u is %#x, not %#x", what, i, n, is[i],
                        ((const uint8_t *)should)[i]);
}

static void map_file(void)
{
    uint32_t address = MAPPING;
    int error = 0;
    struct vm_object *o = file->ops->object(file, &error);
    CHECK(o && !error);
    CHECK_EQUAL(vm_map_object(map, &address, MAPPED, VM_FIXED, o, 0, false, PAGE_READ | PAGE_WRITE, PAGE_RIGHTS,
                              VM_INHERIT_SHARE),
                0);
    vm_object_release(o);
    mapped = true;
}

static void unmap_file(void)
{
    CHECK_EQUAL(vm_deallocate(map, MAPPING, MAPPED), 0);
    vnode_pager_sweep();
    CHECK(!vnode->mapped);
    mapped = false;
}

static void grow_model(uint32_t to)
{
    if (to > size) {
        memset(model + size, 0, to - size);
        size = to;
    }
}

static uint32_t write_piece(uint32_t offset, uint32_t n, uint32_t from, bool append)
{
    struct transfer t = {map, from, n, false};
    if (random_below(&chance, 3) == 0) /* some of the program's pages are not mapped when they are used */
        fake_forget(random_next(&chance), 4);
    if (append) {
        file->flags = O_APPEND;
        CHECK_EQUAL(file_write(file, &t), n);
        CHECK_EQUAL(file->offset, size + n);
        offset = size;
    } else {
        CHECK_EQUAL(file_write_at(file, &t, (int32_t)offset), n);
    }
    grow_model(offset);
    if (offset + n > size)
        size = offset + n;
    return offset;
}

/* The calls read and write the file's own pages, as its mapping shows them: at most `both` bytes. */
static void call_with_mapped_pages(uint32_t offset, uint32_t both)
{
    uint32_t from = random_below(&chance, size), m = MIN(size - from, both);
    struct transfer t = {map, MAPPING + from, m, false};
    bool apart = from + m <= offset || offset + m <= from;
    if (random_below(&chance, 2)) {
        memcpy(piece, model + from, m);
        write_piece(offset, m, MAPPING + from, false);
        if (apart)
            memcpy(model + offset, piece, m);
        else /* overlapping: any order of the bytes will do */
            CHECK_EQUAL(copyin(map, model + offset, MAPPING + offset, m), 0);
    } else if (apart) {
        CHECK_EQUAL(file_read_at(file, &t, (int32_t)offset), m);
        memcpy(model + from, model + offset, m);
    }
}

/* Behind the end no page is mapped, from the next one on. */
static void look_behind_the_end(void)
{
    int error;
    uint32_t page = (size + PAGE_MASK) & ~PAGE_MASK;
    CHECK(!fake_access(map, MAPPING + page, PAGE_READ, &error) && error == -EIO);
    memset(piece, 0, PAGE_SIZE);
    is_in_program(MAPPING + size, piece, page - size, "behind the end");
}

static void one_operation(void)
{
    unsigned what = random_below(&chance, 16);
    uint32_t offset = random_below(&chance, random_below(&chance, 3) ? size + 5000 : MOST), n = 1;
    n += random_below(&chance, random_below(&chance, 2) ? 100 : PIECE - 1);
    if (offset + n > MOST)
        offset = MOST - n;
    uint32_t there = offset < size ? size - offset : 0, both = MIN(n, there);
    for (uint32_t i = 0; i < n; i++)
        piece[i] = (uint8_t)random_next(&chance);
    struct transfer t = {map, BUFFER + random_below(&chance, 5000), n, false};
    switch (what) {
    case 0:
    case 1:
    case 2: /* read */
        CHECK_EQUAL(file_read_at(file, &t, (int32_t)offset), both);
        is_in_program(t.at - both, model + offset, both, "read");
        break;
    case 3:
    case 4:
    case 5: /* at that place, or at the end */
        if (what == 5 && size + n > MOST)
            break;
        to_program(t.at, piece, n);
        offset = write_piece(what == 5 ? 0 : offset, n, t.at, what == 5);
        memcpy(model + offset, piece, n);
        break;
    case 6: /* shorter, or longer */
        CHECK_EQUAL(file->ops->truncate(file, (int32_t)offset), 0);
        grow_model(offset);
        size = offset;
        break;
    case 7: CHECK_EQUAL(file->ops->sync(file), 0); break;
    case 8: mapped ? unmap_file() : map_file(); break;
    case 9: fake_forget(random_next(&chance), 3); break;
    case 10:
    case 11: /* what the mapping shows */
        if (mapped)
            is_in_program(MAPPING + offset, model + offset, both, "mapping");
        break;
    case 12:
    case 13: /* store there */
        if (mapped) {
            to_program(MAPPING + offset, piece, both);
            memcpy(model + offset, piece, both);
        }
        break;
    case 14:
        if (mapped && both)
            call_with_mapped_pages(offset, both);
        break;
    default:
        if (mapped)
            look_behind_the_end();
    }
    CHECK_EQUAL(host_locks_held, 0);
}

static const char *make_image = "PATH=$PATH:/usr/sbin:/sbin; truncate -s 2304K %s/image; mke2fs -q -F -t ext2 -O "
                                "none,filetype,sparse_super -b 1024 -I 128 -N 160 %s/image >/dev/null 2>&1";

static void begin(uint32_t pages)
{
    host_folder(folder, "fsx");
    atexit(clean_up);
    disk = malloc(DISK_SIZE);
    device.strategy = strategy;
    shell(make_image);
    transfer_image("r");
    fake_vm_init(pages, 0);
    bio_start(fake_journal ? 80 : 24, 8);
    inodes_init(8);
    namecache_init();
    struct mount *m;
    CHECK(!ext2_mount(&device, false, &m) && !vfs_mount_root(m));
}

static void end(void)
{
    CHECK_EQUAL(vfs_unmount_all(), 0);
    CHECK(!bio_busy() && !inodes_referenced());
    vm_check_no_leak();
    transfer_image("w");
}

#define JOURNALLED                                                                     \
    "PATH=$PATH:/usr/sbin:/sbin; truncate -s 2304K %s/image; mke2fs -q -F -t ext2 -O " \
    "none,filetype,sparse_super,has_journal -J size=1 -b 1024 -I 128 -N 160 %s/image >/dev/null 2>&1"

static void with_a_journal(void)
{
    fake_journal = 1;
    make_image = JOURNALLED;
}

static void file_and_model(unsigned usual)
{
    const char *more = getenv("FSX_OPERATIONS");
    unsigned operations = more ? strtoul(more, 0, 10) : usual;
    chance = random_from(more ? operations : 1, 18);
    begin(600);
    uint32_t address = BUFFER;
    CHECK(!vfs_open(0, "f", VFS_CREATE | VFS_WRITE, 0644, &vnode));
    CHECK((file = vnode_file(vnode, FILE_READ | FILE_WRITE, 0)));
    CHECK((map = vm_map_create()) && !vm_allocate(map, &address, 32 * PAGE_SIZE, VM_FIXED));
    for (unsigned i = 0; i < operations; i++)
        one_operation();
    if (mapped)
        unmap_file();
    file_release(file);
    vm_map_release(map);
    end();
    shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fn %s/image >%s/fsck 2>&1 && "
          "debugfs -R 'dump /f %s/f' %s/image 2>/dev/null");
    char path[96];
    snprintf(path, sizeof path, "%s/f", folder);
    FILE *left = fopen(path, "r");
    static uint8_t back[sizeof model];
    CHECK(left && fread(back, 1, sizeof back, left) == size && !memcmp(back, model, size));
    fclose(left);
}

HOST_TEST(a_file_is_what_its_model_is)
{
    file_and_model(6000);
}

HOST_TEST(a_file_is_what_its_model_is_with_a_journal)
{
    with_a_journal();
    file_and_model(2000);
}

/* Power cuts ------------------------------------------------------------------------------------------------------ */

#define CACHED 4096u
#define STALE 0xa5 /* in all blocks that are free at first; the model never has it in four bytes in a row */

static struct {
    uint32_t sector;
    uint8_t data[SECTOR_SIZE];
} cached[CACHED]; /* what has been written since the last flush */
static unsigned cached_count, until_cut, cuts_left;
static uint8_t medium[DISK_SIZE], before[MOST + PIECE], kept[MOST]; /* kept: as sync has acknowledged it */
static bool sure[MOST]; /* and nothing has been written there since */
static uint32_t sure_size;

static void look_at_what_is_left(void)
{
    static uint8_t back[sizeof model];
    char path[96];
    unsigned of = random_below(&chance, 17);
    memcpy(disk, medium, DISK_SIZE);
    for (unsigned i = 0; i < cached_count; i++)
        if (random_below(&chance, 16) < of)
            memcpy(disk + (size_t)cached[i].sector * SECTOR_SIZE, cached[i].data, SECTOR_SIZE);
    transfer_image("w");
    shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fy %s/image >%s/fsck 2>&1; [ $? -le 1 ] || { cat %s/fsck; false; }");
    if (fake_journal)
        shell("! grep -v lost.found %s/fsck | grep -q '? yes' || { cat %s/fsck; false; }");
    shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fn %s/image >%s/fsck 2>&1 || { cat %s/fsck; false; }");
    shell("PATH=$PATH:/usr/sbin:/sbin; debugfs -R 'dump /f %s/f' %s/image 2>/dev/null");
    snprintf(path, sizeof path, "%s/f", folder);
    FILE *left = fopen(path, "r");
    CHECK(left);
    uint32_t n = (uint32_t)fread(back, 1, sizeof back, left);
    fclose(left);
    CHECK(n >= sure_size);
    for (uint32_t i = 0; i < sure_size; i++)
        if (sure[i] && back[i] != kept[i])
            host_failed(__FILE__, __LINE__, "byte %u is %#x, not %#x, which sync has acknowledged", i, back[i],
                        kept[i]);
    for (uint32_t i = 0; i + 4 <= n; i++)
        if (back[i] == STALE && back[i + 1] == STALE && back[i + 2] == STALE && back[i + 3] == STALE)
            host_failed(__FILE__, __LINE__, "byte %u is what another file had", i);
}

static void perhaps_cut(void)
{
    if (!cuts_left || --until_cut)
        return;
    until_cut = 1 + random_below(&chance, 400);
    cuts_left--;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        look_at_what_is_left();
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (status)
        host_failed(__FILE__, __LINE__, "%u cuts before the end", cuts_left);
}

static void cache_sector(uint32_t sector, const uint8_t *data)
{
    CHECK(cached_count < CACHED);
    cached[cached_count].sector = sector;
    memcpy(cached[cached_count++].data, data, SECTOR_SIZE);
    perhaps_cut();
}

static int flush_cache(struct blockdev *d)
{
    CHECK(d == &device);
    if (random_below(&chance, 8) == 0)
        perhaps_cut(); /* when there is most to lose */
    for (unsigned i = 0; i < cached_count; i++)
        memcpy(medium + (size_t)cached[i].sector * SECTOR_SIZE, cached[i].data, SECTOR_SIZE);
    cached_count = 0;
    return 0;
}

/* While the next operation runs, no byte that it may change is sure; afterwards, none that differs from before. */
static void operation_between_cuts(void)
{
    uint32_t was = size;
    struct random at_first = chance;
    memcpy(before, model, sizeof before);
    unsigned what = random_below(&at_first, 16); /* as one_operation draws first */
    bool changes = (what >= 3 && what <= 6) || what >= 12;
    static bool all[MOST];
    uint32_t size_then = sure_size;
    if (changes) { /* while it runs, any byte may be old or new */
        memcpy(all, sure, sizeof all);
        memset(sure, 0, sizeof sure);
        sure_size = what == 6 ? 0 : sure_size;
    }
    one_operation();
    if (what == 7) {
        memcpy(kept, model, MOST);
        memset(sure, true, sizeof sure);
        sure_size = size;
        return;
    }
    if (!changes)
        return;
    memcpy(sure, all, sizeof sure);
    sure_size = MIN(size_then, MIN(was, size));
    for (uint32_t i = 0; i < MOST; i += 64)
        if (memcmp(before + i, model + i, MIN(64, MOST - i)) != 0)
            memset(sure + i, false, MIN(64, MOST - i));
}

static void power_goes(bool journal)
{
    const char *more = getenv("FSX_CUTS");
    uint32_t address = BUFFER;
    cuts_left = more ? (unsigned)strtoul(more, 0, 10) : 6;
    fake_journal = journal;
    /* Each free block holds what a removed file had. */
    make_image = journal
                     ? "PATH=$PATH:/usr/sbin:/sbin; exec >/dev/null 2>&1; mkdir %s/d; head -c 600000 /dev/zero | "
                       "tr '\\000' '\\245' >%s/d/g; truncate -s 2304K %s/image; cd %s; "
                       "mke2fs -q -F -t ext2 -O none,filetype,sparse_super,has_journal -J size=1 -b 1024 -I 128 -N 160 "
                       "-d d image && debugfs -w -R 'rm g' image"
                     : "PATH=$PATH:/usr/sbin:/sbin; exec >/dev/null 2>&1; mkdir %s/d; head -c 1800000 /dev/zero | "
                       "tr '\\000' '\\245' >%s/d/g; truncate -s 2304K %s/image; cd %s; "
                       "mke2fs -q -F -t ext2 -O none,filetype,sparse_super -b 1024 -I 128 -N 160 -d d image && "
                       "debugfs -w -R 'rm g' image";
    chance = random_from(more ? cuts_left : 5, 18);
    begin(600);
    CHECK(memchr(disk, STALE, DISK_SIZE));
    CHECK(!vfs_open(0, "f", VFS_CREATE | VFS_WRITE, 0644, &vnode));
    CHECK_EQUAL(EXT2(vnode->mount)->log != 0, journal);
    CHECK((file = vnode_file(vnode, FILE_READ | FILE_WRITE, 0)));
    CHECK((map = vm_map_create()) && !vm_allocate(map, &address, 32 * PAGE_SIZE, VM_FIXED));
    CHECK_EQUAL(vfs_sync(), 0);
    memcpy(medium, disk, DISK_SIZE);
    sector_written = cache_sector;
    device.flush = flush_cache;
    size = 0;
    until_cut = 200;
    for (unsigned i = 0; cuts_left; i++)
        operation_between_cuts();
    sector_written = 0;
    if (mapped)
        unmap_file();
    file_release(file);
    vm_map_release(map);
    end();
    shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fn %s/image >%s/fsck 2>&1 || { cat %s/fsck; false; }");
}

HOST_TEST(the_power_goes_while_a_file_is_mapped)
{
    power_goes(false);
}

HOST_TEST(the_power_goes_while_a_file_is_mapped_with_a_journal)
{
    power_goes(true);
}

/* Takes all room on the disk, or frees it. */
static void fill_disk(bool full)
{
    static uint8_t bytes[65536];
    struct vnode *vp;
    struct uio uio;
    CHECK(!vfs_open(0, "fill", VFS_CREATE | VFS_WRITE | VFS_TRUNCATE, 0644, &vp));
    do
        uio_kernel(&uio, bytes, sizeof bytes, 0, true);
    while (full && !vfs_write(vp, &uio, true));
    CHECK_EQUAL(vfs_fsync(vp), 0);
    vrele(vp);
}

/* A write was done up to there, or not at all. */
static void written_or_not(int n, uint32_t offset, const uint8_t *bytes, uint32_t wanted)
{
    CHECK(n <= (int)wanted);
    if (n <= 0) {
        CHECK(n == -ENOSPC);
        return;
    }
    grow_model(offset);
    memcpy(model + offset, bytes, (uint32_t)n);
    if (offset + (uint32_t)n > size)
        size = offset + (uint32_t)n;
}

/*
 * A mapped file with holes on a disk that has no room for them from time to time: stores, writes and cuts
 * take effect, those with an error do nothing, and once there is room all of it is on the disk.
 */
static void full_disk_operation(bool full)
{
    uint32_t offset = random_below(&chance, size + 3000),
             n = 1 + random_below(&chance, random_below(&chance, 2) ? 100 : 9000);
    if (offset + n > MOST)
        return;
    uint32_t there = offset < size ? size - offset : 0, both = MIN(n, there);
    for (uint32_t i = 0; i < n; i++)
        piece[i] = (uint8_t)random_next(&chance);
    struct transfer t = {map, BUFFER, n, false};
    int result;
    switch (random_below(&chance, 9)) {
    case 0:
    case 1: /* store */
        to_program(MAPPING + offset, piece, both);
        memcpy(model + offset, piece, both);
        break;
    case 2:
    case 3: /* write */
        to_program(BUFFER, piece, n);
        result = file_write_at(file, &t, (int32_t)offset);
        CHECK(full || result == (int)n);
        written_or_not(result, offset, piece, n);
        break;
    case 4: /* read */
        result = file_read_at(file, &t, (int32_t)offset);
        CHECK((full && result == -ENOSPC) || result == (int)both);
        if (result > 0)
            is_in_program(BUFFER, model + offset, (uint32_t)result, "read");
        break;
    case 5: is_in_program(MAPPING + offset, model + offset, both, "mapping"); break;
    case 6: /* shorter, or longer */
        offset = random_below(&chance, 2) ? random_below(&chance, size + 1) : random_below(&chance, MOST);
        CHECK_EQUAL(file->ops->truncate(file, (int32_t)offset), 0);
        grow_model(offset);
        size = offset;
        break;
    case 7: /* behind the end, in the end's page: it must not show when the file grows */
        if (size % PAGE_SIZE)
            to_program(MAPPING + size, piece, MIN(n, PAGE_SIZE - size % PAGE_SIZE));
        break;
    default: result = file->ops->sync(file); CHECK(!result || (full && result == -ENOSPC));
    }
    CHECK_EQUAL(host_locks_held, 0);
}

static void full_disk(unsigned usual)
{
    const char *more = getenv("FSX_OPERATIONS");
    unsigned operations = more ? strtoul(more, 0, 10) : usual;
    uint32_t address = BUFFER;
    chance = random_from(more ? operations : 3, 18);
    begin(900);
    size = 0;
    CHECK(!vfs_open(0, "f", VFS_CREATE | VFS_WRITE, 0644, &vnode));
    CHECK((file = vnode_file(vnode, FILE_READ | FILE_WRITE, 0)));
    CHECK((map = vm_map_create()) && !vm_allocate(map, &address, 32 * PAGE_SIZE, VM_FIXED));
    map_file();
    bool full = false;
    for (unsigned i = 0; i < operations; i++) {
        if (random_below(&chance, 40) == 0)
            fill_disk((full = !full));
        if (random_below(&chance, 300) == 0) {
            CHECK_EQUAL(file->ops->truncate(file, 0), 0);
            size = 0;
        }
        full_disk_operation(full);
    }
    fill_disk(false);
    CHECK_EQUAL(file->ops->sync(file), 0);
    unmap_file();
    struct transfer t = {map, BUFFER, 0, false};
    for (uint32_t at = 0, n; at < size; at += n) {
        n = MIN(size - at, PIECE);
        t = (struct transfer){map, BUFFER, n, false};
        CHECK_EQUAL(file_read_at(file, &t, (int32_t)at), n);
        is_in_program(BUFFER, model + at, n, "in the end");
    }
    /* what is no longer mapped and has no room is lost: fsync reports it, once */
    CHECK_EQUAL(file->ops->truncate(file, 0), 0);
    CHECK_EQUAL(file->ops->truncate(file, 8192), 0);
    map_file();
    to_program(MAPPING, "lost", 4);
    fill_disk(true);
    unmap_file();
    CHECK_EQUAL(file->ops->sync(file), -ENOSPC);
    CHECK_EQUAL(file->ops->sync(file), 0);
    file_release(file);
    vm_map_release(map);
    end();
    shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fn %s/image >%s/fsck 2>&1 || { cat %s/fsck; false; }");
}

HOST_TEST(a_disk_without_room_loses_nothing_of_a_mapped_file)
{
    full_disk(4000);
}

HOST_TEST(a_disk_without_room_loses_nothing_of_a_mapped_file_with_a_journal)
{
    with_a_journal();
    full_disk(1500);
}

/* off_t has 32 bits: the last byte is number 2^31 - 2, however it is written. */
HOST_TEST(a_file_ends_before_two_to_the_31st)
{
    static const struct {
        uint32_t size, wanted;
        int appended;
    } cases[] = {{0x7ffffffe, 1, 1}, {0x7ffffffe, 100, 1}, {0x7fffffff, 1, -EFBIG}, {0x7fffffff, 0, 0},
                 {0x7ffffff0, 9, 9}, {0x7ffffff0, 15, 15}, {0x7ffffff0, 16, 15},    {0x7ffffc00, 5000, 1023}};
    struct user_stat st;
    uint32_t address = BUFFER;
    begin(200);
    CHECK(!vfs_open(0, "f", VFS_CREATE | VFS_WRITE, 0644, &vnode));
    CHECK((file = vnode_file(vnode, FILE_READ | FILE_WRITE, 0)));
    CHECK((map = vm_map_create()) && !vm_allocate(map, &address, 4 * PAGE_SIZE, VM_FIXED));
    for (unsigned way = 0; way < 3; way++)
        for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct transfer t = {map, BUFFER, cases[i].wanted, false};
            CHECK(!file->ops->truncate(file, 0) && !file->ops->truncate(file, (int32_t)cases[i].size));
            file->flags = way ? 0 : O_APPEND;
            file->offset = (int32_t)cases[i].size * (way == 1);
            int n = way < 2 ? file_write(file, &t) : file_write_at(file, &t, (int32_t)cases[i].size);
            CHECK_EQUAL(n, cases[i].appended);
            CHECK_EQUAL(vnode_stat(vnode, &st), 0);
            CHECK_EQUAL(st.size, (int32_t)cases[i].size + (n > 0 ? n : 0));
            if (n > 0 && way < 2)
                CHECK_EQUAL(file->offset, st.size);
        }
    CHECK_EQUAL(file_seek(file, 0x7fffffff, 0), 0x7fffffff);
    CHECK_EQUAL(file_seek(file, 1, 1), -EOVERFLOW);
    CHECK_EQUAL(file_seek(file, INT32_MIN, 1), -EINVAL);
    CHECK_EQUAL(vfs_truncate(vnode, 0x80000000u), 0);
    struct vnode *other;
    CHECK_EQUAL(vfs_open(0, "f", 0, 0, &other), -EOVERFLOW);
    CHECK_EQUAL(vfs_open(0, "f", VFS_WRITE | VFS_TRUNCATE, 0, &other), -EOVERFLOW);
    CHECK_EQUAL(vfs_truncate(vnode, 0x7fffffff), 0);
    CHECK_EQUAL(vfs_open(0, "f", VFS_WRITE, 0, &other), 0);
    vrele(other);
    file_release(file);
    vm_map_release(map);
    end();
}

static uint32_t value_of(unsigned i)
{
    return i * 2654435761u;
}

/* As many as there are memory and inodes for; all are freed again. */
HOST_TEST(files_are_mapped_as_memory_carries_them)
{
    enum { FILES = 100, PAGES = 600 };
    static struct vnode *vp[FILES + 1];
    static uint32_t held[PAGES];
    uint32_t value, n = 0;
    int error = 0;
    begin(PAGES);
    CHECK((map = vm_map_create()));
    for (unsigned i = 0; i <= FILES; i++) {
        char name[8];
        uint32_t at = BUFFER + i * PAGE_SIZE;
        snprintf(name, sizeof name, "m%u", i);
        CHECK_EQUAL(vfs_open(0, name, VFS_CREATE | VFS_WRITE, 0644, &vp[i]), 0);
        CHECK_EQUAL(vfs_truncate(vp[i], sizeof value), 0);
        if (i == FILES)
            break;
        struct vm_object *o = vnode_pager_object(vp[i], &error);
        CHECK(o && !error && vp[i]->mapped);
        CHECK_EQUAL(vm_map_object(map, &at, PAGE_SIZE, VM_FIXED, o, 0, false, PAGE_READ | PAGE_WRITE, PAGE_RIGHTS,
                                  VM_INHERIT_SHARE),
                    0);
        vm_object_release(o);
    }
    for (unsigned i = 0; i < FILES; i++) {
        value = value_of(i);
        CHECK_EQUAL(copyout(map, BUFFER + i * PAGE_SIZE, &value, sizeof value), 0);
    }
    for (unsigned step = 0; step < 3; step++) /* not in the order in which they came */
        for (unsigned i = step; i < FILES; i += 3) {
            CHECK_EQUAL(vm_deallocate(map, BUFFER + i * PAGE_SIZE, PAGE_SIZE), 0);
            vnode_pager_sweep();
            CHECK(!vp[i]->mapped && (step == 2 || vp[2]->mapped));
        }
    zones_reclaim();
    while ((held[n] = page_alloc_raw()))
        n++;
    CHECK(!vnode_pager_object(vp[FILES], &error) && error == -ENOMEM && !vp[FILES]->mapped);
    while (n)
        page_free(held[--n]);
    struct vm_object *o = vnode_pager_object(vp[FILES], &error);
    CHECK(o && !error);
    vm_object_release(o);
    vnode_pager_sweep();
    CHECK(!vp[FILES]->mapped);
    for (unsigned i = 0; i < FILES; i++) {
        struct uio uio;
        uio_kernel(&uio, &value, sizeof value, 0, false);
        CHECK(!vfs_read(vp[i], &uio) && value == value_of(i));
    }
    for (unsigned i = 0; i <= FILES; i++)
        vrele(vp[i]);
    vm_map_release(map);
    end();
    shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fn %s/image >%s/fsck 2>&1");
}

/* A file for swapped pages ----------------------------------------------------------------------------------------- */

#define SWAP_BLOCKS 1003u
static uint32_t block_of_swap[SWAP_BLOCKS], failing = UINT32_MAX;
static unsigned moved, transfers;

/* Past the buffers, only within the file's blocks. */
static int transfer(struct blockdev *d, bool write, uint32_t sector, uint32_t count, void *data)
{
    uint8_t *at = disk + (size_t)sector * SECTOR_SIZE;
    CHECK(d == &device && sector % 2 == 0 && count && count % 2 == 0 && count <= 8);
    transfers++;
    for (uint32_t block = sector / 2; block < (sector + count) / 2; block++) {
        uint32_t i = 0;
        while (i < SWAP_BLOCKS && block_of_swap[i] != block)
            i++;
        CHECK(i < SWAP_BLOCKS);
        if (i == failing)
            return -EIO;
        moved++;
    }
    write ? memcpy(at, data, count * SECTOR_SIZE) : memcpy(data, at, count * SECTOR_SIZE);
    return 0;
}

static int write_at(const char *path, uint32_t offset, uint32_t n)
{
    struct vnode *vp;
    struct uio uio;
    static uint8_t bytes[4096];
    int error = vfs_open(0, path, VFS_CREATE | VFS_WRITE, 0644, &vp);
    if (error)
        return error;
    uio_kernel(&uio, bytes, n, offset, true);
    error = vfs_write(vp, &uio, false);
    vrele(vp);
    return error;
}

/* Not all its blocks lie in a row: the two files grow in turn. */
static void make_swap_file(void)
{
    for (uint32_t n = 0, piece; n < SWAP_BLOCKS; n += piece) {
        piece = 1 + random_below(&chance, 3);
        piece = MIN(piece, SWAP_BLOCKS - n);
        CHECK_EQUAL(write_at("swap", n * 1024, piece * 1024), 0);
        if (n % 5 == 0)
            CHECK_EQUAL(write_at("other", n / 5 * 1024, 1024), 0);
    }
    CHECK_EQUAL(namei(0, "swap", true, &vnode), 0);
    for (uint32_t n = 0; n < SWAP_BLOCKS; n++)
        CHECK_EQUAL(ext2_bmap((struct inode *)vnode, n, false, &block_of_swap[n], 0, 0), 0);
}

HOST_TEST(pages_that_leave_memory_go_to_a_file_and_come_back)
{
    enum { PAGES = 200 };
    chance = random_from(2, 18);
    begin(250);
    int error = 0;
    make_swap_file();
    CHECK_EQUAL(vfs_make(0, "d", VDIR, 0755, 0, 0), 0);
    CHECK(!write_at("hole", 0, 4096) && !write_at("hole", 6000, 4096) && !write_at("small", 0, 4095));
    CHECK_EQUAL(swap_file_on("swap"), -EINVAL); /* the device has no transfer */
    device.transfer = transfer;
    CHECK_EQUAL(swap_file_on("none"), -ENOENT);
    CHECK_EQUAL(swap_file_on("d"), -EINVAL);
    CHECK_EQUAL(swap_file_on("hole"), -EINVAL);
    CHECK_EQUAL(swap_file_on("small"), -EINVAL);
    CHECK((file = vnode_file(vnode, FILE_READ | FILE_WRITE, 0)) && (map = vm_map_create()));
    map_file();
    CHECK_EQUAL(swap_file_on("swap"), -EBUSY);
    unmap_file();
    vnode->mount->read_only = true;
    CHECK_EQUAL(swap_file_on("swap"), -EROFS);
    vnode->mount->read_only = false;
    CHECK_EQUAL(write_at("swap", 0, 1024), 0); /* still delayed */
    CHECK_EQUAL(swap_file_on("swap"), 0);
    CHECK_EQUAL(swap_file_on("swap"), -EBUSY);
    CHECK_EQUAL(swap_file_on("other"), -EBUSY);
    CHECK_EQUAL(write_at("swap", 5, 1), -ETXTBSY);
    CHECK_EQUAL(write_at("swap", SWAP_BLOCKS * 1024, 1), -ETXTBSY);
    CHECK_EQUAL(file->ops->truncate(file, 0), -ETXTBSY);
    CHECK(!file->ops->object(file, &error) && error == -ETXTBSY); /* stores there could not be written */
    uint32_t used = 0, address = BUFFER;
    CHECK_EQUAL(vm_allocate(map, &address, 2 * PAGES * PAGE_SIZE, VM_FIXED), 0);
    for (unsigned round = 0; round < 3; round++) {
        for (uint32_t page = 0; page < 2 * PAGES; page++)
            for (uint32_t at = 0; at < PAGE_SIZE; at += 1000) { /* in each of its blocks */
                uint32_t value = page << 16 | round << 12 | at;
                CHECK_EQUAL(copyout(map, BUFFER + page * PAGE_SIZE + at, &value, 4), 0);
            }
        CHECK_EQUAL(write_at("beside", round * 3000, 4000), 0);
        CHECK_EQUAL(vfs_sync(), 0);
        if (round == 1)
            CHECK_EQUAL(vfs_remove(0, "swap", false), 0); /* it stays until its last user is gone */
        for (uint32_t page = 0; page < 2 * PAGES; page++)
            for (uint32_t at = 0, value; at < PAGE_SIZE; at += 1000) {
                CHECK_EQUAL(copyin(map, &value, BUFFER + page * PAGE_SIZE + at, 4), 0);
                CHECK_EQUAL(value, page << 16 | round << 12 | at);
            }
    }
    CHECK(moved > 3 * PAGES && transfers < moved);
    CHECK_EQUAL(swap_file_off(), -EBUSY);
    failing = 4 * 20 + 2; /* a page cannot be read: an error for its reader, and for no other */
    for (uint32_t page = 0; page < 2 * PAGES; page++)
        used += copyin(map, &error, BUFFER + page * PAGE_SIZE, 4) == -EFAULT;
    CHECK(used <= 1);
    failing = UINT32_MAX;
    CHECK_EQUAL(vm_deallocate(map, BUFFER, 2 * PAGES * PAGE_SIZE), 0);
    CHECK_EQUAL(swap_file_off(), 0);
    CHECK_EQUAL(swap_file_off(), 0);
    CHECK_EQUAL(file->ops->truncate(file, 5), 0);
    file_release(file);
    vm_map_release(map);
    end();
    shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fn %s/image >%s/fsck 2>&1 || { cat %s/fsck; false; }");
}
