/* Calls of toybox on Linux that this system does not have. A command that needs one reports that. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <mntent.h>
#include <pwd.h>
#include <sys/inotify.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ABSENT(...)     \
    __VA_ARGS__         \
    {                   \
        errno = ENOSYS; \
        return -1;      \
    }
ABSENT(ssize_t getxattr(const char *path, const char *name, void *to, size_t size))
ABSENT(ssize_t lgetxattr(const char *path, const char *name, void *to, size_t size))
ABSENT(ssize_t fgetxattr(int fd, const char *name, void *to, size_t size))
ABSENT(ssize_t listxattr(const char *path, char *to, size_t size))
ABSENT(ssize_t llistxattr(const char *path, char *to, size_t size))
ABSENT(ssize_t flistxattr(int fd, char *to, size_t size))
ABSENT(int setxattr(const char *path, const char *name, const void *from, size_t size, int how))
ABSENT(int lsetxattr(const char *path, const char *name, const void *from, size_t size, int how))
ABSENT(int fsetxattr(int fd, const char *name, const void *from, size_t size, int how))
ABSENT(int inotify_init(void))
ABSENT(int inotify_add_watch(int fd, const char *path, uint32_t mask))
ABSENT(int statfs(const char *path, struct statfs *to))
ABSENT(int endmntent(FILE *f))
ABSENT(int settimeofday(const struct timeval *to, const struct timezone *zone))

FILE *setmntent(const char *path, const char *type)
{
    errno = ENOENT;
    return 0;
}

struct mntent *getmntent(FILE *f)
{
    return 0;
}

/* Users and groups are numbers. */
struct passwd *getpwnam(const char *name)
{
    return 0;
}

struct group *getgrnam(const char *name)
{
    return 0;
}

int getgrgid_r(gid_t number, struct group *to, char *text, size_t size, struct group **found)
{
    *found = 0;
    return 0;
}

int getgrnam_r(const char *name, struct group *to, char *text, size_t size, struct group **found)
{
    *found = 0;
    return 0;
}

int lchown(const char *path, uid_t user, gid_t group)
{
    return fchownat(AT_FDCWD, path, user, group, AT_SYMLINK_NOFOLLOW);
}
