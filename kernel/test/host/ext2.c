/*
 * ext2 and the buffer cache, on images that the host's mke2fs makes and its e2fsck checks; the host's file system does
 * the same operations. Sources: fs/bio.c fs/freelist.c fs/ext2_mount.c fs/ext2_alloc.c fs/ext2_inode.c fs/ext2_bmap.c
 * fs/ext2_dir.c fs/ext2_ops.c fs/ext2_journal.c fs/ext2_transaction.c fs/vfs.c fs/namecache.c mem/zone.c mem/page.c
 * lock/simple_lock.c lib/printf.c lib/bootargs.c. Options: BUFFERS_BUCKETS=0 ALLOC_GROUPS=0
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/ext2.h"
#include "fs/ext2_jbd.h"
#include "fs/namecache.h"
#include "fs/vfs.h"
#include "lib/minmax.h"
#include "lib/random.h"
#include "mem/page.h"
#include "mem/zone.h"
#include "sched/sched.h"
#include "test/host/host.h"

#define PAGES 2048
#define RAM_PAGES PAGES

#include "test/host/ram.h"
/* Of an image and of its indexes' hashes: mke2fs would draw them at random. HASH_SEED in the environment changes it. */
#define SAME_UUID "${HASH_SEED:-00000000-0000-4000-8000-000000000001}"

char bootargs[64];

/* The device: its I/O ends some time later, in any order. ---------------------------------------------------------- */

static struct random chance;
static uint8_t *disk;
static size_t disk_size;
static struct blockdev device = {.name = "disk"};
static struct {
    struct buf *bp; /* or ... */
    struct bufrun *run;
} pending[128];
static unsigned pendings;
static unsigned requests; /* to the device */
static uint32_t bad_sector = UINT32_MAX; /* cannot be read or written */
static uint64_t writes_left = UINT64_MAX; /* before a power cut: later writes are lost without an error */
static void (*written)(uint32_t sector, const uint8_t *data, uint32_t size); /* or 0: called after each write */
static bool (*transfer_fails)(const struct buf *bp); /* or 0: called before each block is transferred */

void event_post(struct event *e)
{
    e->posted = true;
}

static int move_block(struct buf *bp)
{
    uint8_t *at = disk + (size_t)bp->sector * SECTOR_SIZE;
    if (bad_sector - bp->sector < bp->size / SECTOR_SIZE || (transfer_fails && transfer_fails(bp)))
        return -EIO;
    if (bp->flags & B_READ)
        memcpy(bp->data, at, bp->size);
    else if (writes_left) {
        memcpy(at, bp->data, bp->size);
        writes_left--;
        if (written)
            written(bp->sector, bp->data, bp->size);
    }
    return 0;
}

static void one_ends(void)
{
#if UNIX_SERIAL
    CHECK_EQUAL(sync_hart()->level, SPL_NONE); /* else the interrupt is masked */
    sync_hart()->intr_depth++;
    crit_t s = crit_sec_enter(SPL_BIO);
#endif
    unsigned i = random_below(&chance, pendings);
    struct buf *bp = pending[i].bp;
    struct bufrun *run = pending[i].run;
    pending[i] = pending[--pendings];
    if (run) {
        for (uint32_t n = 0; n < run->count && !run->error; n++) { /* sectors behind a bad one are not reached */
            CHECK_EQUAL(run->buf[n]->sector, run->buf[0]->sector + n * (run->buf[0]->size / SECTOR_SIZE));
            CHECK(!(run->buf[n]->flags & B_READ) == run->write && run->buf[n]->flags & B_ASYNC);
            run->error = move_block(run->buf[n]);
        }
        biodone_run(run);
    } else {
        bp->error = move_block(bp);
        if (bp->flags & B_ASYNC)
            biodone(bp);
        else
            event_post(&bp->done);
    }
#if UNIX_SERIAL
    crit_sec_leave(s);
    sync_hart()->intr_depth--;
#endif
}

#if UNIX_SERIAL
static void perhaps_one_ends(void)
{
    if (pendings && !sync_hart()->intr_depth && random_below(&chance, 8) == 0)
        one_ends();
}
#endif

static void others_run(void)
{
    if (!pendings)
        panic("all wait for ever");
    one_ends();
}

static void strategy(struct blockdev *d, struct buf *bp)
{
    CHECK(d == &device && bp->sector + bp->size / SECTOR_SIZE <= d->sectors);
    CHECK(pendings < 128);
    requests++;
    pending[pendings].run = 0;
    pending[pendings++].bp = bp;
    if (bp->flags & B_ASYNC && !sync_hart()->intr_depth && random_below(&chance, 4) == 0)
        others_run();
}

static void strategy_run(struct blockdev *d, struct bufrun *run)
{
    const struct buf *last = run->buf[run->count - 1];
    CHECK(d == &device && run->count > 1 && run->count <= RUN_MOST);
    CHECK(last->sector + last->size / SECTOR_SIZE <= d->sectors);
    CHECK(pendings < 128);
    requests++;
    pending[pendings].bp = 0;
    pending[pendings++].run = run;
    if (!sync_hart()->intr_depth && random_below(&chance, 4) == 0)
        others_run();
}

void event_clear(struct event *e)
{
    e->posted = false;
}

void event_wait(struct event *e)
{
    while (!e->posted)
        others_run();
}

void thread_yield(void)
{
    others_run();
}

/* Images ----------------------------------------------------------------------------------------------------------- */

static char folder[HOST_PATH], image[96];
static void mount_again(void);

static uint32_t chains = 8;
static const char *features = "none,filetype,sparse_super";
static void with_a_journal(void)
{
    features = "none,filetype,sparse_super,has_journal -J size=1";
    strcpy(bootargs, "journal=1");
}

static void shell(const char *format, ...)
{
    char command[512];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    int status = system(command);
    if (status)
        host_failed(__FILE__, __LINE__, "status %d of: %s", status >> 8, command);
}

static void read_image(void)
{
    FILE *file = fopen(image, "r");
    CHECK(file && !fseek(file, 0, SEEK_END));
    disk_size = ftell(file);
    rewind(file);
    free(disk);
    disk = malloc(disk_size);
    CHECK_EQUAL(fread(disk, 1, disk_size, file), disk_size);
    fclose(file);
    device.sectors = disk_size / SECTOR_SIZE;
    device.strategy = strategy;
    device.strategy_run = strategy_run;
}

static void write_image(void)
{
    FILE *file = fopen(image, "w");
    CHECK(file);
    CHECK_EQUAL(fwrite(disk, 1, disk_size, file), disk_size);
    fclose(file);
}

static void clean_up(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command))
        perror(command);
    free(disk);
    disk = 0;
}

/* An image of `kib` KiB, made with `options`, and a folder `there` beside it with the same contents on the host. */
static void begin(uint32_t kib, const char *options, uint32_t buffers, uint32_t inodes, uint32_t seed)
{
    chance = random_from(seed, 1);
    pages_init(BASE, BASE + sizeof memory);
    host_folder(folder, "ext2");
    atexit(clean_up);
    snprintf(image, sizeof image, "%s/image", folder);
    shell("PATH=$PATH:/usr/sbin:/sbin; mkdir %s/there && truncate -s %uk %s && mke2fs -q -F -t ext2 -O %s"
          " -U %s -E root_owner=0:0,hash_seed=%s %s %s 2>/dev/null >&2 &&"
          " debugfs -w -R 'rmdir lost+found' %s 2>/dev/null >&2",
          folder, kib, image, features, SAME_UUID, SAME_UUID, options, image, image);
    read_image();
    host_lock_waits = others_run;
#if UNIX_SERIAL
    host_section_begins = perhaps_one_ends;
#endif
    bio_start(buffers, chains);
    inodes_init(inodes);
    namecache_init();
    struct mount *m;
    CHECK_EQUAL(ext2_mount(&device, false, &m), 0);
    CHECK_EQUAL(vfs_mount_root(m), 0);
    snprintf(image, sizeof image, "%s/there", folder);
    CHECK(!chdir(image));
    umask(0);
    snprintf(image, sizeof image, "%s/image", folder);
}

static void nothing_is_held(void)
{
    CHECK_EQUAL(host_locks_held, 0);
}

static void fsck(void)
{
    write_image();
    shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fn %s >%s/fsck 2>&1 || { cat %s/fsck; false; }", image, folder, folder);
}

static void end(void)
{
    nothing_is_held();
    CHECK_EQUAL(vfs_unmount_all(), 0);
    nothing_is_held();
    CHECK_EQUAL(pendings, 0);
    CHECK_EQUAL(bio_busy(), 0);
    CHECK_EQUAL(inodes_referenced(), 0);
    fsck();
}

/* Operations on both ----------------------------------------------------------------------------------------------- */

static int host(int result)
{
    return result < 0 ? -errno : 0;
}

#define BOTH(name, ours, theirs)                                                                           \
    do {                                                                                                   \
        int ours_ = (ours), theirs_ = host(theirs);                                                        \
        if (ours_ != theirs_)                                                                              \
            host_failed(__FILE__, __LINE__, "%s: %s, but %s", name, strerror(-ours_), strerror(-theirs_)); \
        nothing_is_held();                                                                                 \
    } while (0)

static int pwrite_ours(const char *path, uint64_t offset, const void *data, uint32_t size)
{
    struct vnode *vp;
    int error = vfs_open(0, path, VFS_CREATE | VFS_WRITE, 0644, &vp);
    if (error)
        return error;
    struct uio uio;
    uio_kernel(&uio, (void *)data, size, offset, true);
    error = vfs_write(vp, &uio, false);
    vrele(vp);
    return error;
}

static int pwrite_theirs(const char *path, uint64_t offset, const void *data, uint32_t size)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    if (fd < 0)
        return -1;
    ssize_t done = pwrite(fd, data, size, offset);
    close(fd);
    return done == (ssize_t)size ? 0 : -1;
}

static int truncate_ours(const char *path, uint64_t size)
{
    struct vnode *vp;
    int error = namei(0, path, true, &vp);
    if (error)
        return error;
    error = vfs_truncate(vp, size);
    vrele(vp);
    return error;
}

static void same_file(const char *path, struct vnode *vp, uint64_t size)
{
    static uint8_t ours[65536], theirs[65536];
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    for (uint64_t at = 0; at < size;) {
        ssize_t n = pread(fd, theirs, sizeof theirs, at);
        CHECK(n > 0);
        struct uio uio;
        memset(ours, 0xee, sizeof ours);
        uio_kernel(&uio, ours, sizeof ours, at, false);
        CHECK_EQUAL(vfs_read(vp, &uio), 0);
        CHECK_EQUAL(sizeof ours - uio.left, n);
        if (memcmp(ours, theirs, n))
            host_failed(__FILE__, __LINE__, "%s differs in the %zd bytes behind %llu", path, n, (unsigned long long)at);
        at += n;
    }
    close(fd);
}

struct listed {
    unsigned count;
    char path[PATH_MAX];
};

static void same_tree(const char *path);

static bool entry_is_there(void *arg, const struct dirent_out *entry)
{
    struct listed *l = arg;
    char path[2 * PATH_MAX];
    struct stat st;
    sprintf(path, "%s/%.*s", l->path, (int)entry->length, entry->name);
    if (lstat(path, &st))
        host_failed(__FILE__, __LINE__, "%s is in our directory alone", path);
    l->count++;
    return true;
}

static void same(const char *path)
{
    struct stat st;
    struct vattr attr;
    struct vnode *vp;
    CHECK(!lstat(path, &st));
    int error = namei(0, path, false, &vp);
    if (error)
        host_failed(__FILE__, __LINE__, "%s: %s", path, strerror(-error));
    CHECK_EQUAL(vfs_getattr(vp, &attr), 0);
    CHECK_EQUAL(attr.mode, S_ISLNK(st.st_mode) ? (S_IFLNK | 0777) : st.st_mode);
    if (S_ISREG(st.st_mode)) {
        CHECK_EQUAL(attr.nlink, st.st_nlink);
        CHECK_EQUAL(attr.size, st.st_size);
        same_file(path, vp, attr.size);
    } else if (S_ISLNK(st.st_mode)) {
        char ours[PATH_MOST], theirs[PATH_MOST];
        int n = vfs_readlink(vp, ours, sizeof ours);
        CHECK_EQUAL(n, readlink(path, theirs, sizeof theirs));
        CHECK(!memcmp(ours, theirs, n));
    } else if (S_ISDIR(st.st_mode)) {
        struct listed l = {0};
        snprintf(l.path, sizeof l.path, "%s", path);
        CHECK_EQUAL(vfs_readdir(vp, 0, entry_is_there, &l), 0);
        unsigned theirs = 0, directories = 2;
        DIR *dir = opendir(path);
        CHECK(dir);
        for (struct dirent *d; (d = readdir(dir)); theirs++)
            directories += d->d_type == DT_DIR && strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
        closedir(dir);
        CHECK_EQUAL(l.count, theirs);
        CHECK_EQUAL(attr.nlink, directories);
        same_tree(path);
    }
    vrele(vp);
    nothing_is_held();
}

static void same_tree(const char *path)
{
    DIR *dir = opendir(path);
    CHECK(dir);
    for (struct dirent *d; (d = readdir(dir));) {
        char below[PATH_MAX];
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
            continue;
        snprintf(below, sizeof below, "%s/%s", path, d->d_name);
        same(below);
    }
    closedir(dir);
}

/* Tests ------------------------------------------------------------------------------------------------------------ */

HOST_TEST(a_file_is_written_and_read)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    char text[] = "hello";
    BOTH("mkdir", vfs_make(0, "a", VDIR, 0755, 0, 0), mkdir("a", 0755));
    BOTH("write", pwrite_ours("a/b", 3, text, 5), pwrite_theirs("a/b", 3, text, 5));
    same("a");
    end();
}

static const uint32_t sizes[] = {
    0, 1, 511, 512, 1023, 1024, 1025, 12 * 1024, 12 * 1024 + 1, 268 * 1024, 268 * 1024 + 1, 300000, 700000};

HOST_TEST(files_of_every_indirection)
{
    begin(8192, "-b 1024 -I 128 -N 128", 16, 20, 2);
    static uint8_t data[700000];
    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = random_below(&chance, 256);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        BOTH(name, pwrite_ours(name, 0, data, sizes[i]), pwrite_theirs(name, 0, data, sizes[i]));
    }
    same_tree(".");
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char name[16];
        uint32_t to = sizes[sizeof sizes / sizeof sizes[0] - 1 - i];
        snprintf(name, sizeof name, "f%u", i);
        BOTH(name, truncate_ours(name, to), truncate(name, to));
    }
    same_tree(".");
    uint8_t end_of[] = "end";
    uint64_t far = (12ull + 256 + 65536 + 5) * 1024; /* behind the double indirect blocks */
    BOTH("far", pwrite_ours("far", far, end_of, 3), pwrite_theirs("far", far, end_of, 3));
    BOTH("cut", truncate_ours("far", far - 300 * 1024ull), truncate("far", far - 300 * 1024ull));
    same("far");
    end();
}

static char *some_name(char *name)
{
    static const char *const names[] = {"a", "bb", "c", "d.d", "a_name_that_is_longer_than_the_name_cache_keeps", "f"};
    unsigned depth = 1 + random_below(&chance, 3);
    name[0] = 0;
    for (unsigned i = 0; i < depth; i++) {
        unsigned which = random_below(&chance, 20);
        if (i)
            strcat(name, "/");
        strcat(name, which == 18 && i + 1 < depth ? "." : names[which % 6]); /* no "..": it could leave the folder */
    }
    return name;
}

static void random_operation(void)
{
    static uint8_t data[20000];
    char a[PATH_MOST], b[PATH_MOST];
    some_name(a);
    some_name(b);
    uint32_t offset = random_below(&chance, 4) ? random_below(&chance, 30000) : random_below(&chance, 400000);
    uint32_t size = 1 + random_below(&chance, sizeof data);
    char said[2 * PATH_MOST + 32];
    unsigned what = random_below(&chance, 12);
    snprintf(said, sizeof said, "operation %u on %s, %s, %u, %u", what, a, b, offset, size);
    switch (what) {
    case 0:
    case 1: BOTH(said, vfs_make(0, a, VDIR, 0755, 0, 0), mkdir(a, 0755)); break;
    case 2:
    case 3:
    case 4:
        memset(data, random_below(&chance, 256), size);
        BOTH(said, pwrite_ours(a, offset, data, size), pwrite_theirs(a, offset, data, size));
        break;
    case 5: BOTH(said, vfs_remove(0, a, false), unlink(a)); break;
    case 6: BOTH(said, vfs_remove(0, a, true), rmdir(a)); break;
    case 7:
    case 8: BOTH(said, vfs_rename(0, a, b), rename(a, b)); break;
    case 9: BOTH(said, vfs_link(0, a, b), link(a, b)); break;
    case 10: BOTH(said, truncate_ours(a, offset), truncate(a, offset)); break;
    case 11: BOTH(said, vfs_make(0, a, VLNK, 0777, 0, b), symlink(b, a)); break;
    }
}

static void random_operations(const char *options, uint32_t buffers, uint32_t inodes, unsigned operations)
{
    for (uint32_t seed = 1; seed <= 2; seed++) {
        begin(32768, options, buffers, inodes, seed);
        for (unsigned i = 1; i <= operations; i++) {
            random_operation();
            if (i % (operations / 4) == 0)
                same_tree(".");
        }
        CHECK_EQUAL(vfs_sync(), 0);
        end();
        return;
    }
}

HOST_TEST(random_operations_on_small_blocks)
{
    random_operations("-b 1024 -I 128 -N 2048 -g 1024", 16, 16, 6000);
}

HOST_TEST(random_operations_on_large_blocks)
{
    random_operations("-b 4096 -I 256", 24, 64, 4000);
}

HOST_TEST(random_operations_with_a_journal)
{
    with_a_journal();
    random_operations("-b 1024 -I 128 -N 2048 -g 1024", 80, 16, 6000);
}

HOST_TEST(random_operations_on_large_blocks_with_a_journal)
{
    with_a_journal();
    features = "none,filetype,sparse_super,has_journal -J size=4";
    random_operations("-b 4096 -I 256", 100, 64, 4000);
}

/* `n` files of each kind, alike on both sides, with names of `long_names` bytes at least. */
static void one_of_each(unsigned n, unsigned long_names)
{
    char name[300], text[400];
    for (unsigned i = 0; i < n; i++) {
        snprintf(name, sizeof name, "f%0*u", long_names, i);
        BOTH(name, pwrite_ours(name, 0, name, i * 100 % 256), pwrite_theirs(name, 0, name, i * 100 % 256));
        snprintf(name, sizeof name, "d%0*u", long_names, i);
        BOTH(name, vfs_make(0, name, VDIR, 0755, 0, 0), mkdir(name, 0755));
        memset(text, 't', sizeof text);
        text[1 + i * 37 % 150] = 0; /* in the inode, and in a block */
        snprintf(name, sizeof name, "l%0*u", long_names, i);
        BOTH(name, vfs_make(0, name, VLNK, 0777, 0, text), symlink(text, name));
    }
}

static void debugfs_begins(FILE **commands)
{
    char path[128];
    snprintf(path, sizeof path, "%s/commands", folder);
    CHECK((*commands = fopen(path, "w")));
}

static void debugfs_ends(FILE *commands)
{
    fclose(commands);
    write_image();
    shell("PATH=$PATH:/usr/sbin:/sbin; cd %s; debugfs -w -f commands image >said 2>&1; "
          "! grep -i -e unknown -e 'ea_set: ' -e usage said",
          folder);
    read_image();
}

/*
 * Attributes of any size for every other file of one_of_each. Of a small inode they are in a block; some of these are
 * shared then.
 */
static void give_attributes(unsigned n, unsigned long_names)
{
    FILE *commands;
    debugfs_begins(&commands);
    for (unsigned i = 0; i < n; i++)
        for (const char *kind = "fdl"; *kind; kind++)
            if (random_below(&chance, 2))
                fprintf(commands, "ea_set %c%0*u user.a%u %0*u\n", *kind, long_names, i, i % 3,
                        1 + (int)random_below(&chance, 300), i);
    debugfs_ends(commands);
}

static uint32_t inode_size_on_disk(void)
{
    return ((const struct ext2_super *)(disk + 1024))->inode_size;
}

static struct ext2_inode *inode_at(uint32_t number)
{
    const struct ext2_super *s = (const struct ext2_super *)(disk + 1024);
    uint32_t size = 1024u << s->log_block_size, per = s->inodes_per_group;
    const struct ext2_group *groups = (const struct ext2_group *)(disk + (s->first_data_block + 1) * size);
    return (struct ext2_inode *)(disk + (size_t)groups[(number - 1) / per].inode_table * size +
                                 (number - 1) % per * inode_size_on_disk());
}

/* Each two files in a row then share a block. Returns how many files have one in the end. */
static unsigned share_attributes(void)
{
    const struct ext2_super *s = (const struct ext2_super *)(disk + 1024);
    struct ext2_inode *before = 0;
    unsigned with = 0;
    for (uint32_t n = s->first_inode; n <= s->inodes; n++) {
        struct ext2_inode *ip = inode_at(n);
        if (!ip->links || !ip->attributes)
            continue;
        with++;
        if (before && random_below(&chance, 3))
            ip->attributes = before->attributes;
        before = ip;
    }
    write_image(); /* e2fsck counts the references */
    shell("PATH=$PATH:/usr/sbin:/sbin; exec >/dev/null 2>&1; e2fsck -fy %s; [ $? -le 1 ] && { debugfs -w -R "
          "'rmdir lost+found' %s; true; }",
          image, image);
    read_image();
    return with;
}

static void mount_there(void)
{
    struct mount *m;
    CHECK_EQUAL(ext2_mount(&device, false, &m), 0);
    CHECK_EQUAL(vfs_mount_root(m), 0);
}

/*
 * What other systems make, and this kernel does not: attributes in inodes and in blocks, shared ones, directories with
 * a hash tree.
 */
static void random_operations_on_what_others_made(bool journal, const char *options, uint32_t buffers)
{
    if (journal)
        with_a_journal();
    features = journal ? "none,filetype,sparse_super,ext_attr,dir_index,resize_inode,has_journal -J size=1"
                       : "none,filetype,sparse_super2,ext_attr,dir_index";
    begin(16384, options, buffers, 16, 7);
    static const char *const names[] = {"a", "bb", "c", "d.d"};
    for (unsigned i = 0; i < 4; i++) /* which random_operation goes into */
        BOTH(names[i], vfs_make(0, names[i], VDIR, 0755, 0, 0), mkdir(names[i], 0755));
    one_of_each(40, 60);
    for (unsigned i = 0; i < 60; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/%040u", names[i % 4], i);
        BOTH(name, vfs_make(0, name, VREG, 0644, 0, 0), mknod(name, S_IFREG | 0644, 0));
    }
    CHECK_EQUAL(vfs_unmount_all(), 0);
    write_image();
    shell("PATH=$PATH:/usr/sbin:/sbin; exec >/dev/null 2>&1; e2fsck -fyD %s; [ $? -le 1 ]", image);
    read_image();
    CHECK(inode_at(EXT2_ROOT)->flags & EXT2_INDEX_FLAG);
    give_attributes(40, 60);
    unsigned with = share_attributes();
    CHECK(with > (inode_size_on_disk() > 128 ? 10 : 40));
    fsck();
    mount_there();
    same_tree(".");
    for (unsigned i = 0; i < 40; i++) { /* some are removed, by their kind, in any order */
        char name[100];
        unsigned n = random_below(&chance, 40), kind = random_below(&chance, 3);
        snprintf(name, sizeof name, "%c%060u", "fdl"[kind], n);
        BOTH(name, vfs_remove(0, name, kind == 1), kind == 1 ? rmdir(name) : unlink(name));
    }
    for (unsigned i = 0; i < 800; i++)
        random_operation();
    same_tree(".");
    end();
}

HOST_TEST(random_operations_on_attributes_in_blocks)
{
    random_operations_on_what_others_made(false, "-b 1024 -I 128 -N 1024 -g 2048", 24);
}

HOST_TEST(random_operations_on_attributes_in_inodes)
{
    random_operations_on_what_others_made(false, "-b 1024 -I 256 -N 1024 -g 2048", 24);
}

HOST_TEST(random_operations_on_attributes_with_a_journal)
{
    random_operations_on_what_others_made(true, "-b 1024 -I 128 -N 1024 -g 2048", 90);
}

/* All blocks of attributes are free after the files are removed, and new inodes in their place have none. */
HOST_TEST(attributes_go_with_their_file)
{
    for (unsigned way = 0; way < 4; way++) {
        pid_t child = fork();
        if (!child) {
            if (way & 1)
                with_a_journal();
            features = way & 1 ? "none,filetype,sparse_super,ext_attr,has_journal -J size=1"
                               : "none,filetype,sparse_super,ext_attr";
            struct statfs_out before, after;
            char name[32];
            begin(4096, way & 2 ? "-b 1024 -I 256 -N 256" : "-b 1024 -I 128 -N 256", 90, 20, way + 1);
            struct vnode *root = vfs_root();
            vfs_statfs(root, &before);
            vrele(root);
            one_of_each(20, 3);
            CHECK_EQUAL(vfs_unmount_all(), 0);
            give_attributes(20, 3);
            CHECK(share_attributes() > (way & 2 ? 5 : 20));
            mount_there();
            same_tree(".");
            for (unsigned i = 0; i < 60; i++) {
                snprintf(name, sizeof name, "%c%03u", "fdl"[i % 3], i / 3);
                CHECK_EQUAL(vfs_remove(0, name, i % 3 == 1), 0);
            }
            CHECK_EQUAL(vfs_sync(), 0);
            root = vfs_root();
            vfs_statfs(root, &after);
            vrele(root);
            CHECK_EQUAL(after.files_free, before.files_free);
            CHECK_EQUAL(before.blocks_free - after.blocks_free, inode_at(EXT2_ROOT)->size / 1024 - 1);
            for (unsigned i = 0; i < 40; i++) {
                snprintf(name, sizeof name, "n%u", i);
                CHECK_EQUAL(vfs_make(0, name, i % 2 ? VREG : VDIR, 0755, 0, 0), 0);
            }
            end();
            const struct ext2_super *s = (const struct ext2_super *)(disk + 1024);
            uint32_t made = 0;
            for (uint32_t n = s->first_inode; n <= s->inodes; n++) {
                const uint8_t *at = (const uint8_t *)inode_at(n);
                if (!inode_at(n)->links)
                    continue;
                made++;
                CHECK_EQUAL(inode_at(n)->attributes, 0);
                for (uint32_t i = sizeof(struct ext2_inode); i < inode_size_on_disk(); i++)
                    CHECK_EQUAL(at[i], 0);
            }
            CHECK_EQUAL(made, 40);
            exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && !status);
    }
}

/* A block of attributes that is not one, or is in other use: an error, and nothing is freed. */
HOST_TEST(attributes_that_are_wrong_stay)
{
    for (unsigned wrong = 0; wrong < 5; wrong++) {
        pid_t child = fork();
        if (!child) {
            features = "none,filetype,sparse_super,ext_attr";
            begin(1024, "-b 1024 -I 128 -N 128", 16, 20, wrong);
            struct vnode *vp;
            one_of_each(1, 1);
            CHECK_EQUAL(namei(0, "f0", true, &vp), 0);
            uint32_t number = INODE(vp)->number;
            vrele(vp);
            CHECK_EQUAL(vfs_unmount_all(), 0);
            FILE *commands;
            debugfs_begins(&commands);
            fprintf(commands, "ea_set f0 user.a text\n");
            debugfs_ends(commands);
            struct ext2_attributes *head =
                (struct ext2_attributes *)(disk + (size_t)inode_at(number)->attributes * 1024);
            CHECK_EQUAL(head->magic, EXT2_ATTRIBUTES_MAGIC);
            switch (wrong) {
            case 0: head->magic++; break;
            case 1: head->references = 0; break;
            case 2: head->blocks = 2; break;
            case 3: inode_at(number)->attributes = 3; break;
            case 4: inode_at(number)->attributes = 1024; break;
            }
            mount_there();
            struct vnode *root = vfs_root();
            struct ext2 *fs = EXT2(root->mount);
            vrele(root);
            uint32_t free = fs->super.free_blocks;
            CHECK_EQUAL(vfs_remove(0, "f0", false), 0);
            CHECK(fs->errors && fs->super.free_blocks == free);
            CHECK_EQUAL(vfs_unmount_all(), 0);
            exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && !status);
    }
}

/* Copies of the superblock only where sparse_super2 has them: the other places belong to files. */
HOST_TEST(copies_of_the_superblock_are_where_the_features_say)
{
    static const char *const of[] = {"none,filetype", "none,filetype,sparse_super", "none,filetype,sparse_super2",
                                     "none,filetype,sparse_super2 -E num_backup_sb=1",
                                     "none,filetype,sparse_super2 -E num_backup_sb=0"};
    for (unsigned i = 0; i < sizeof of / sizeof of[0]; i++) {
        pid_t child = fork();
        if (!child) {
            static uint8_t data[20000];
            features = of[i];
            begin(2048, "-b 1024 -I 128 -N 128 -g 256 -m 0", 32, 20, i);
            struct vnode *root = vfs_root();
            const struct ext2 *fs = EXT2(root->mount);
            vrele(root);
            for (uint32_t g = 0; g < fs->groups; g++) {
                const struct ext2_super *copy = (const struct ext2_super *)(disk + (1 + g * 256) * 1024);
                const struct ext2_group *of = &fs->group[g]->disk;
                uint32_t first = 1 + g * 256;
                if (first != of->block_bitmap && first != of->inode_bitmap && first != of->inode_table)
                    CHECK_EQUAL(ext2_is_data_block(fs, first), copy->magic != EXT2_MAGIC);
            }
            for (unsigned n = 0; n < 95; n++) {
                char name[8];
                snprintf(name, sizeof name, "f%u", n);
                memset(data, (int)n, sizeof data);
                BOTH(name, pwrite_ours(name, 0, data, sizeof data), pwrite_theirs(name, 0, data, sizeof data));
            }
            same_tree(".");
            end();
            exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && !status);
    }
}

HOST_TEST(times_before_1970_are_less_than_0)
{
    begin(256, "-b 1024 -I 128 -N 32", 16, 8, 1);
    struct vnode *vp;
    struct vattr attr = {.atime = INT32_MIN, .mtime = -1};
    CHECK_EQUAL(pwrite_ours("f", 0, "x", 1), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    CHECK_EQUAL(vfs_setattr(vp, &attr, ATTR_TIMES), 0);
    vrele(vp);
    mount_again();
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    CHECK_EQUAL(vfs_getattr(vp, &attr), 0);
    long long times[] = {attr.atime, attr.mtime};
    CHECK(times[0] == INT32_MIN && times[1] == -1);
    vrele(vp);
    end();
}

/* Each kind of name, with and without a slash at its end, in each call by path: all return what the host's return. */
static const char *const kinds[] = {"m", "f", "e", "d", "lf", "le", "ld", "lm", "ll"};
#define KINDS (sizeof kinds / sizeof kinds[0])

static void make_kinds(void)
{
    static const char *const files[] = {"new", "m", "f", "lf", "le", "ld", "lm", "ll", "e/x", "d/x"};
    static const char *const folders[] = {"m/e", "m", "new", "e", "d/e", "d", "lm"};
    static const char *const links[][2] = {{"f", "lf"}, {"e", "le"}, {"d", "ld"}, {"m", "lm"}, {"ll", "ll"}};
    for (unsigned round = 0; round < 2; round++) { /* a folder may now have another one's files */
        for (unsigned i = 0; i < sizeof folders / sizeof folders[0]; i++) {
            char below[32];
            snprintf(below, sizeof below, "%s/x", folders[i]);
            vfs_remove(0, below, false), unlink(below);
        }
        for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++)
            vfs_remove(0, files[i], false), unlink(files[i]);
        for (unsigned i = 0; i < sizeof folders / sizeof folders[0]; i++)
            vfs_remove(0, folders[i], true), rmdir(folders[i]);
    }
    BOTH("f", vfs_make(0, "f", VREG, 0644, 0, 0), mknod("f", S_IFREG | 0644, 0));
    BOTH("e", vfs_make(0, "e", VDIR, 0755, 0, 0), mkdir("e", 0755));
    BOTH("d", vfs_make(0, "d", VDIR, 0755, 0, 0), mkdir("d", 0755));
    BOTH("d/x", vfs_make(0, "d/x", VREG, 0644, 0, 0), mknod("d/x", S_IFREG | 0644, 0));
    for (unsigned i = 0; i < 5; i++)
        BOTH(links[i][1], vfs_make(0, links[i][1], VLNK, 0777, 0, links[i][0]), symlink(links[i][0], links[i][1]));
}

static int open_ours(const char *path, unsigned flags)
{
    struct vnode *vp;
    int error = vfs_open(0, path, flags, 0644, &vp);
    if (!error)
        vrele(vp);
    return error;
}

static int open_theirs(const char *path, int flags)
{
    int fd = open(path, flags, 0644);
    return fd < 0 ? fd : close(fd);
}

static int stat_ours(const char *path, bool follow)
{
    struct vnode *vp;
    int error = namei(0, path, follow, &vp);
    if (!error)
        vrele(vp);
    return error;
}

static void every_call(const char *path)
{
    struct stat s;
    BOTH(path, stat_ours(path, true), stat(path, &s));
    BOTH(path, stat_ours(path, false), lstat(path, &s));
    BOTH(path, open_ours(path, 0), open_theirs(path, O_RDONLY));
    BOTH(path, open_ours(path, VFS_WRITE), open_theirs(path, O_RDWR));
    BOTH(path, open_ours(path, VFS_DIRECTORY), open_theirs(path, O_RDONLY | O_DIRECTORY));
    BOTH(path, open_ours(path, VFS_NOFOLLOW), open_theirs(path, O_RDONLY | O_NOFOLLOW));
    BOTH(path, open_ours(path, VFS_CREATE | VFS_EXCLUSIVE), open_theirs(path, O_RDONLY | O_CREAT | O_EXCL));
    make_kinds();
    BOTH(path, open_ours(path, VFS_CREATE), open_theirs(path, O_RDONLY | O_CREAT));
    make_kinds();
    BOTH(path, open_ours(path, VFS_CREATE | VFS_WRITE | VFS_TRUNCATE), open_theirs(path, O_RDWR | O_CREAT | O_TRUNC));
    make_kinds();
    BOTH(path, vfs_make(0, path, VREG, 0644, 0, 0), mknod(path, S_IFREG | 0644, 0));
    make_kinds();
    BOTH(path, vfs_make(0, path, VDIR, 0755, 0, 0), mkdir(path, 0755));
    make_kinds();
    BOTH(path, vfs_make(0, path, VLNK, 0777, 0, "to"), symlink("to", path));
    make_kinds();
    BOTH(path, vfs_link(0, "f", path), link("f", path));
    make_kinds();
    BOTH(path, vfs_link(0, path, "new"), link(path, "new"));
    make_kinds();
    BOTH(path, vfs_remove(0, path, false), unlink(path));
    make_kinds();
    BOTH(path, vfs_remove(0, path, true), rmdir(path));
    make_kinds();
}

HOST_TEST(a_slash_behind_a_name)
{
    static const char *const behind[] = {"", "/"};
    char from[16], to[16], both[40];
    begin(1024, "-b 1024 -I 128 -N 128", 30, 30, 1);
    make_kinds();
    for (unsigned i = 0; i < 2 * KINDS; i++) {
        snprintf(from, sizeof from, "%s%s", kinds[i / 2], behind[i % 2]);
        every_call(from);
        for (unsigned k = 0; k < 2 * KINDS; k++) {
            snprintf(to, sizeof to, "%s%s", kinds[k / 2], behind[k % 2]);
            snprintf(both, sizeof both, "%s to %s", from, to);
            int ours = vfs_rename(0, from, to);
            BOTH(both, ours, rename(from, to));
            if (!ours)
                make_kinds();
        }
    }
    CHECK_EQUAL(open_ours("new/", VFS_CREATE), host(open_theirs("new/", O_CREAT)));
    CHECK_EQUAL(vfs_remove(0, "/", false), -EISDIR);
    CHECK_EQUAL(vfs_remove(0, "/", true), -EBUSY);
    end();
}

HOST_TEST(names_and_mounts)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    char path[64];
    struct vnode *vp, *up;
    BOTH("a", vfs_make(0, "a", VDIR, 0755, 0, 0), mkdir("a", 0755));
    BOTH("a/b", vfs_make(0, "a/b/", VDIR, 0755, 0, 0), mkdir("a/b/", 0755));
    BOTH("link", vfs_make(0, "l", VLNK, 0777, 0, "a/b"), symlink("a/b", "l"));
    BOTH("circle", vfs_make(0, "o", VLNK, 0777, 0, "o"), symlink("o", "o"));
    BOTH("dangling", vfs_make(0, "d", VLNK, 0777, 0, "a/new"), symlink("a/new", "d"));
    BOTH("through it", pwrite_ours("d", 0, "x", 1), pwrite_theirs("d", 0, "x", 1));
    same("a/new");
    CHECK_EQUAL(namei(0, "l", false, &vp), 0);
    CHECK_EQUAL(vp->type, VLNK);
    vrele(vp);
    CHECK_EQUAL(namei(0, "/l/../b/./..//b", true, &vp), 0);
    CHECK_EQUAL(vfs_getcwd(vp, path, sizeof path), 4);
    CHECK_TEXT(path, "/a/b");
    CHECK_EQUAL(vfs_getcwd(vp, path, 4), -ERANGE);
    CHECK_EQUAL(namei(vp, "../..", true, &up), 0);
    CHECK_EQUAL(vfs_getcwd(up, path, sizeof path), 1);
    CHECK_TEXT(path, "/");
    vrele(up);
    CHECK_EQUAL(namei(vp, "../../..", true, &up), 0); /* the root is its own parent */
    vrele(up);
    CHECK_EQUAL(namei(0, "o", true, &up), -ELOOP);
    CHECK_EQUAL(namei(0, "", true, &up), -ENOENT);
    CHECK_EQUAL(namei(0, "a/new/x", true, &up), -ENOTDIR);
    CHECK_EQUAL(namei(0, "a/new/", true, &up), -ENOTDIR);
    char longest[300];
    memset(longest, 'n', sizeof longest);
    longest[256] = 0;
    BOTH("too long", vfs_make(0, longest, VDIR, 0755, 0, 0), mkdir(longest, 0755));
    longest[255] = 0;
    BOTH("as long as can be", vfs_make(0, longest, VDIR, 0755, 0, 0), mkdir(longest, 0755));
    BOTH("rmdir .", vfs_remove(0, ".", true), rmdir("."));
    BOTH("rmdir a/.", vfs_remove(0, "a/.", true), rmdir("a/."));
    BOTH("rmdir a/b/..", vfs_remove(0, "a/b/..", true), rmdir("a/b/.."));
    BOTH("rename into itself", vfs_rename(0, "a", "a/b/c"), rename("a", "a/b/c"));
    BOTH("rename over what it is in", vfs_rename(0, "a/b", "a"), rename("a/b", "a"));
    CHECK_EQUAL(vfs_remove(0, "a/b", true), 0); /* in use */
    rmdir("a/b");
    CHECK_EQUAL(vfs_make(vp, "x", VREG, 0644, 0, 0), -ENOENT);
    CHECK_EQUAL(namei(vp, "x", true, &up), -ENOENT);
    vrele(vp);
    same_tree(".");
    end();
}

HOST_TEST(a_removed_file_stays_while_it_is_open)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    struct vnode *vp;
    struct statfs_out before, open, after;
    struct uio uio;
    struct vnode *root = vfs_root();
    root->mount->ops->statfs(root->mount, &before);
    CHECK_EQUAL(pwrite_ours("f", 0, before.block_size ? "0123456789" : "", 10), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    CHECK_EQUAL(vfs_remove(0, "f", false), 0);
    CHECK_EQUAL(namei(0, "f", true, &root), -ENOENT);
    char text[16] = "";
    uio_kernel(&uio, text, 10, 0, false);
    CHECK_EQUAL(vfs_read(vp, &uio), 0);
    CHECK_TEXT(text, "0123456789");
    vp->mount->ops->statfs(vp->mount, &open);
    CHECK_EQUAL(before.files_free - open.files_free, 1);
    struct mount *m = vp->mount;
    CHECK_EQUAL(m->ops->unmount(m), -EBUSY);
    vrele(vp);
    m->ops->statfs(m, &after);
    CHECK_EQUAL(after.files_free, before.files_free);
    CHECK_EQUAL(after.blocks_free, before.blocks_free);
    struct vnode *again = vfs_root();
    vrele(again);
    vrele(again);
    end();
}

/* A search for room takes it off the list while it is in use, and its changer tells the last user. */
HOST_TEST(an_inode_that_nobody_has_is_on_the_list_once)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 3, 1);
    struct vnode *vp, *again, *other;
    struct uio uio;
    char name[] = "0";
    for (; *name < '8'; ++*name)
        CHECK_EQUAL(vfs_make(0, name, VREG, 0644, 0, 0), 0);
    CHECK_EQUAL(namei(0, "0", true, &vp), 0);
    struct inode *ip = INODE(vp);
    CHECK(!ip->listed);
    vrele(vp);
    CHECK(ip->listed && !ip->references);
    CHECK_EQUAL(namei(0, "0", true, &vp), 0);
    CHECK(ip->listed);
    for (*name = '1'; *name < '8'; ++*name) {
        CHECK_EQUAL(namei(0, name, true, &other), 0);
        vrele(other);
    }
    CHECK(!ip->listed);
    CHECK_EQUAL(namei(0, "0", true, &again), 0);
    CHECK(again == vp);
    vrele(again);
    vrele(vp);
    CHECK(ip->listed && !ip->references);
    CHECK_EQUAL(namei(0, "0", true, &vp), 0);
    CHECK_EQUAL(namei(0, "0", true, &again), 0);
    CHECK_EQUAL(ip->references, 2);
    uio_kernel(&uio, name, 1, 0, true);
    CHECK_EQUAL(vfs_write(vp, &uio, false), 0);
    vrele(vp);
    CHECK(ip->references != 1);
    vrele(again);
    CHECK(ip->listed && *ip->free.tqe_prev == ip && TAILQ_NEXT(ip, free) != ip && !ip->references && !ip->dirty);
    end();
}

HOST_TEST(a_pointer_to_what_is_the_file_systems_own_is_not_written_to)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    struct vnode *vp;
    struct uio uio;
    CHECK_EQUAL(pwrite_ours("f", 0, "0123456789", 10), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    struct ext2 *fs = INODE(vp)->fs;
    uint32_t right = INODE(vp)->disk.block[0],
             own[] = {1, fs->group[0]->disk.block_bitmap, fs->group[0]->disk.inode_table};
    for (unsigned i = 0; i < sizeof own / sizeof own[0]; i++) {
        INODE(vp)->disk.block[0] = own[i];
        uio_kernel(&uio, "x", 1, 0, true);
        CHECK_EQUAL(vfs_write(vp, &uio, false), -EIO);
    }
    CHECK_EQUAL(fs->errors, sizeof own / sizeof own[0]);
    fs->errors = 0;
    INODE(vp)->disk.block[0] = right;
    vrele(vp);
    end();
}

/* As may happen when a device gets another file system. */
HOST_TEST(a_block_of_another_size_is_read_again)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    uint32_t sector = device.sectors - 4;
    for (unsigned i = 0; i < 2048; i++)
        disk[sector * 512 + i] = (uint8_t)(i + i / 256 + 1);
    for (uint32_t size = 1024; size <= 2048; size *= 2) {
        struct buf *bp = bread(&device, sector, size);
        CHECK(!bp->error && !memcmp(bp->data, disk + sector * 512, size));
        brelse(bp);
    }
    memset(disk + sector * 512, 0, 2048);
    end();
}

/* Fills it and frees all again: what does not fit gives -ENOSPC, existing contents stay right. */
HOST_TEST(a_full_device)
{
    begin(256, "-b 1024 -I 128 -N 32", 16, 40, 1);
    struct statfs_out before, after;
    struct vnode *root = vfs_root();
    struct mount *m = root->mount;
    vrele(root);
    m->ops->statfs(m, &before);
    static uint8_t data[20000];
    unsigned made = 0;
    int error = 0;
    char name[16];
    for (; !error && made < 40; made++) {
        snprintf(name, sizeof name, "f%u", made);
        error = pwrite_ours(name, 0, data, sizeof data);
    }
    CHECK_EQUAL(error, -ENOSPC);
    for (error = 0, made = 0; !error; made++) {
        snprintf(name, sizeof name, "d%u", made);
        error = vfs_make(0, name, VDIR, 0755, 0, 0);
    }
    CHECK_EQUAL(error, -ENOSPC);
    for (error = 0; !error; made++) {
        snprintf(name, sizeof name, "i%u", made);
        error = vfs_make(0, name, VREG, 0644, 0, 0);
    }
    CHECK_EQUAL(error, -ENOSPC);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "f%u", i);
        vfs_remove(0, name, false);
        snprintf(name, sizeof name, "i%u", i);
        vfs_remove(0, name, false);
        snprintf(name, sizeof name, "d%u", i);
        vfs_remove(0, name, true);
    }
    nothing_is_held();
    m->ops->statfs(m, &after);
    CHECK_EQUAL(after.files_free, before.files_free);
    CHECK(before.blocks_free - after.blocks_free <= 4); /* the root directory has grown */
    end();
}

/* A write that ends early frees what it allocated: no block is left behind a file's end, or after its removal. */
static int move_fails(struct uio *uio, void *data, uint32_t n)
{
    (void)uio, (void)data, (void)n;
    return -EFAULT;
}

HOST_TEST(a_write_that_cannot_read_its_source)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    struct vnode *vp;
    struct statfs_out before, after;
    CHECK_EQUAL(vfs_make(0, "stays", VREG, 0644, 0, 0), 0);
    CHECK_EQUAL(vfs_open(0, "goes", VFS_CREATE | VFS_WRITE, 0644, &vp), 0);
    vp->mount->ops->statfs(vp->mount, &before);
    for (unsigned i = 0; i < 3; i++) {
        struct uio uio = {.offset = i * 200000ull, .left = 2000, .write = true, .move = move_fails};
        CHECK_EQUAL(vfs_write(vp, &uio, false), -EFAULT);
    }
    vp->mount->ops->statfs(vp->mount, &after);
    CHECK_EQUAL(after.blocks_free, before.blocks_free);
    CHECK_EQUAL(ext2_size(INODE(vp)), 0);
    vrele(vp);
    CHECK_EQUAL(namei(0, "stays", true, &vp), 0);
    struct uio uio = {.offset = 200000, .left = 2000, .write = true, .move = move_fails};
    CHECK_EQUAL(vfs_write(vp, &uio, false), -EFAULT);
    vrele(vp);
    CHECK_EQUAL(vfs_remove(0, "goes", false), 0);
    end();
}

/* A directory that was removed while in use has no entries, and no operation on it does harm. */
HOST_TEST(a_removed_directory_leads_nowhere)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    struct vnode *vp, *other;
    CHECK_EQUAL(vfs_make(0, "a", VDIR, 0755, 0, 0), 0);
    CHECK_EQUAL(vfs_make(0, "a/b", VDIR, 0755, 0, 0), 0);
    CHECK_EQUAL(vfs_make(0, "f", VDIR, 0755, 0, 0), 0);
    CHECK_EQUAL(namei(0, "a/b", true, &vp), 0);
    CHECK_EQUAL(vfs_remove(0, "a/b", true), 0);
    CHECK_EQUAL(vfs_remove(0, "a", true), 0);
    CHECK_EQUAL(vfs_rename(vp, "/f", "x"), -ENOENT);
    CHECK_EQUAL(vfs_open(vp, ".", VFS_CREATE, 0644, &other), -ENOENT); /* and it ends */
    CHECK_EQUAL(vfs_open(vp, "..", VFS_CREATE, 0644, &other), -ENOENT);
    CHECK_EQUAL(EXT2(vp->mount)->errors, 0);
    vrele(vp);
    end();
}

HOST_TEST(a_device_is_mounted_once)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    struct mount *m;
    CHECK_EQUAL(ext2_mount(&device, false, &m), -EBUSY);
    CHECK_EQUAL(ext2_mount(&device, true, &m), -EBUSY);
    CHECK_EQUAL(vfs_make(0, "a", VDIR, 0755, 0, 0), 0);
    CHECK_EQUAL(vfs_unmount_all(), 0);
    CHECK_EQUAL(ext2_mount(&device, true, &m), 0);
    CHECK_EQUAL(vfs_mount_root(m), 0);
    CHECK_EQUAL(vfs_make(0, "b", VDIR, 0755, 0, 0), -EROFS);
    end();
}

/* What sync has acknowledged is there after a power cut, files that are still open included. */
HOST_TEST(sync_writes_open_files)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    struct vnode *vp;
    struct uio uio;
    CHECK_EQUAL(vfs_open(0, "f", VFS_CREATE | VFS_WRITE, 0644, &vp), 0);
    uio_kernel(&uio, "0123456789", 10, 0, true);
    CHECK_EQUAL(vfs_write(vp, &uio, false), 0);
    CHECK_EQUAL(vfs_sync(), 0);
    CHECK_EQUAL(pendings, 0);
    writes_left = 0;
    write_image();
    shell("PATH=$PATH:/usr/sbin:/sbin; debugfs -R 'cat /f' %s 2>/dev/null | grep -q '^0123456789$'", image);
    vrele(vp);
}

/* The device's contents, without what is only in buffers. */
static const uint8_t *on_disk(const struct ext2 *fs, uint32_t block)
{
    return disk + (size_t)block * fs->block_size;
}

static const struct ext2_inode *inode_on_disk(const struct inode *ip)
{
    CHECK(ip->number <= ip->fs->super.inodes_per_group);
    return (const struct ext2_inode *)(on_disk(ip->fs, ip->fs->group[0]->disk.inode_table) +
                                       (ip->number - 1) * ip->fs->inode_size);
}

/* Nothing on the device points to what is not written yet, or already free. */
HOST_TEST(what_points_is_written_behind_what_it_points_to)
{
    begin(1024, "-b 1024 -I 128 -N 128", 64, 20, 1);
    struct vnode *root = vfs_root();
    const struct ext2 *fs = EXT2(root->mount);
    uint32_t first = fs->group[0]->disk.inode_table + fs->table_blocks + 1; /* behind the root's */
    vrele(root);
    memset(disk + first * 1024, 0xaa, disk_size - first * 1024); /* the contents of free blocks */
    struct vnode *vp;
    static const uint8_t zeros[1024];
    CHECK_EQUAL(vfs_make(0, "d", VDIR, 0755, 0, 0), 0);
    CHECK_EQUAL(namei(0, "d", true, &vp), 0);
    CHECK_EQUAL(inode_on_disk(INODE(vp))->links, 2);
    CHECK_EQUAL(*(const uint32_t *)on_disk(INODE(vp)->fs, inode_on_disk(INODE(vp))->block[0]), INODE(vp)->number);
    vrele(vp);
    CHECK_EQUAL(pwrite_ours("f", 200 * 1024, "x", 1), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    struct inode *ip = INODE(vp);
    CHECK(!memcmp(on_disk(ip->fs, ip->disk.block[12]), zeros, 700));
    CHECK_EQUAL(vfs_fsync(vp), 0);
    CHECK_EQUAL(inode_on_disk(ip)->block[12], ip->disk.block[12]);
    CHECK_EQUAL(vfs_truncate(vp, 0), 0);
    CHECK_EQUAL(inode_on_disk(ip)->block[12], 0);
    CHECK_EQUAL(inode_on_disk(ip)->size, 0);
    vrele(vp);
    end();
}

/* The device's operations, in order: a sector that is written, or a flush (-1). */
static int64_t happened[256];
static unsigned happened_count;

static void a_write_happened(uint32_t sector, const uint8_t *data, uint32_t size)
{
    (void)data, (void)size;
    CHECK(happened_count < 256);
    happened[happened_count++] = sector;
}

static int a_flush_happened(struct blockdev *d)
{
    (void)d;
    a_write_happened(0, 0, 0);
    happened[happened_count - 1] = -1;
    return 0;
}

/* The last write to a block of `fs`, from `from` on. */
static unsigned write_of(const struct ext2 *fs, uint32_t block, unsigned from)
{
    unsigned found = UINT32_MAX;
    for (unsigned i = from; i < happened_count; i++)
        found = happened[i] == (int64_t)block * fs->sectors_per_block ? i : found;
    if (found == UINT32_MAX)
        host_failed(__FILE__, __LINE__, "block %u is not written", block);
    return found;
}

static bool flush_behind(unsigned from)
{
    bool found = false;
    for (unsigned i = from; i < happened_count; i++)
        found |= happened[i] == -1;
    return found;
}

/* Without a journal: a flush lies between writes that a drive's cache could reorder. */
HOST_TEST(what_must_not_be_turned_about_is_flushed_between)
{
    begin(1024, "-b 1024 -I 128 -N 128", 64, 20, 1);
    static uint8_t data[20000];
    struct vnode *vp, *root = vfs_root();
    struct ext2 *fs = EXT2(root->mount);
    uint32_t inodes = fs->group[0]->disk.inode_table + 1, names = INODE(root)->disk.block[0];
    vrele(root);
    device.flush = a_flush_happened;
    written = a_write_happened;
    CHECK_EQUAL(pwrite_ours("f", 0, data, sizeof data), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    uint32_t last; /* not a whole block, so delayed */
    CHECK_EQUAL(ext2_bmap(INODE(vp), 19, false, &last, 0, 0), 0);
    happened_count = 0;
    CHECK_EQUAL(vfs_make(0, "g", VREG, 0644, 0, 0),
                0); /* its inode is in the same block as the one that leads to f's contents */
    unsigned written_last = write_of(fs, last, 0), pointed = write_of(fs, inodes, 0);
    CHECK(written_last < pointed && !flush_behind(pointed) && flush_behind(written_last));
    happened_count = 0;
    CHECK_EQUAL(vfs_truncate(vp, 500), 0); /* its blocks are freed after it has none */
    CHECK(flush_behind(write_of(fs, inodes, 0)));
    vrele(vp);
    happened_count = 0;
    CHECK_EQUAL(vfs_rename(0, "f", "h"), 0); /* one name or the other */
    unsigned first = 0, second;
    while (happened[first] != (int64_t)names * 2)
        first++;
    second = write_of(fs, names, 0);
    CHECK(first < second && flush_behind(first));
    CHECK_EQUAL(vfs_link(0, "h", "i"), 0);
    happened_count = 0;
    CHECK_EQUAL(vfs_remove(0, "h", false), 0);
    CHECK_EQUAL(happened[0], -1); /* the other name */
    written = 0;
    end();
}

/* With a journal: contents, flush, the log, flush, its commit, flush; and nothing is written to its place. */
HOST_TEST(a_commit_is_the_last_of_its_transaction)
{
    with_a_journal();
    begin(2200, "-b 1024 -I 128 -N 128", 80, 20, 1);
    static uint8_t data[5000];
    static struct inode journal;
    struct vnode *vp;
    CHECK_EQUAL(pwrite_ours("f", 0, data, sizeof data), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    CHECK_EQUAL(ext2_inode_on_disk(INODE(vp)->fs, 8, &journal), 0);
    device.flush = a_flush_happened;
    written = a_write_happened;
    happened_count = 0;
    device.unflushed = 1;
    CHECK_EQUAL(vfs_fsync(vp), 0);
    written = 0;
    unsigned flushes = 0, in_log = 0;
    for (unsigned i = 0; i < happened_count; i++) {
        bool log = false;
        uint32_t block;
        for (uint32_t n = 1; n < 64 && !log && happened[i] >= 0; n++) {
            CHECK_EQUAL(ext2_bmap(&journal, n, false, &block, 0, 0), 0);
            log = happened[i] == 2 * (int64_t)block;
        }
        flushes += happened[i] == -1;
        in_log += log;
        if (happened[i] >= 0)
            CHECK_EQUAL(flushes, log ? i + 2 < happened_count ? 1 : 2 : 0); /* the last of them is the commit */
    }
    CHECK(flushes == 3 && in_log > 5 && happened[happened_count - 1] == -1);
    vrele(vp);
    end();
}

/*
 * Pointers that all lead to one block, their own included: the error is noticed before all of them have been followed.
 */
HOST_TEST(a_tree_that_leads_into_itself)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    static uint8_t data[3000];
    struct vnode *vp;
    CHECK_EQUAL(pwrite_ours("f", 12 * 1024, data, sizeof data), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    struct inode *ip = INODE(vp);
    uint32_t block = ip->disk.block[12];
    struct buf *bp = ext2_bread(ip->fs, block);
    for (unsigned i = 0; i < 256; i++)
        ((uint32_t *)bp->data)[i] = block;
    CHECK_EQUAL(bwrite(bp), 0);
    ip->disk.block[14] = block;
    uint32_t before = bufstats.hits;
    CHECK_EQUAL(vfs_truncate(vp, 0), -EIO);
    CHECK(bufstats.hits - before < 4000);
    vrele(vp);
    CHECK_EQUAL(vfs_unmount_all(), 0);
}

/* A directory has no holes, so it is not larger than the device: no search in it takes hours. */
HOST_TEST(a_directory_larger_than_the_device)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    struct vnode *vp;
    CHECK_EQUAL(vfs_make(0, "a", VDIR, 0755, 0, 0), 0);
    CHECK_EQUAL(namei(0, "a", true, &vp), 0);
    struct inode *ip = INODE(vp);
    ip->disk.size = 1025 * 1024;
    ip->dirty = true;
    CHECK_EQUAL(ext2_update(ip, true), 0);
    vrele(vp);
    CHECK_EQUAL(vfs_unmount_all(), 0);
    struct mount *m;
    CHECK_EQUAL(ext2_mount(&device, false, &m), 0);
    CHECK_EQUAL(vfs_mount_root(m), 0);
    CHECK_EQUAL(namei(0, "a", true, &vp), -EIO);
    CHECK_EQUAL(vfs_unmount_all(), 0);
}

static const uint8_t zeros_of_a_test[2048];

static void visit(const char *path, unsigned depth);

static void remount(void)
{
    struct mount *m;
    CHECK_EQUAL(ext2_mount(&device, false, &m), 0);
    CHECK_EQUAL(vfs_mount_root(m), 0);
}

/* A file that is cut keeps its blocks if its inode cannot be written: on the device it still has them. */
HOST_TEST(blocks_are_not_free_before_the_inode_is_written)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    static uint8_t data[30000];
    struct vnode *vp;
    struct statfs_out before, after;
    CHECK_EQUAL(pwrite_ours("f", 0, data, sizeof data), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    CHECK_EQUAL(vfs_fsync(vp), 0);
    const struct inode *ip = INODE(vp);
    vfs_statfs(vp, &before);
    bad_sector = (ip->fs->group[0]->disk.inode_table + (ip->number - 1) / ip->fs->inodes_per_block) * 2;
    CHECK_EQUAL(vfs_truncate(vp, 500), -EIO);
    vfs_statfs(vp, &after);
    CHECK_EQUAL(after.blocks_free, before.blocks_free);
    CHECK_EQUAL(ext2_size(ip), sizeof data);
    bad_sector = UINT32_MAX;
    device.write_error = 0;
    CHECK_EQUAL(vfs_truncate(vp, 500), 0);
    vfs_statfs(vp, &after);
    CHECK_EQUAL(after.blocks_free, before.blocks_free + 30); /* 29 of 30, and the indirect one */
    vrele(vp);
    end();
}

/*
 * A directory cannot grow: the name is not there, all others are, and the image is sound; also where it needs its
 * indirect block.
 */
HOST_TEST(a_directory_that_cannot_grow)
{
    for (unsigned left = 0; left < 4; left++) {
        pid_t child = fork();
        if (!child) {
            begin(256, "-b 1024 -I 128 -N 128", 16, 20, left);
            static uint8_t data[200000];
            static const unsigned room[] = {1, 2, 12, 13}; /* blocks that are left to directories */
            char name[300];
            struct vnode *vp;
            struct statfs_out now;
            CHECK_EQUAL(vfs_make(0, "d", VDIR, 0755, 0, 0), 0);
            CHECK_EQUAL(vfs_make(0, "f", VREG, 0755, 0, 0), 0);
            CHECK_EQUAL(namei(0, "d", true, &vp), 0);
            for (uint64_t at = 0;; at += 1024) {
                vfs_statfs(vp, &now);
                if (now.blocks_free <= room[left])
                    break;
                CHECK_EQUAL(pwrite_ours("full", at, data, 1024), 0);
            }
            unsigned made = 0;
            int error;
            do {
                memset(name, 'x', sizeof name);
                snprintf(name + 240, 20, "%u", made);
                memcpy(name, "d/", 2);
                error = vfs_link(0, "f", name);
                made += !error;
            } while (!error);
            CHECK_EQUAL(error, -ENOSPC);
            CHECK(made >= 3 * room[left]);
            struct vnode *none;
            CHECK_EQUAL(namei(0, name, true, &none), -ENOENT);
            CHECK_EQUAL(vfs_make(0, "other", VDIR, 0755, 0, 0), -ENOSPC);
            CHECK_EQUAL(vfs_make(0, "d/y", VREG, 0644, 0, 0), 0); /* there is room behind the last long name */
            CHECK_EQUAL(EXT2(vp->mount)->errors, 0);
            vrele(vp);
            end();
            exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        if (status)
            host_failed(__FILE__, __LINE__, "with room %u", left);
    }
}

/* After a power cut the counts are old: the bitmaps say what is free. */
HOST_TEST(counts_of_a_cut_are_not_believed)
{
    begin(1024, "-b 1024 -I 128 -N 128 -g 256", 16, 20, 1);
    static uint8_t data[100000];
    struct statfs_out before, after;
    struct vnode *root = vfs_root();
    vfs_statfs(root, &before);
    vrele(root);
    CHECK_EQUAL(vfs_unmount_all(), 0);
    struct ext2_super *super = (struct ext2_super *)(disk + 1024);
    struct ext2_group *groups = (struct ext2_group *)(disk + 2048);
    super->state &= ~EXT2_VALID;
    super->free_blocks = super->free_inodes = 0;
    for (unsigned i = 0; i < 4; i++)
        groups[i].free_blocks = groups[i].free_inodes = i % 2 ? 0 : 65535;
    remount();
    root = vfs_root();
    vfs_statfs(root, &after);
    vrele(root);
    CHECK(after.blocks_free == before.blocks_free && after.files_free == before.files_free);
    CHECK_EQUAL(pwrite_ours("f", 0, data, sizeof data), 0);
    CHECK_EQUAL(vfs_make(0, "d", VDIR, 0755, 0, 0), 0);
    end();
}

/* If the superblock says that it was unmounted they are believed, and count down to 0. */
HOST_TEST(counts_do_not_pass_below_0)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    struct statfs_out now;
    CHECK_EQUAL(vfs_unmount_all(), 0);
    ((struct ext2_super *)(disk + 1024))->free_blocks = 1;
    remount();
    CHECK_EQUAL(pwrite_ours("f", 0, zeros_of_a_test, sizeof zeros_of_a_test), 0);
    struct vnode *root = vfs_root();
    vfs_statfs(root, &now);
    vrele(root);
    CHECK_EQUAL(now.blocks_free, 0);
    CHECK_EQUAL(vfs_unmount_all(), 0);
}

/*
 * Transactions that debugfs writes into a journal: in one, a block twice, a revoked one, one that begins as the
 * journal's own blocks do, and one transaction without an end. e2fsck and this kernel replay it alike, except for the
 * superblock.
 */
static void journalled_image(void)
{
    host_folder(folder, "ext2");
    atexit(clean_up);
    snprintf(image, sizeof image, "%s/image", folder);
    shell("PATH=$PATH:/usr/sbin:/sbin; cd %s; truncate -s 4M image; mke2fs -q -F -t ext2 -O "
          "none,filetype,sparse_super,has_journal -J size=1 -b 1024 -I 128 -N 128 -U %s -E hash_seed=%s image"
          " >/dev/null 2>&1",
          folder, SAME_UUID, SAME_UUID);
    shell("cd %s; for i in 1 2 3 4 5 6; do head -c 5000 /dev/zero | tr '\\0' $i | head -c 3072 >part$i; done; "
          "printf '\\300\\073\\071\\230' >magic; head -c 1020 part6 >>magic; cat part? >all",
          folder);
    shell("cd %s; printf '%%s\\n' jo 'jw -b 3000,3001,3002 part1' 'jw -b 3001,3010,3011 part2' 'jw -r 3000,3011' "
          "'jw -b 3000 part3' 'jw -b 3020 magic' 'jw -b 3002,3004,3006 part4' 'jw -c -b 3007 part5' jc >commands",
          folder);
    shell("PATH=$PATH:/usr/sbin:/sbin; cd %s; debugfs -w -f commands image >/dev/null 2>&1; cp image theirs; e2fsck -E "
          "journal_only -y theirs >/dev/null 2>&1 || [ $? -eq 1 ]",
          folder);
    read_image();
    chance = random_from(1, 1);
    pages_init(BASE, BASE + sizeof memory);
    host_lock_waits = others_run;
    bio_start(16, 8);
    inodes_init(20);
    namecache_init();
}

HOST_TEST(a_journal_is_carried_out_as_by_e2fsck)
{
    journalled_image();
    static uint8_t theirs[4 << 20];
    char path[128];
    snprintf(path, sizeof path, "%s/theirs", folder);
    FILE *file = fopen(path, "r");
    CHECK(file && fread(theirs, 1, sizeof theirs, file) == sizeof theirs);
    fclose(file);
    struct ext2_super *super = (struct ext2_super *)(disk + 1024);
    CHECK(super->incompat & EXT2_INCOMPAT_RECOVER);
    CHECK_EQUAL(disk[3000 * 1024], 0);
    struct mount *m;
    CHECK_EQUAL(ext2_mount(&device, true, &m), -EINVAL); /* not read-only */
    remount();
    CHECK_EQUAL(vfs_unmount_all(), 0);
    CHECK(!(super->incompat & EXT2_INCOMPAT_RECOVER));
    unsigned differ = 0;
    for (unsigned i = 2048; i < sizeof theirs; i += 1024)
        differ += memcmp(disk + i, theirs + i, 1024) != 0;
    CHECK_EQUAL(differ, 0); /* the journal's first block included */
    CHECK(disk[3000 * 1024] == '3' && disk[3001 * 1024] == '2' && disk[3011 * 1024] == 0);
    CHECK(disk[3020 * 1024] == 0xc0 && disk[3020 * 1024 + 3] == 0x98 && disk[3002 * 1024] == '4' && !disk[3007 * 1024]);
    fsck();
    remount(); /* and it is empty now */
    end();
}

HOST_TEST(damaged_journals)
{
    journalled_image();
    static uint8_t sound[4 << 20];
    memcpy(sound, disk, sizeof sound);
    uint32_t journal = 0;
    for (uint32_t i = 2; i < 4096 && !journal; i++)
        journal = !memcmp(sound + i * 1024, "\300\073\071\230\0\0\0\4", 8) ? i : 0;
    CHECK(journal);
    for (uint32_t n = 0; n < 300; n++) {
        chance = random_from(n, 3);
        memcpy(disk, sound, sizeof sound);
        for (unsigned i = 1 + random_below(&chance, 6); i; i--) {
            uint32_t block = journal + random_below(&chance, 28), at = random_below(&chance, 3) ? 72 : 1024;
            disk[block * 1024 + random_below(&chance, at)] = random_below(&chance, 256);
        }
        struct mount *m;
        if (!ext2_mount(&device, false, &m)) {
            vfs_mount_root(m);
            visit("/", 0);
            vfs_unmount_all();
        }
        nothing_is_held();
        CHECK_EQUAL(bio_busy(), 0);
        host_output_clear();
    }
}

/*
 * With a journal: freed blocks cannot be allocated until their transaction is committed; if no others are left, it is
 * committed.
 */
HOST_TEST(what_is_freed_is_held_until_the_commit)
{
    with_a_journal();
    begin(2200, "-b 1024 -I 128 -N 128 -m 0", 80, 20, 1);
    static uint8_t data[100 * 1024];
    struct vnode *f, *g;
    uint32_t freed[12];
    CHECK_EQUAL(pwrite_ours("f", 0, data, 12 * 1024), 0);
    CHECK_EQUAL(namei(0, "f", true, &f), 0);
    CHECK(EXT2(f->mount)->log);
    CHECK_EQUAL(vfs_fsync(f), 0);
    memcpy(freed, INODE(f)->disk.block, sizeof freed);
    CHECK_EQUAL(vfs_truncate(f, 0), 0);
    CHECK_EQUAL(pwrite_ours("g", 0, data, 12 * 1024), 0);
    CHECK_EQUAL(namei(0, "g", true, &g), 0);
    for (unsigned i = 0; i < 144; i++)
        CHECK(INODE(g)->disk.block[i / 12] != freed[i % 12]);
    struct statfs_out now;
    vfs_statfs(f, &now);
    CHECK(now.blocks_free > 20);
    for (uint64_t at = 0; at < (now.blocks_free - 6) * 1024ull; at += 1024)
        CHECK_EQUAL(pwrite_ours("g", 12 * 1024 + at, data, 1024), 0);
    vrele(f);
    vrele(g);
    end();
}

/* With a journal: a crash does not replace a file's contents by the directory that the log has of that block. */
HOST_TEST(what_is_revoked_does_not_come_back)
{
    with_a_journal();
    begin(2200, "-b 1024 -I 128 -N 128", 80, 20, 1);
    static uint8_t data[12 * 1024];
    memset(data, 'x', sizeof data);
    struct vnode *vp;
    CHECK_EQUAL(vfs_make(0, "d", VDIR, 0755, 0, 0), 0);
    CHECK_EQUAL(namei(0, "d", true, &vp), 0);
    uint32_t block = INODE(vp)->disk.block[0];
    bool used = false;
    CHECK(EXT2(vp->mount)->log);
    vrele(vp);
    CHECK_EQUAL(vfs_sync(), 0);
    CHECK_EQUAL(vfs_remove(0, "d", true), 0);
    CHECK_EQUAL(vfs_sync(), 0);
    for (unsigned n = 0; n < 80 && !used; n++) {
        char name[8];
        snprintf(name, sizeof name, "f%u", n);
        CHECK_EQUAL(pwrite_ours(name, 0, data, sizeof data), 0);
        CHECK_EQUAL(namei(0, name, true, &vp), 0);
        CHECK_EQUAL(vfs_fsync(vp), 0);
        for (unsigned i = 0; i < 12; i++)
            used |= INODE(vp)->disk.block[i] == block;
        vrele(vp);
    }
    CHECK(used && disk[block * 1024] == 'x');
    write_image();
    shell("PATH=$PATH:/usr/sbin:/sbin; e2fsck -fy %s >/dev/null 2>&1; [ $? -le 1 ]", image);
    read_image();
    CHECK_EQUAL(disk[block * 1024], 'x');
}

/* Bitmaps and tables in the place of a file's contents, or of each other: the image is not mounted. */
HOST_TEST(what_lies_in_another_place_is_not_mounted)
{
    begin(1024, "-b 1024 -I 128 -N 128 -g 256", 16, 20, 1);
    CHECK_EQUAL(vfs_unmount_all(), 0);
    struct ext2_group *groups = (struct ext2_group *)(disk + 2048), sound[4];
    struct mount *m;
    memcpy(sound, groups, sizeof sound);
    for (unsigned i = 0; i < 10; i++) {
        memcpy(groups, sound, sizeof sound);
        switch (i) {
        case 0: groups[1].block_bitmap = sound[2].block_bitmap + 100; break;
        case 1: groups[1].inode_bitmap = sound[2].inode_bitmap; break;
        case 2: groups[1].inode_table = sound[3].inode_table; break;
        case 3: groups[2].block_bitmap = groups[2].inode_table; break;
        case 4: groups[2].inode_bitmap = groups[2].inode_table + 3; break;
        case 5: groups[0].block_bitmap = 1; break;
        case 6: groups[3].inode_table = 1024 - 3; break;
        case 7: groups[3].block_bitmap = groups[3].inode_bitmap; break;
        case 8: groups[1].inode_table = 257; break; /* the superblock's copy */
        case 9: groups[3].inode_bitmap = 1024; break;
        }
        CHECK_EQUAL(ext2_mount(&device, false, &m), -EIO);
        nothing_is_held();
    }
    memcpy(groups, sound, sizeof sound);
    host_output_clear();
    remount();
    end();
}

/* At the limits: where a symbolic link's text lies, the longest names, links. */
HOST_TEST(limits)
{
    begin(1024, "-b 1024 -I 128 -N 128", 16, 20, 1);
    static const uint32_t lengths[] = {1, 59, 60, 61, 1023};
    char text[2000], name[300], back[PATH_MOST];
    struct vnode *vp;
    memset(text, 't', sizeof text);
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        text[lengths[i]] = 0;
        snprintf(name, sizeof name, "l%u", i);
        BOTH(name, vfs_make(0, name, VLNK, 0777, 0, text), symlink(text, name));
        CHECK_EQUAL(namei(0, name, false, &vp), 0);
        CHECK_EQUAL(INODE(vp)->disk.sectors, lengths[i] < 60 ? 0 : 2);
        CHECK_EQUAL(vfs_readlink(vp, back, sizeof back), lengths[i]);
        CHECK_EQUAL(vfs_readlink(vp, back, 5), MIN(lengths[i], 5));
        vrele(vp);
        text[lengths[i]] = 't';
    }
    text[1024] = 0;
    CHECK_EQUAL(vfs_make(0, "l", VLNK, 0777, 0, text), -ENAMETOOLONG);
    BOTH("d", vfs_make(0, "d", VDIR, 0755, 0, 0), mkdir("d", 0755));
    for (unsigned i = 0; i < 20; i++) { /* several blocks, and room that is used again */
        snprintf(name, sizeof name, "d/%0255u", i);
        BOTH(name, vfs_make(0, name, VREG, 0644, 0, 0), mknod(name, S_IFREG | 0644, 0));
    }
    CHECK_EQUAL(namei(0, "d", false, &vp), 0);
    uint32_t size = INODE(vp)->disk.size;
    CHECK_EQUAL(size, 7 * 1024);
    for (unsigned i = 0; i < 20; i += 2) {
        snprintf(name, sizeof name, "d/%0255u", i);
        BOTH(name, vfs_remove(0, name, false), unlink(name));
    }
    for (unsigned i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "d/%0254u", i);
        BOTH(name, vfs_make(0, name, VREG, 0644, 0, 0), mknod(name, S_IFREG | 0644, 0));
    }
    CHECK_EQUAL(INODE(vp)->disk.size, size);
    same_tree(".");
    BOTH("x", vfs_make(0, "x", VDIR, 0755, 0, 0), mkdir("x", 0755));
    for (unsigned i = 0; i < 4; i++) { /* the last one finds 4 bytes too few behind the others */
        snprintf(name, sizeof name, i < 3 ? "x/%0244u" : "x/%0237u", i);
        BOTH(name, vfs_make(0, name, VREG, 0644, 0, 0), mknod(name, S_IFREG | 0644, 0));
    }
    same("x");
    uint16_t links = INODE(vp)->disk.links;
    INODE(vp)->disk.links = EXT2_LINKS_MOST;
    CHECK_EQUAL(vfs_make(0, "d/e", VDIR, 0755, 0, 0), -EMLINK);
    CHECK_EQUAL(vfs_make(0, "e", VDIR, 0755, 0, 0), 0);
    CHECK_EQUAL(vfs_rename(0, "e", "d/e"), -EMLINK);
    INODE(vp)->disk.links = links;
    vrele(vp);
    CHECK_EQUAL(vfs_make(0, "f", VREG, 0644, 0, 0), 0);
    CHECK_EQUAL(namei(0, "f", false, &vp), 0);
    INODE(vp)->disk.links = EXT2_LINKS_MOST;
    CHECK_EQUAL(vfs_link(0, "f", "g"), -EMLINK);
    INODE(vp)->disk.links = 1;
    CHECK_EQUAL(pwrite_ours("f", UINT64_MAX - 1, "x", 1), -EFBIG);
    CHECK_EQUAL(pwrite_ours("f", INODE(vp)->fs->size_most, "x", 1), -EFBIG);
    CHECK_EQUAL(pwrite_ours("f", INODE(vp)->fs->size_most - 1, "x", 1), 0);
    CHECK_EQUAL(vfs_truncate(vp, 5ull << 30), 0);
    CHECK_EQUAL(ext2_size(INODE(vp)), 5ull << 30);
    vrele(vp);
    end();
}

static const uint8_t zeros[3000];

/* A random operation on our file system only, with any result. One of 7 `kinds` cuts a file. Writes begin below far. */
static void any_operation(unsigned kinds, uint32_t far, const void *data, uint32_t size)
{
    char a[PATH_MOST], b[PATH_MOST];
    some_name(a), some_name(b);
    switch (random_below(&chance, kinds)) {
    case 0: vfs_make(0, a, VDIR, 0755, 0, 0); break;
    case 1: vfs_rename(0, a, b); break;
    case 2: vfs_remove(0, a, random_below(&chance, 2)); break;
    case 3: vfs_link(0, a, b); break;
    case 6: truncate_ours(a, random_below(&chance, 400000)); break;
    default: pwrite_ours(a, random_below(&chance, far), data, size);
    }
}

#define LONG 100u /* blocks of a file */
static uint8_t long_file[LONG * 1024];

static unsigned moves_left;

static int moves_some(struct uio *uio, void *data, uint32_t n)
{
    if (!moves_left)
        return -EFAULT;
    moves_left--;
    memcpy(data, uio->with, n);
    uio->with = (uint8_t *)uio->with + n;
    return 0;
}

/* With an empty cache. */
static void mount_again(void)
{
    CHECK_EQUAL(vfs_unmount_all(), 0);
    remount();
}

static void fill(uint32_t seed)
{
    for (uint32_t i = 0; i < sizeof long_file; i++)
        long_file[i] = (uint8_t)((i + seed) * 2654435761u >> 13);
}

static int read_piece(struct vnode *vp, uint32_t at, uint32_t size, uint8_t *to)
{
    struct uio uio;
    uio_kernel(&uio, to, size, at, false);
    int error = vfs_read(vp, &uio);
    return error ? error : -(int)uio.left;
}

/* In pieces of 4 KiB, and on the device. */
static int write_long(const char *path)
{
    struct vnode *vp;
    int error = 0;
    for (uint32_t at = 0; at < sizeof long_file && !error; at += 4096)
        error = pwrite_ours(path, at, long_file + at, 4096);
    CHECK_EQUAL(error, 0);
    CHECK_EQUAL(namei(0, path, true, &vp), 0);
    error = vfs_fsync(vp);
    vrele(vp);
    return error;
}

/* Sequential reads make requests of many blocks; other reads read no more than was asked for. */
HOST_TEST(blocks_one_behind_the_other_share_requests)
{
    begin(2048, "-b 1024 -I 128 -N 128", 128, 20, 1);
    static uint8_t got[2][4096];
    struct vnode *vp[2];
    fill(0);
    requests = 0;
    CHECK_EQUAL(write_long("f"), 0);
    CHECK(requests < LONG / 4);
    CHECK_EQUAL(write_long("g"), 0);
    mount_again();
    CHECK_EQUAL(namei(0, "f", true, &vp[0]), 0);
    CHECK_EQUAL(namei(0, "g", true, &vp[1]), 0);
    requests = 0;
    for (uint32_t at = 0; at < sizeof long_file; at += 4096)
        for (unsigned i = 0; i < 2; i++) { /* two readers in turn, each in sequence, at different places */
            uint32_t from = (at + i * 40960) % sizeof long_file;
            CHECK_EQUAL(read_piece(vp[i], from, 4096, got[i]), 0);
            CHECK(!memcmp(got[i], long_file + from, 4096));
        }
    CHECK(requests < 2 * LONG / 5); /* a request for each call would be half as many */
    vrele(vp[0]);
    vrele(vp[1]);
    mount_again();
    CHECK_EQUAL(namei(0, "f", true, &vp[0]), 0);
    CHECK_EQUAL(read_piece(vp[0], 90 * 1024, 1, got[0]), 0); /* the indirect block, too */
    uint32_t before = bufstats.reads;
    for (uint32_t n = 80; n > 20; n -= 20)
        CHECK_EQUAL(read_piece(vp[0], n * 1024 + 5, 1000, got[0]), 0);
    CHECK_EQUAL(bufstats.reads - before, 3);
    requests = 0;
    CHECK_EQUAL(read_piece(vp[0], 50 * 1024, 4096, got[0]), 0);
    CHECK_EQUAL(requests, 1);
    CHECK_EQUAL(bufstats.reads - before, 7);
    CHECK(!memcmp(got[0], long_file + 50 * 1024, 4096));
    vrele(vp[0]);
    end();
}

/* The block that leads to delayed contents lies beside them, and is not in their request. */
HOST_TEST(a_run_ends_before_what_must_wait)
{
    begin(1024, "-b 1024 -I 128 -N 128", 128, 20, 1);
    struct vnode *vp;
    uint32_t block;
    for (uint32_t at = 0; at < 14 * 1024;
         at +=
         /* an indirect block, before them, leads to the last two; and a partial block stays delayed */
         1024)
        CHECK_EQUAL(pwrite_ours("f", at, long_file, 1000), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    CHECK_EQUAL(ext2_bmap(INODE(vp), 0, false, &block, 0, 0), 0);
    CHECK_EQUAL(INODE(vp)->disk.block[12], block + 12);
    device.flush = a_flush_happened;
    written = a_write_happened;
    bawrite_run(&device, 2 * block, 1024, 15);
    bwait(&device);
    written = 0;
    CHECK_EQUAL(happened_count, 14);
    for (unsigned i = 0; i < happened_count; i++)
        CHECK(happened[i] != 2 * (int64_t)(block + 12));
    vrele(vp);
    end();
}

/*
 * Two files that grow in turn have their blocks in rows, and blocks reserved for them are for any file when no others
 * are left.
 */
HOST_TEST(blocks_are_kept_for_a_file_that_grows)
{
    begin(256, "-b 1024 -I 128 -N 32", 64, 20, 1);
    struct vnode *vp[2];
    uint32_t block, before = 0, broken = 0, at = 0;
    fill(0);
    for (; at < 64 * 1024; at += 2048)
        for (unsigned i = 0; i < 2; i++)
            CHECK_EQUAL(pwrite_ours(i ? "g" : "f", at, long_file + at, 2048), 0);
    for (unsigned i = 0; i < 2; i++) {
        CHECK_EQUAL(namei(0, i ? "g" : "f", true, &vp[i]), 0);
        for (uint32_t n = 0; n < 64; n++, before = block) {
            CHECK_EQUAL(ext2_bmap(INODE(vp[i]), n, false, &block, 0, 0), 0);
            broken += n && block != before + 1;
        }
    }
    CHECK(broken < 20); /* else only a call's two blocks are in a row: 60 and more */
    struct ext2 *fs = INODE(vp[0])->fs;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < fs->groups; i++)
        kept += fs->group[i]->ahead_count;
    CHECK(kept);
    for (int error = 0; !error; at += 1024)
        error = pwrite_ours("h", at, long_file + at % 1024, 1024); /* another file takes all there is */
    CHECK_EQUAL(fs->super.free_blocks, 0);
    vrele(vp[0]);
    vrele(vp[1]);
    end();
}

/* The bitmaps are no file's contents: they come behind the flush, with the blocks that wait for that. */
HOST_TEST(bitmaps_go_with_what_comes_last)
{
    begin(1024, "-b 1024 -I 128 -N 128", 128, 20, 1);
    struct vnode *vp;
    fill(0);
    CHECK_EQUAL(pwrite_ours("f", 0, long_file, 4096), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    device.flush = a_flush_happened;
    written = a_write_happened;
    CHECK_EQUAL(vfs_fsync(vp), 0);
    written = 0;
    unsigned contents = 0, bitmaps = 0, flushes = 0;
    uint32_t bitmap = INODE(vp)->fs->group[0]->disk.block_bitmap, block;
    CHECK_EQUAL(ext2_bmap(INODE(vp), 0, false, &block, 0, 0), 0);
    for (unsigned i = 0; i < happened_count; i++) {
        flushes += happened[i] == -1;
        contents += !flushes && happened[i] - 2 * (int64_t)block >= 0 && happened[i] - 2 * (int64_t)block < 8;
        bitmaps += flushes == 1 && happened[i] == 2 * (int64_t)bitmap;
    }
    CHECK_EQUAL(contents, 4);
    CHECK_EQUAL(bitmaps, 1);
    CHECK_EQUAL(flushes, 2);
    vrele(vp);
    end();
}

/* A request for many blocks fails because of one of them: only that one is lost. */
HOST_TEST(a_bad_sector_spoils_its_own_block_alone)
{
    begin(2048, "-b 1024 -I 128 -N 128", 128, 20, 1);
    static uint8_t got[1024];
    struct vnode *vp;
    uint32_t block;
    fill(0);
    CHECK_EQUAL(write_long("f"), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    CHECK_EQUAL(ext2_bmap(INODE(vp), 40, false, &block, 0, 0), 0);
    vrele(vp);
    mount_again();
    bad_sector = block * 2 + 1;
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    for (uint32_t n = 0; n < LONG; n++) {
        CHECK_EQUAL(read_piece(vp, n * 1024, 1024, got), n == 40 ? -EIO : 0);
        CHECK(n == 40 || !memcmp(got, long_file + n * 1024, 1024));
    }
    CHECK(bufstats.split);
    vrele(vp);
    uint32_t split = bufstats.split;
    fill(7);
    CHECK_EQUAL(write_long("f"), -EIO);
    CHECK(bufstats.split > split);
    bad_sector = UINT32_MAX;
    mount_again();
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    for (uint32_t n = 0; n < LONG; n++) {
        CHECK_EQUAL(read_piece(vp, n * 1024, 1024, got), 0);
        CHECK_EQUAL(!memcmp(got, long_file + n * 1024, 1024), n != 40);
    }
    vrele(vp);
    end();
}

/* Contents could not be written while a transaction was committed for lack of room: their file's fsync reports it. */
HOST_TEST(what_a_commit_by_itself_could_not_write_is_told_to_who_asks)
{
    with_a_journal();
    begin(4096, "-b 1024 -I 128 -N 256", 64, 20, 1);
    struct vnode *vp;
    uint32_t block;
    CHECK_EQUAL(pwrite_ours("f", 0, long_file, 1024), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    CHECK_EQUAL(ext2_bmap(INODE(vp), 0, false, &block, 0, 0), 0);
    bad_sector = 2 * block + 1;
    char name[8];
    for (unsigned i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "d%u", i);
        CHECK_EQUAL(vfs_make(0, name, VDIR, 0755, 0, 0), 0);
    }
    CHECK(!incore(&device, 2 * block)); /* its write has been tried */
    bad_sector = UINT32_MAX;
    CHECK_EQUAL(vfs_fsync(vp), -EIO);
    CHECK_EQUAL(vfs_fsync(vp), 0);
    vrele(vp);
    end();
}

static bool no_write_works(const struct buf *bp)
{
    return !(bp->flags & B_READ);
}

/* A log that has ended lacks operations: each call that asks gets an error, until the unmount. */
HOST_TEST(an_ended_log_is_told_to_whoever_asks)
{
    with_a_journal();
    begin(4096, "-b 1024 -I 128 -N 256", 64, 20, 1);
    struct vnode *a, *b;
    CHECK_EQUAL(pwrite_ours("a", 0, long_file, 1024), 0);
    CHECK_EQUAL(pwrite_ours("b", 0, long_file, 1024), 0);
    CHECK_EQUAL(namei(0, "a", true, &a), 0);
    CHECK_EQUAL(namei(0, "b", true, &b), 0);
    CHECK_EQUAL(vfs_sync(), 0);
    CHECK_EQUAL(vfs_make(0, "d", VDIR, 0755, 0, 0), 0);
    transfer_fails = no_write_works;
    for (unsigned i = 0; i < 6; i++) {
        CHECK_EQUAL(i % 3 == 0 ? vfs_sync() : vfs_fsync(i % 3 == 1 ? a : b), -EIO);
        transfer_fails = 0; /* a drive that writes again changes nothing */
    }
    CHECK_EQUAL(vfs_make(0, "e", VDIR, 0755, 0, 0), -EROFS);
    vrele(a);
    vrele(b);
    CHECK_EQUAL(vfs_unmount_all(), -EIO);
    mount_there();
    CHECK_EQUAL(vfs_sync(), 0);
    end();
}

/*
 * Each file that existed when a write failed reports the error, once: the first fsync does not take it from others.
 */
HOST_TEST(an_error_of_contents_is_told_to_each_file)
{
    for (unsigned journal = 0; journal < 2; journal++) {
        pid_t child = fork();
        if (!child) {
            if (journal)
                with_a_journal();
            begin(4096, "-b 1024 -I 128 -N 256", 64, 20, 1);
            struct vnode *vp[3];
            uint32_t block;
            for (unsigned i = 0; i < 2; i++) {
                CHECK_EQUAL(pwrite_ours(i ? "b" : "a", 0, long_file, 900), 0);
                CHECK_EQUAL(namei(0, i ? "b" : "a", true, &vp[i]), 0);
                CHECK_EQUAL(vfs_fsync(vp[i]), 0);
            }
            CHECK_EQUAL(ext2_bmap(INODE(vp[0]), 0, false, &block, 0, 0), 0);
            CHECK_EQUAL(pwrite_ours("a", 10, long_file, 100), 0);
            bad_sector = 2 * block + 1;
            CHECK_EQUAL(vfs_fsync(vp[1]), -EIO); /* which writes the other's, too */
            bad_sector = UINT32_MAX;
            CHECK_EQUAL(vfs_fsync(vp[0]), -EIO);
            CHECK_EQUAL(vfs_fsync(vp[0]), 0);
            CHECK_EQUAL(vfs_fsync(vp[1]), 0);
            CHECK_EQUAL(pwrite_ours("c", 0, long_file, 100), 0); /* had nothing to lose */
            CHECK_EQUAL(namei(0, "c", true, &vp[2]), 0);
            CHECK_EQUAL(vfs_fsync(vp[2]), 0);
            for (unsigned i = 0; i < 3; i++)
                vrele(vp[i]);
            end();
            exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && !status);
    }
}

static unsigned flushes_that_fail;

static int flush_may_fail(struct blockdev *d)
{
    (void)d;
    flushes_that_fail -= flushes_that_fail != 0;
    return flushes_that_fail ? -EIO : 0;
}

/*
 * A flush that fails may have lost what any file has in the drive's cache: each reports it, once; the next call flushes
 * again.
 */
HOST_TEST(a_flush_that_fails_is_told_to_each_file)
{
    begin(1024, "-b 1024 -I 128 -N 128", 64, 20, 1);
    struct vnode *vp[2];
    fill(0);
    for (unsigned i = 0; i < 2; i++) {
        CHECK_EQUAL(pwrite_ours(i ? "b" : "a", 0, long_file, 2000), 0);
        CHECK_EQUAL(namei(0, i ? "b" : "a", true, &vp[i]), 0);
        CHECK_EQUAL(vfs_fsync(vp[i]), 0);
    }
    device.flush = flush_may_fail;
    for (unsigned failing = 1; failing < 3; failing++) {
        CHECK_EQUAL(pwrite_ours("a", 100, long_file, 100), 0);
        flushes_that_fail = failing + 1;
        for (unsigned i = 0; i < failing; i++)
            CHECK_EQUAL(vfs_fsync(vp[0]), -EIO);
        CHECK_EQUAL(device.unflushed, 1);
        CHECK_EQUAL(vfs_fsync(vp[0]), 0);
        CHECK_EQUAL(vfs_fsync(vp[1]), -EIO);
        CHECK_EQUAL(vfs_fsync(vp[1]), 0);
    }
    vrele(vp[0]);
    vrele(vp[1]);
    end();
    CHECK(!(((const struct ext2_super *)(disk + 1024))->state & EXT2_VALID)); /* e2fsck must check it */
}

/* In pieces of 2 KiB, by a file that stays open. */
static void write_on(struct vnode *vp, uint32_t from, uint32_t to)
{
    for (; from < to; from += 2048) {
        struct uio uio;
        uio_kernel(&uio, long_file + from, 2048, from, true);
        CHECK_EQUAL(vfs_write(vp, &uio, false), 0);
    }
}

static uint32_t pointer_on_device_or_in_cache(struct inode *ip, uint32_t place)
{
    struct buf *bp = ext2_bread(ip->fs, ip->disk.block[EXT2_DIRECT]);
    uint32_t pointer = ((uint32_t *)bp->data)[place];
    CHECK_EQUAL(bp->error, 0);
    brelse(bp);
    return pointer;
}

/*
 * A file that grows call by call has its pointers set many at a time; reads, cuts and changes before that see the same
 * file.
 */
HOST_TEST(pointers_of_many_calls_are_set_together)
{
    begin(2048, "-b 1024 -I 128 -N 128", 64, 20, 1);
    static uint8_t got[4096];
    struct vnode *vp;
    uint32_t block, run = 8;
    fill(0);
    CHECK_EQUAL(pwrite_ours("f", 0, long_file, 2048), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    struct inode *ip = INODE(vp);
    write_on(vp, 2048, 40960);
    CHECK(ip->append.to_set.count > 20);
    CHECK_EQUAL(pointer_on_device_or_in_cache(ip, 20), 0);
    CHECK_EQUAL(ext2_bmap(ip, 34, false, &block, 0, &run), 0);
    CHECK(block && run == 6); /* and the file ends there */
    for (uint32_t at = 0; at < 40960; at += 4096)
        CHECK(!read_piece(vp, at, 4096, got) && !memcmp(got, long_file + at, 4096));
    CHECK_EQUAL(vfs_sync(), 0);
    CHECK_EQUAL(ip->append.to_set.count * (ip->append.to_set.in != 0), 0);
    CHECK_EQUAL(pointer_on_device_or_in_cache(ip, 34 - EXT2_DIRECT), block);

    write_on(vp, 40960, 61440);
    CHECK(ip->append.to_set.in);
    struct uio uio;
    uio_kernel(&uio, long_file + 50000, 100, 50000, true); /* existing blocks are changed, not allocated anew */
    CHECK_EQUAL(vfs_write(vp, &uio, false), 0);
    uio_kernel(&uio, long_file + 92160, 1024, 92160, true); /* behind a hole */
    CHECK_EQUAL(vfs_write(vp, &uio, false), 0);
    write_on(vp, 61440, 71680); /* into the hole */
    CHECK(!read_piece(vp, 50000, 4096, got) && !memcmp(got, long_file + 50000, 4096));
    CHECK(!read_piece(vp, 92160, 1024, got) && !memcmp(got, long_file + 92160, 1024));
    CHECK_EQUAL(vfs_truncate(vp, 65000), 0);
    CHECK_EQUAL(read_piece(vp, 61440, 3560, got), 0);
    CHECK(!memcmp(got, long_file + 61440, 3560));
    CHECK_EQUAL(vfs_truncate(vp, 71680), 0); /* cut contents do not return when it grows again */
    CHECK_EQUAL(read_piece(vp, 65536, 4096, got), 0);
    for (unsigned i = 0; i < 4096; i++)
        CHECK_EQUAL(got[i], 0);
    write_on(vp, 65536, 71680);
    vrele(vp);
    mount_again();
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    CHECK(!read_piece(vp, 68000, 2048, got) && !memcmp(got, long_file + 68000, 2048));
    vrele(vp);
    end();
}

/*
 * The block that the pointers belong into can no longer be read: what they lead to is lost, which fsync reports, once,
 * and is freed.
 */
HOST_TEST(pointers_that_cannot_be_set_are_told)
{
    begin(2048, "-b 1024 -I 128 -N 128", 32, 20, 1);
    static uint8_t got[1024], zeros[1024];
    struct vnode *vp;
    fill(0);
    CHECK_EQUAL(pwrite_ours("f", 0, long_file, 20480), 0);
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    CHECK_EQUAL(vfs_fsync(vp), 0);
    write_on(vp, 20480, 30720);
    CHECK(INODE(vp)->append.to_set.in);
    for (unsigned i = 0; i < 64; i++) /* empties the cache */
        brelse(bread(&device, 2 * (1000 + i), 1024));
    bad_sector = 2 * INODE(vp)->disk.block[EXT2_DIRECT];
    CHECK_EQUAL(vfs_fsync(vp), -EIO);
    bad_sector = UINT32_MAX;
    CHECK_EQUAL(vfs_fsync(vp), 0);
    CHECK(!read_piece(vp, 19456, 1024, got) && !memcmp(got, long_file + 19456, 1024));
    CHECK(!read_piece(vp, 20480, 1024, got) && !memcmp(got, zeros, 1024));
    write_on(vp, 20480, 40960);
    vrele(vp);
    end();
}

/*
 * A bitmap whose write failed is old on the device and lacks later allocations: no block of those is allocated
 * twice.
 */
HOST_TEST(nothing_is_given_twice_when_a_bitmap_was_not_written)
{
    for (unsigned inodes = 0; inodes < 2; inodes++) {
        pid_t child = fork();
        if (!child) {
            begin(2048, "-b 1024 -I 128 -N 128 -g 1024", 64, 20, 1);
            struct vnode *vp[2];
            uint32_t block, first, number;
            fill(0);
            CHECK_EQUAL(pwrite_ours("a", 0, long_file, 900), 0);
            CHECK_EQUAL(namei(0, "a", true, &vp[0]), 0);
            CHECK_EQUAL(vfs_fsync(vp[0]), 0);
            const struct ext2 *fs = INODE(vp[0])->fs;
            vrele(vp[0]);
            const struct ext2_group *g = &fs->group[0]->disk;
            CHECK_EQUAL(pwrite_ours("b", 0, long_file, 8192), 0);
            CHECK_EQUAL(namei(0, "b", true, &vp[0]), 0);
            bad_sector = 2 * (inodes ? g->inode_bitmap : g->block_bitmap);
            CHECK_EQUAL(vfs_fsync(vp[0]), -EIO);
            bad_sector = UINT32_MAX;
            CHECK_EQUAL(ext2_bmap(INODE(vp[0]), 0, false, &first, 0, 0), 0);
            number = INODE(vp[0])->number;
            CHECK_EQUAL(pwrite_ours("c", 0, long_file, 8192), 0);
            CHECK_EQUAL(namei(0, "c", true, &vp[1]), 0);
            CHECK(INODE(vp[1])->number != number);
            for (uint32_t n = 0; n < 8; n++) {
                CHECK_EQUAL(ext2_bmap(INODE(vp[1]), n, false, &block, 0, 0), 0);
                CHECK(block - first >= 8);
            }
            CHECK_EQUAL(vfs_fsync(vp[1]), 0);
            vrele(vp[0]);
            vrele(vp[1]);
            CHECK_EQUAL(vfs_unmount_all(), 0);
            write_image(); /* e2fsck marks what is b's */
            shell("PATH=$PATH:/usr/sbin:/sbin; exec >/dev/null 2>&1; e2fsck -fy %s; test $? -le 1 && e2fsck -fn %s",
                  image, image);
            exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && !status);
    }
}

/*
 * Metadata that are committed, and cannot be written to their place: the log keeps them, and no operation changes
 * anything any more.
 */
HOST_TEST(metadata_that_only_the_log_has_stay_there)
{
    with_a_journal();
    begin(4096, "-b 1024 -I 128 -N 256", 64, 20, 1);
    struct vnode *root = vfs_root();
    CHECK_EQUAL(vfs_make(0, "d", VDIR, 0755, 0, 0), 0);
    CHECK_EQUAL(vfs_fsync(root), 0);
    bad_sector = 2 * (EXT2(root->mount)->group[0]->disk.inode_table + 1); /* of inodes 9 to 16 */
    bflush(&device);
    bwait(&device);
    bad_sector = UINT32_MAX;
    vfs_make(0, "e", VDIR, 0755, 0, 0);
    CHECK_EQUAL(vfs_fsync(root), -EIO);
    CHECK_EQUAL(vfs_make(0, "g", VDIR, 0755, 0, 0), -EROFS);
    vrele(root);
    vfs_unmount_all();
    write_image();
    shell(
        "PATH=$PATH:/usr/sbin:/sbin; cd %s; e2fsck -fy image >fsck 2>&1; [ $? -le 1 ] && e2fsck -fn image >fsck 2>&1 &&"
        " debugfs -R 'stat /d' image 2>/dev/null | grep -q directory",
        folder);
}

/*
 * A program's memory ends in the middle of a write of many blocks: what the write did not reach is as before, or 0
 * where nothing was.
 */
HOST_TEST(a_write_of_many_blocks_that_ends_early)
{
    begin(2048, "-b 1024 -I 128 -N 128", 64, 20, 1);
    static uint8_t got[1024], zero[1024];
    struct vnode *vp;
    struct uio uio;
    memset(disk + 200 * 1024, 0xaa, disk_size - 200 * 1024); /* what was in free blocks */
    fill(0);
    CHECK_EQUAL(write_long("f"), 0);
    CHECK_EQUAL(pwrite_ours("h", 60 * 1024, "x", 1), 0); /* a hole before it */
    for (unsigned turn = 0; turn < 2; turn++) {
        mount_again();
        CHECK_EQUAL(namei(0, turn ? "h" : "f", true, &vp), 0);
        moves_left = 5;
        uio_kernel(&uio, long_file + 64 * 1024, 20 * 1024, 20 * 1024, true);
        uio.move = moves_some;
        CHECK_EQUAL(vfs_write(vp, &uio, false), -EFAULT);
        CHECK_EQUAL(uio.left, 15 * 1024);
        vrele(vp);
        mount_again();
        CHECK_EQUAL(namei(0, turn ? "h" : "f", true, &vp), 0);
        for (uint32_t n = 0; n < 50; n++) {
            const uint8_t *before = turn ? zero : long_file + n * 1024;
            CHECK_EQUAL(read_piece(vp, n * 1024, 1024, got), 0);
            CHECK(!memcmp(got, n >= 20 && n < 25 ? long_file + (n + 44) * 1024 : before, 1024));
        }
        vrele(vp);
    }
    end();
}

/*
 * The same behind a file's end: the file is as long as what was written, which is all there, and the caller goes on
 * from there.
 */
HOST_TEST(a_write_of_many_blocks_that_ends_early_makes_a_file_longer)
{
    begin(2048, "-b 1024 -I 128 -N 128", 64, 20, 1);
    static uint8_t got[1024];
    struct vnode *vp;
    struct uio uio;
    fill(0);
    CHECK_EQUAL(vfs_open(0, "f", VFS_CREATE | VFS_WRITE, 0644, &vp), 0);
    for (uint32_t at = 0, moves; at < 60; at += moves) {
        moves = random_below(&chance, 20);
        moves_left = moves;
        uio_kernel(&uio, long_file + at * 1024, 20 * 1024, at * 1024, true);
        uio.move = moves_some;
        CHECK_EQUAL(vfs_write(vp, &uio, false), -EFAULT);
        CHECK_EQUAL(uio.left, (20 - moves) * 1024);
        CHECK_EQUAL(ext2_size(INODE(vp)), (at + moves) * 1024);
    }
    uint32_t blocks = (uint32_t)(ext2_size(INODE(vp)) / 1024);
    vrele(vp);
    mount_again();
    CHECK_EQUAL(namei(0, "f", true, &vp), 0);
    for (uint32_t n = 0; n < blocks; n++) {
        CHECK_EQUAL(read_piece(vp, n * 1024, 1024, got), 0);
        CHECK(!memcmp(got, long_file + n * 1024, 1024));
    }
    vrele(vp);
    end();
}

/* Each sector in turn cannot be read or written: an error, nothing held, and no panic. */
HOST_TEST(a_bad_sector_is_an_error)
{
    for (bad_sector = 2; bad_sector < 400; bad_sector += 3) {
        pid_t child = fork();
        if (!child) {
            uint32_t sector = bad_sector;
            bad_sector = UINT32_MAX;
            begin(256, "-b 1024 -I 128 -N 64", 8, 12, sector);
            bad_sector = sector;
            for (unsigned i = 0; i < 120; i++) {
                any_operation(6, 30000, zeros, sizeof zeros);
                nothing_is_held();
            }
            vfs_unmount_all();
            nothing_is_held();
            exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        if (status)
            host_failed(__FILE__, __LINE__, "bad sector %u", bad_sector);
    }
}

/* An inode number was allocated for a file whose inode then cannot be written: e2fsck must check it. */
HOST_TEST(what_cannot_be_given_back_is_told)
{
    begin(1024, "-b 1024 -I 128 -N 128", 8, 12, 1);
    struct vnode *root = vfs_root();
    struct ext2 *fs = INODE(root)->fs;
    vrele(root);
    unsigned per = fs->inodes_per_block;
    bad_sector = 2 * (fs->group[0]->disk.inode_table + (fs->first_inode - 1) / per);
    char name[] = "a";
    int error = 0;
    for (unsigned i = 0; !error && i < per; i++, ++*name)
        error = vfs_make(0, name, VREG, 0644, 0, 0);
    CHECK_EQUAL(error, -EIO);
    CHECK_EQUAL(fs->errors, 1);
    CHECK(fs->super.state & EXT2_ERRORS);
    bad_sector = UINT32_MAX;
    nothing_is_held();
    CHECK_EQUAL(vfs_unmount_all(), 0);
    CHECK_EQUAL(inodes_referenced(), 0);
}

/*
 * Any image: bytes of a sound one changed, outside files' contents. Every operation succeeds or gives an
 * error; the image is not checked afterwards. EXT2_IMAGES in the environment says how many.
 */
static bool any_entry(void *arg, const struct dirent_out *entry)
{
    (void)arg, (void)entry;
    return random_below(&chance, 30);
}

static void visit(const char *path, unsigned depth)
{
    struct vnode *vp;
    struct vattr attr;
    if (namei(0, path, true, &vp))
        return;
    vfs_getattr(vp, &attr);
    static uint8_t data[5000];
    struct uio uio;
    for (unsigned i = 0; i < 3; i++) {
        uio_kernel(&uio, data, sizeof data, i * 270000ull, false);
        vfs_read(vp, &uio);
    }
    if (depth < 3 && vp->type == VDIR) {
        static const char *const names[] = {"a", "bb", "c", "d.d", "."};
        vfs_readdir(vp, random_below(&chance, 3) ? 0 : random_below(&chance, 3000), any_entry, 0);
        for (unsigned i = 0; i < 5; i++) {
            char below[PATH_MOST];
            snprintf(below, sizeof below, "%s/%s", path, names[i]);
            visit(below, depth + 1);
        }
    }
    vrele(vp);
}

/* As other systems leave it: some files have attributes, which some share; a directory of three blocks has an index. */
static void have_attributes_and_an_index(void)
{
    FILE *commands;
    debugfs_begins(&commands);
    for (unsigned i = 0; i < 60; i++)
        fprintf(commands, "ea_set /%c user.a%u %0*u\n", "acf"[i % 3], i % 5, 1 + (int)i * 3, i);
    fprintf(commands, "ea_set /bb user.b x\nea_set /d.d user.c y\nea_set /a/bb user.d z\n");
    fclose(commands);
    write_image();
    shell("PATH=$PATH:/usr/sbin:/sbin; cd %s; debugfs -w -f commands image >said 2>&1; e2fsck -fyD image >said 2>&1; "
          "[ $? -le 1 ]",
          folder);
    read_image();
    CHECK(share_attributes() > 1);
    unsigned indexes = 0;
    for (uint32_t n = 2; n <= 64; n++)
        indexes += inode_at(n)->links && inode_at(n)->flags & EXT2_INDEX_FLAG;
    CHECK(indexes);
}

static void damaged(uint32_t kib, uint32_t buffers, unsigned images, bool by_others)
{
    char name[80];
    begin(kib, "-b 1024 -I 128 -N 64 -g 256", buffers, 16, 1);
    if (by_others) {
        BOTH("mkdir", vfs_make(0, "a", VDIR, 0755, 0, 0), mkdir("a", 0755));
        BOTH("write", pwrite_ours("c", 0, "c", 1), pwrite_theirs("c", 0, "c", 1));
        for (unsigned i = 0; i < 60; i++) {
            snprintf(name, sizeof name, "a/%060u", i);
            BOTH("link", vfs_link(0, "c", name), link("c", name));
        }
    }
    for (unsigned i = 0; i < 150; i++)
        random_operation();
    CHECK_EQUAL(vfs_unmount_all(), 0);
    if (by_others)
        have_attributes_and_an_index();
    static uint8_t sound[2304 * 1024], used[2304 * 1024];
    uint32_t size = kib * 1024;
    memcpy(sound, disk, size);
    for (unsigned i = 0; i < size; i++) { /* a block of one value is a file's */
        const uint8_t *block = sound + (i & ~1023u);
        used[i] = sound[i] != 0 && memcmp(block, block + 1, 1023);
    }
    const char *more = getenv("EXT2_IMAGES");
    images = more ? strtoul(more, 0, 10) : images;
    for (uint32_t n = 0; n < images; n++) {
        chance = random_from(n, 2);
        memcpy(disk, sound, size);
        for (unsigned i = 1 + random_below(&chance, 8); i; i--) {
            uint32_t at;
            do
                at = random_below(&chance, size);
            while (!used[at] && random_below(&chance, 50));
            disk[at] =
                random_below(&chance, 3) ? random_below(&chance, 256) : disk[at] ^ 1u << random_below(&chance, 8);
        }
        struct mount *m;
        if (ext2_mount(&device, false, &m)) {
            nothing_is_held();
            continue;
        }
        vfs_mount_root(m);
        visit("/", 0);
        for (unsigned i = 0; i < 40; i++) {
            any_operation(7, 300000, zeros, sizeof zeros);
            nothing_is_held();
        }
        int error = vfs_unmount_all();
        CHECK(!error || error == -EIO);
        nothing_is_held();
        CHECK_EQUAL(inodes_referenced(), 0);
        host_output_clear();
    }
}

HOST_TEST(damaged_images)
{
    damaged(512, 12, 300, false);
}

HOST_TEST(damaged_images_with_attributes_and_an_index)
{
    features = "none,filetype,sparse_super,ext_attr,dir_index";
    damaged(512, 12, 100, true);
}

HOST_TEST(damaged_images_with_a_journal)
{
    with_a_journal();
    damaged(2304, 64, 60, false);
}

#include "test/host/power.h"
#include "test/host/transfers.h"
