/*
 * readonly DEVICE: mounts it read-only, and makes each call that would change something there, or read it. On the
 * device are a file f with "text", a folder d with a file x in it, and a symbolic link l to f.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static unsigned checks, failed;

static void check(bool right, const char *what)
{
    checks++;
    if (right)
        return;
    failed++;
    printf("wrong: %s (errno %d)\n", what, errno);
}

#define CHECK(what) check(what, #what)
#define FAILS(call, error) (errno = 0, check((call) == -1 && errno == (error), #call " gives " #error))

static void is_not_changed(void)
{
    FAILS(open("f", O_WRONLY), EROFS);
    FAILS(open("f", O_RDWR), EROFS);
    FAILS(open("f", O_WRONLY | O_APPEND), EROFS);
    FAILS(open("f", O_RDONLY | O_TRUNC), EROFS);
    FAILS(open("l", O_WRONLY), EROFS);
    FAILS(open("new", O_CREAT | O_RDONLY, 0644), EROFS);
    FAILS(open("f", O_CREAT | O_EXCL | O_WRONLY, 0644), EEXIST);
    FAILS(open("none", O_WRONLY), ENOENT);
    FAILS(open("d", O_WRONLY), EISDIR);
    FAILS(mkdir("new", 0755), EROFS);
    FAILS(mkdir("d", 0755), EEXIST);
    FAILS(mknod("new", S_IFIFO | 0644, 0), EROFS);
    FAILS(mknod("f", S_IFIFO | 0644, 0), EEXIST);
    FAILS(symlink("f", "new"), EROFS);
    FAILS(symlink("f", "l"), EEXIST);
    FAILS(link("f", "new"), EROFS);
    FAILS(link("f", "d/x"), EEXIST);
    FAILS(unlink("f"), EROFS);
    FAILS(unlink("l"), EROFS);
    FAILS(unlink("d/x"), EROFS);
    FAILS(rmdir("d"), EROFS);
    FAILS(rename("f", "new"), EROFS);
    FAILS(rename("f", "d/x"), EROFS);
    FAILS(rename("d/x", "d/x"), EROFS);
    FAILS(chmod("f", 0600), EROFS);
    FAILS(chown("f", 5, 5), EROFS);
    FAILS(utimes("f", 0), EROFS);
    FAILS(truncate("f", 0), EROFS);
    FAILS(truncate("f", 4), EROFS);
    FAILS(access("f", W_OK), EROFS);
    FAILS(access("d", W_OK), EROFS);
    FAILS(mount("ext2", "/mnt", 0, "disk0"), EBUSY);
}

static void is_read(void)
{
    char text[8] = "";
    struct stat s;
    int fd = open("f", O_RDONLY | O_CREAT, 0644), d = open("d", O_RDONLY);
    CHECK(fd >= 0 && read(fd, text, sizeof text) == 4 && !memcmp(text, "text", 4));
    FAILS(write(fd, "x", 1), EBADF);
    FAILS(fchmod(fd, 0600), EROFS);
    FAILS(fchown(fd, 5, 5), EROFS);
    CHECK(mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EACCES);
    char *own = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    CHECK(own != MAP_FAILED && !memcmp(own, "text", 5));
    own[0] = 'T';
    CHECK(pread(fd, text, 4, 0) == 4 && !memcmp(text, "text", 4));
    char *seen = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(seen != MAP_FAILED && seen[0] == 't' && !msync(seen, 4096, MS_SYNC) && !munmap(seen, 4096));
    CHECK(!munmap(own, 4096) && !fsync(fd) && !fsync(d));
    CHECK(readlink("l", text, sizeof text) == 1 && text[0] == 'f' && !access("f", R_OK));
    CHECK(!stat("l", &s) && S_ISREG(s.st_mode) && s.st_size == 4 && !lstat("l", &s) && S_ISLNK(s.st_mode));
    FAILS(unmount("/mnt", 0), EBUSY);
    CHECK(!close(fd) && !close(d));
    sync();
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "disk0";
    CHECK(!mount("ext2", "/mnt", MNT_RDONLY, device) && !chdir("/mnt"));
    for (int turn = 0; turn < 2; turn++) { /* and when all of it is in memory */
        is_not_changed();
        is_read();
    }
    CHECK(!chdir("/") && !unmount("/mnt", 0) && !mount("ext2", "/mnt", MNT_RDONLY, device));
    FAILS(mkdir("/mnt/new", 0755), EROFS);
    printf("readonly: %u checks, %u failed\n", checks, failed); /* it is unmounted by the kernel */
    return failed != 0;
}
