/* What is mounted when programs run (mounts.h). In an image without disks, only the archive. */
#include "proc/mounts.h"

#include <errno.h>
#include <generated/mem.h>
#include <string.h>

#include "dev/clock.h"
#include "fs/vfs.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "sched/master.h"
#include "user/abi.h"
#include "proc/image_fs.h"
#if NFS /* kernel/Makefile: in images with the build option nfs */
#include "nfs/client.h"
#endif

DEFINE_MUTEX(starting, "mounts starting"); /* a second thread waits until there is a root */
static bool mounts_started;

#ifdef DISK0_BASE
#include "dev/disk.h"
#include "fs/device.h"
#include "fs/ext2.h"
#include "fs/namecache.h"
#include "fs/swap_file.h"

#define DISKS 2

DEFINE_MUTEX(mounts_lock, "mounts"); /* which devices are open */
static struct blockdev mounts_disks[DISKS];
static const char *const disk_names[DISKS] = {"disk0", "disk1"};

static void caches_init(void)
{
    static bool done;
    if (done)
        return;
    done = true;
    bio_init();
    inodes_init(bootargs_number(BOOT(kernel, inodes)));
    namecache_init();
}

static int device_of(const char *name, struct blockdev **device)
{
    for (unsigned i = 0; i < DISKS; i++) {
        if (strcmp(name, disk_names[i]))
            continue;
        *device = &mounts_disks[i];
        if (mounts_disks[i].name)
            return 0;
        struct block_device *d = disk_open(i);
        if (!d)
            return -ENXIO;
        blockdev_of(&mounts_disks[i], d);
        return 0;
    }
    return -ENOENT;
}

/* One thread at a time: a device is opened once. */
int mount_device(const char *type, const char *name, bool read_only, struct mount **mp)
{
    struct blockdev *device;
#if NFS
    if (!strcmp(type, "nfs"))
        return nfs_mount(name, read_only, mp);
#endif
    if (strcmp(type, "ext2"))
        return -ENODEV;
    if (!strncmp(name, "/dev/", 5))
        name += 5;
    mutex_lock(&mounts_lock);
    caches_init();
    int error = device_of(name, &device);
    mutex_unlock(&mounts_lock);
    return error ? error : ext2_mount(device, read_only, mp);
}

static void swap_on(void)
{
    char path[128];
    if (!*bootargs_string(BOOT(kernel, swap), path, sizeof path))
        return;
    int error = swap_file_on(path);
    if (error)
        panic("swap=%s: %s%s", path, strerror(-error),
              error == -EIO ? "" : ": give an ordinary file without holes on a disk, of a page at least");
}
#else
static void swap_on(void)
{
    char path[128];
    if (*bootargs_string(BOOT(kernel, swap), path, sizeof path))
        panic("swap=%s: this machine has no disk: give --machine disks=1", path);
}

static int swap_file_off(void)
{
    return 0;
}

int mount_device(const char *type, const char *name, bool read_only, struct mount **mp)
{
#if NFS
    if (!strcmp(type, "nfs"))
        return nfs_mount(name, read_only, mp);
#endif
    (void)name, (void)read_only, (void)mp;
    return strcmp(type, "ext2") ? -ENODEV : -ENXIO;
}
#endif

static uint32_t seconds(void)
{
    struct user_timespec now;
    clock_since_reset(&now);
    return (uint32_t)now.seconds;
}

static bool any_but_dots(void *arg, const struct dirent_out *entry)
{
    *(bool *)arg = entry->name[0] != '.';
    return !*(bool *)arg;
}

static bool has_files(const char *path)
{
    struct vnode *vp;
    bool has = false;
    if (namei(0, path, true, &vp))
        return false;
    vfs_readdir(vp, 0, any_but_dots, &has);
    vrele(vp);
    return has;
}

static void mount_on(const char *path, struct mount *m)
{
    int error = vfs_make(0, path, VDIR, 0755, 0, 0);
    if (!error || error == -EEXIST)
        error = vfs_mount(0, path, m);
    if (error && error != -EROFS)
        kprintf("nothing is mounted on %s: %s\n", path, strerror(-error));
}

#if NFS
static void mount_nfs(void)
{
    char from[128];
    struct mount *m;
    if (!*bootargs_string(BOOT(kernel, nfs), from, sizeof from))
        return;
    int error = nfs_mount(from, false, &m);
    if (error == -EDEADLK) /* this node is the server */
        return;
    if (error)
        panic("nfs=%s cannot be mounted: %s%s", from, strerror(-error),
              error == -EINVAL ? ": give ADDRESS:/PATH, vers=2, vers=3, soft or hard behind it, and a clock (hz)" : "");
    mount_on("/mnt", m);
}
#endif

static void mounts_mount_all(void)
{
    char root[16];
    struct mount *m;
    fs_clock = seconds;
    unix_enter();
    bool archived = !strcmp(bootargs_string(BOOT(kernel, root), root, sizeof root), "archive");
    int error = archived ? 0 : mount_device("ext2", root, false, &m);
    if (error)
        panic("root=%s cannot be mounted (%s): give --disk IMAGE with an ext2 file system, or root=archive", root,
              strerror(-error));
    error = vfs_mount_root(archived ? archive_mount() : m);
    assert(!error);
    mount_on("/dev", devices_mount());
    if (!archived && !has_files("/bin"))
        mount_on("/bin", archive_mount());
    swap_on();
#if NFS
    mount_nfs();
#endif
    unix_leave();
}

void mounts_start(void)
{
    if (mounts_started) /* read without the lock: it stays set while there are programs */
        return;
    mutex_lock(&starting);
    if (!mounts_started)
        mounts_mount_all();
    __atomic_store_n(&mounts_started, true, __ATOMIC_RELEASE);
    mutex_unlock(&starting);
}

int mounts_stop(void)
{
    mutex_lock(&starting);
    unix_enter();
    int error = mounts_started ? swap_file_off() : 0;
    if (!error && mounts_started)
        error = vfs_unmount_all();
    unix_leave();
    mounts_started = false;
    mutex_unlock(&starting);
    if (error)
        kprintf("file systems cannot be unmounted: %s\n", strerror(-error));
    return error;
}
