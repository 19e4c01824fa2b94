/*
 * The files of the image's archive and a few devices as a file system that cannot be written, until there are disks: all files
 * are in the folder /bin, which is also / and the current folder. /dev has console, tty and null.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file/descriptors.h"
#include "mem/zone.h"
#include "user/archive.h"
#include "user/console.h"
#include "user/process.h"
#include "vm/pager.h"

#define TYPE_FILE 8 /* of a struct user_dirent, as 4.4BSD has them */
#define FIRST_INODE 16
#define BLOCK 512

struct content {
    const char *bytes;
    uint32_t size;
};

DEFINE_ZONE(contents, "archive-files", sizeof(struct content), _Alignof(struct content), SPL_SOFTPREEMPT, 0);

enum kind { NOTHING, ARCHIVED, FOLDER, DEVICES, CONSOLE, NULL_DEVICE };

struct place {
    enum kind kind;
    struct content content;
};

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(word, *words))
        words++;
    return *words;
}

/* What a path leads to. A name alone is one of the archive. */
static struct place look_up(const char *path)
{
    static const char *const folders[] = {"", ".", "bin", "bin/.", "..", 0}, *const consoles[] = {"dev/console",
                                                                                                  "dev/tty", 0};
    while (*path == '/' || (path[0] == '.' && path[1] == '/'))
        path++;
    struct place at = {NOTHING, {0}};
    if (is_one_of(path, folders))
        at.kind = FOLDER;
    else if (!strcmp(path, "dev"))
        at.kind = DEVICES;
    else if (is_one_of(path, consoles))
        at.kind = CONSOLE;
    else if (!strcmp(path, "dev/null"))
        at.kind = NULL_DEVICE;
    else if ((at.content.bytes = archive_lookup(path, &at.content.size)))
        at.kind = ARCHIVED;
    return at;
}

static void describe(const struct place *at, struct user_stat *to)
{
    *to = (struct user_stat){.nlink = 1, .blksize = BLOCK, .ino = (uint16_t)(2 + at->kind)};
    switch (at->kind) {
    case FOLDER:
    case DEVICES: to->mode = S_IFDIR | 0555; break;
    case CONSOLE:
    case NULL_DEVICE: to->mode = S_IFCHR | 0666; break;
    default:
        to->mode = S_IFREG | 0555;
        to->size = (int32_t)at->content.size;
        to->blocks = (int32_t)((at->content.size + BLOCK - 1) / BLOCK);
        to->ino = (uint16_t)(FIRST_INODE + archive_number(at->content.bytes));
    }
}

static int archived_read(struct file *f, struct transfer *t)
{
    const struct content *c = f->data;
    uint32_t at = (uint32_t)f->offset, rest = at < c->size ? c->size - at : 0, n = t->left < rest ? t->left : rest;
    return transfer_out(t, c->bytes + at, n) ? -EFAULT : (int)n;
}

static int archived_stat(struct file *f, struct user_stat *to)
{
    describe(&(struct place){ARCHIVED, *(const struct content *)f->data}, to);
    return 0;
}

static void archived_close(struct file *f)
{
    zone_free(&contents, f->data);
}

static struct vm_object *archived_object(struct file *f, int *error)
{
    const struct content *c = f->data;
    struct vm_object *object = vm_object_of_bytes(c->bytes, c->size);
    *error = object ? 0 : -ENOMEM;
    return object;
}

static const struct file_ops archived_ops = {.name = "archive",
                                             .read = archived_read,
                                             .close = archived_close,
                                             .stat = archived_stat,
                                             .object = archived_object};

static int folder_stat(struct file *f, struct user_stat *to)
{
    (void)f;
    describe(&(struct place){FOLDER, {0}}, to);
    return 0;
}

static int folder_entries(struct file *f, struct transfer *t)
{
    int done = 0;
    const char *name;
    for (; (name = archive_name((unsigned)f->offset)); f->offset++) {
        struct {
            struct user_dirent entry;
            char name[64];
        } it = {{.fileno = FIRST_INODE + (uint32_t)f->offset, .type = TYPE_FILE}, {0}};
        uint32_t length = strlen(name) < sizeof it.name ? strlen(name) : sizeof it.name - 1;
        memcpy(it.name, name, length);
        it.entry.namlen = (uint8_t)length;
        it.entry.reclen = (uint16_t)((sizeof it.entry + length + 4) & ~3u);
        if (it.entry.reclen > t->left)
            return done ? done : -EINVAL;
        if (transfer_out(t, &it, it.entry.reclen))
            return -EFAULT;
        done += it.entry.reclen;
    }
    return done;
}

static const struct file_ops folder_ops = {.name = "folder", .stat = folder_stat, .getdirentries = folder_entries};

static int null_read(struct file *f, struct transfer *t)
{
    (void)f, (void)t;
    return 0;
}

static int null_write(struct file *f, struct transfer *t)
{
    (void)f;
    return (int)t->left;
}

static int null_stat(struct file *f, struct user_stat *to)
{
    (void)f;
    describe(&(struct place){NULL_DEVICE, {0}}, to);
    return 0;
}

static const struct file_ops null_ops = {.name = "null", .read = null_read, .write = null_write, .stat = null_stat};

static struct file *open_archived(const struct content *content)
{
    struct content *c = zone_alloc(&contents);
    struct file *f = c ? file_create(&archived_ops, c, FILE_READ | FILE_SEEKS, 0) : 0;
    if (f)
        *c = *content;
    else if (c)
        zone_free(&contents, c);
    return f;
}

static uint32_t kind_of(uint32_t flags)
{
    switch (flags & O_ACCMODE) {
    case O_RDONLY: return FILE_READ;
    case O_WRONLY: return FILE_WRITE;
    default: return FILE_READ | FILE_WRITE;
    }
}

/* 0, with a file in *f. */
static int open_at(const struct place *at, uint32_t flags, struct file **f)
{
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    if (at->kind == NOTHING)
        return flags & O_CREAT ? -EROFS : -ENOENT;
    if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
        return -EEXIST;
    if (at->kind == FOLDER || at->kind == DEVICES) {
        *f = writes ? 0 : file_create(&folder_ops, 0, FILE_READ | FILE_SEEKS, 0);
        return *f ? 0 : writes ? -EISDIR : -ENOMEM;
    }
    if (at->kind == ARCHIVED && (writes || flags & O_TRUNC))
        return -EROFS;
    if (flags & O_DIRECTORY)
        return -ENOTDIR;
    *f = at->kind == CONSOLE       ? console_file()
         : at->kind == NULL_DEVICE ? file_create(&null_ops, 0, kind_of(flags), 0)
                                   : open_archived(&at->content);
    return *f ? 0 : -ENOMEM;
}

/* 0, or -EFAULT, -ENAMETOOLONG. */
static int copy_in_path(struct vm_map *map, uint32_t from, char *path)
{
    int error = copyinstr(map, path, from, USER_PATH_SIZE);
    return error == -E2BIG ? -ENAMETOOLONG : error;
}

static int find(struct vm_map *map, uint32_t from, struct place *at)
{
    char path[USER_PATH_SIZE];
    int error = copy_in_path(map, from, path);
    if (!error)
        *at = look_up(path);
    return error;
}

static int sys_open(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct place at;
    struct file *f;
    uint32_t flags = a[1];
    int fd = find(map, a[0], &at);
    if (!fd)
        fd = open_at(&at, flags, &f);
    if (fd)
        return fd;
    f->flags = flags & (O_APPEND | O_NONBLOCK);
    fd = descriptor_open(p->descriptors, f, 0, flags & O_CLOEXEC);
    if (fd < 0)
        file_release(f);
    return fd;
}
SYSCALL(SYS_OPEN, sys_open);

static int sys_stat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    struct place at;
    struct user_stat st;
    int error = find(map, a[0], &at);
    if (error || at.kind == NOTHING)
        return error ? error : -ENOENT;
    describe(&at, &st);
    return copyout(map, a[1], &st, sizeof st);
}
SYSCALL(SYS_STAT, sys_stat);

static int sys_lstat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return sys_stat(p, map, a);
}
SYSCALL(SYS_LSTAT, sys_lstat);

static int sys_access(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    struct place at;
    int error = find(map, a[0], &at);
    if (error || at.kind == NOTHING)
        return error ? error : -ENOENT;
    if (a[1] & ~(uint32_t)(R_OK | W_OK | X_OK))
        return -EINVAL;
    bool device = at.kind == CONSOLE || at.kind == NULL_DEVICE;
    return a[1] & W_OK && !device ? -EROFS : a[1] & X_OK && device ? -EACCES : 0;
}
SYSCALL(SYS_ACCESS, sys_access);

static int sys_chdir(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    struct place at;
    int error = find(map, a[0], &at);
    return error ? error : at.kind == FOLDER ? 0 : at.kind == NOTHING ? -ENOENT : -ENOTDIR;
}
SYSCALL(SYS_CHDIR, sys_chdir);

static int sys_getcwd(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    return a[1] < 2 ? -ERANGE : copyout(map, a[0], "/", 2) ? -EFAULT : 2;
}
SYSCALL(SYS_GETCWD, sys_getcwd);

/* What would change something. */
static int sys_unlink(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    struct place at;
    int error = find(map, a[0], &at);
    return error ? error : at.kind == NOTHING ? -ENOENT : -EROFS;
}
SYSCALL(SYS_UNLINK, sys_unlink);
