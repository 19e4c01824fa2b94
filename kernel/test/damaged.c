/*
 * run=test-damaged: images of a file system with a few wrong bytes, one after the other, each mounted, walked, read,
 * written and unmounted: any operation may give an error, none panics or loops. The sound image is disk 0's, at most
 * IMAGE_MOST bytes; it is copied to memory, where seed= and N decide how image N is damaged (bytes and bits changed,
 * most of them in blocks in use that are not a file's contents). Image N alone: first=N images=1.
 *
 *   @test name=damaged images=... refused=... operations=... errors=... dirty=...
 *
 * refused: images that could not be mounted; errors: operations that gave one; dirty: images whose end gave one.
 */
#include <errno.h>
#include <string.h>

#include "dev/disk.h"
#include "fs/device.h"
#include "fs/ext2.h"
#include "fs/namecache.h"
#include "fs/vfs.h"
#include "lib/minmax.h"
#include "lib/random.h"
#include "sched/master.h"
#include "test/test.h"

#define IMAGE_MOST (320u << 10)
#define BLOCK 1024u
#define OPERATIONS 10
#define PATH 64
#define DEPTH 2
#define FAR 300000u /* writes begin below it */

static uint8_t damaged_sound[IMAGE_MOST] __attribute__((section(".noinit"), aligned(8)));
static uint8_t image[IMAGE_MOST] __attribute__((section(".noinit"), aligned(8)));
static uint8_t damaged_data[3000] __attribute__((section(".noinit")));
static bool changed[IMAGE_MOST / SECTOR_SIZE], metadata[IMAGE_MOST / BLOCK];
static uint32_t sectors, operations, errors;
static struct random damaged_chance;
static char at[PATH];

static void damaged_move(struct blockdev *device, struct buf *bp)
{
    (void)device;
    uint8_t *bytes = image + bp->sector * SECTOR_SIZE;
    if (bp->flags & B_READ) {
        memcpy(bp->data, bytes, bp->size);
    } else {
        memcpy(bytes, bp->data, bp->size);
        memset(changed + bp->sector, true, bp->size / SECTOR_SIZE);
    }
    if (bp->flags & B_ASYNC)
        biodone(bp);
    else
        event_post(&bp->done);
}

/* Copies only what differs from the sound image. */
static void make_image(uint32_t n)
{
    for (uint32_t s = 0; s < sectors; s++)
        if (changed[s])
            memcpy(image + s * SECTOR_SIZE, damaged_sound + s * SECTOR_SIZE, SECTOR_SIZE);
    memset(changed, false, sizeof changed);
    damaged_chance = random_from(run_seed * 100003 + n, 2);
    for (unsigned i = 1 + random_below(&damaged_chance, 8); i; i--) {
        uint32_t place;
        do
            place = random_below(&damaged_chance, sectors * SECTOR_SIZE);
        while ((!metadata[place / BLOCK] || !damaged_sound[place]) && random_below(&damaged_chance, 50));
        image[place] = random_below(&damaged_chance, 3)
                           ? (uint8_t)random_below(&damaged_chance, 256)
                           : image[place] ^ (uint8_t)(1u << random_below(&damaged_chance, 8));
        changed[place / SECTOR_SIZE] = true;
    }
}

static void some_name(char *path)
{
    static const char *const names[] = {"a", "bb", "c", "d.d", "long", "deep/e", "link"};
    unsigned n = random_below(&damaged_chance, 3);
    *path = 0;
    for (unsigned i = 0; i <= n; i++)
        strcat(strcat(path, "/"), names[random_below(&damaged_chance, 7)]); /* three of the longest fit */
}

static void counted(int error)
{
    operations++;
    errors += error != 0;
}

static int damaged_transfer(const char *path, uint64_t offset, bool write)
{
    struct vnode *vp;
    struct uio uio;
    int error = vfs_open(0, path, write ? VFS_CREATE | VFS_WRITE : 0, 0644, &vp);
    if (error)
        return error;
    uio_kernel(&uio, damaged_data, sizeof damaged_data, offset, write);
    error = write ? vfs_write(vp, &uio, false) : vfs_read(vp, &uio);
    vrele(vp);
    return error;
}

static int damaged_cut(const char *path)
{
    struct vnode *vp;
    int error = namei(0, path, true, &vp);
    if (error)
        return error;
    error = vfs_truncate(vp, random_below(&damaged_chance, FAR));
    vrele(vp);
    return error;
}

static void any_operation(void)
{
    char a[PATH], b[PATH];
    some_name(a), some_name(b);
    switch (random_below(&damaged_chance, 7)) {
    case 0: counted(vfs_make(0, a, VDIR, 0755, 0, 0)); break;
    case 1: counted(vfs_rename(0, a, b)); break;
    case 2: counted(vfs_remove(0, a, random_below(&damaged_chance, 2))); break;
    case 3: counted(vfs_link(0, a, b)); break;
    case 4: counted(damaged_cut(a)); break;
    default: counted(damaged_transfer(a, random_below(&damaged_chance, FAR), true));
    }
}

static bool any_entry(void *arg, const struct dirent_out *entry)
{
    (void)arg, (void)entry;
    return random_below(&damaged_chance, 30);
}

/* The file `at`, and files with one of the known names below it. */
static void visit(unsigned depth)
{
    static const char *const names[] = {"/a", "/bb", "/deep"};
    struct vnode *vp;
    struct vattr attr;
    int error = namei(0, *at ? at : "/", true, &vp);
    counted(error);
    if (error)
        return;
    counted(vfs_getattr(vp, &attr));
    enum vtype type = vp->type;
    if (type == VDIR)
        counted(
            vfs_readdir(vp, random_below(&damaged_chance, 3) ? 0 : random_below(&damaged_chance, 3000), any_entry, 0));
    vrele(vp);
    if (type != VDIR)
        for (unsigned i = 0; i < 2; i++)
            counted(damaged_transfer(at, i * 290000ull, false));
    for (unsigned i = 0; i < 3 && type == VDIR && depth < DEPTH; i++) {
        size_t length = strlen(at);
        strcpy(at + length, names[i]); /* DEPTH of them fit */
        visit(depth + 1);
        at[length] = 0;
    }
}

static bool all_the_same(const uint32_t *block)
{
    uint32_t first = (uint8_t)*block * 0x01010101u, other = 0;
    for (unsigned i = 0; i < BLOCK / 4; i++)
        other |= block[i] ^ first;
    return !other;
}

static void read_sound(void)
{
    struct block_device *disk = disk_open(0);
    if (!disk || disk->sectors * SECTOR_SIZE > IMAGE_MOST)
        panic("run=test-damaged: give --disk IMAGE of at most %u bytes, on a machine with disks=1", IMAGE_MOST);
    sectors = disk->sectors;
    for (uint32_t s = 0; s < sectors; s += 64) {
        int error = block_transfer(disk, BLOCK_READ, s, MIN(sectors - s, 64), damaged_sound + s * SECTOR_SIZE);
        if (error)
            panic("run=test-damaged: disk 0 cannot be read: %s", strerror(-error));
    }
    memcpy(image, damaged_sound, sectors * SECTOR_SIZE);
    for (uint32_t b = 0; b < sectors * SECTOR_SIZE / BLOCK; b++) /* a block of one value is a file's, or free */
        metadata[b] = !all_the_same((const uint32_t *)(damaged_sound + b * BLOCK));
}

static int test_damaged(void)
{
    static struct blockdev device = {.name = "damaged", .strategy = damaged_move};
    uint32_t images = bootargs_number(BOOT(test_damaged, images)), first = bootargs_number(BOOT(test_damaged, first));
    uint32_t refused = 0, dirty = 0;
    read_sound();
    device.sectors = sectors;
    unix_enter();
    bio_init();
    inodes_init(24);
    namecache_init();
    for (uint32_t n = first; n < first + images; n++) {
        struct mount *m;
        make_image(n);
        if (n % 10 == 0)
            kprintf("image %lu\n", (unsigned long)n);
        if (ext2_mount(&device, false, &m)) {
            refused++;
        } else {
            vfs_mount_root(m);
            visit(0);
            for (unsigned i = 0; i < OPERATIONS; i++)
                any_operation();
            int error = vfs_unmount_all();
            dirty += error != 0;
            if (error && error != -EIO)
                panic("image %lu cannot be unmounted: %s", (unsigned long)n, strerror(-error));
        }
        assert(!bio_busy() && !inodes_referenced());
        device.write_error = 0;
    }
    unix_leave();
    kprintf("@test name=damaged images=%lu refused=%lu operations=%lu errors=%lu dirty=%lu\n", (unsigned long)images,
            (unsigned long)refused, (unsigned long)operations, (unsigned long)errors, (unsigned long)dirty);
    return 0;
}

RUN("test-damaged", "an ext2 file system with bytes wrong: errors, no panic and no loop (images=, first=)",
    test_damaged);
