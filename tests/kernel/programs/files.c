/*
 * files [FOLDER [LOCKS FILES]]: POSIX's calls on files and names, in FOLDER (/), whose results stay there for the
 * host to read; with LOCKS locks of ranges, and FILES mapped files, at most 1000, at a time. Prints a line for each
 * check that fails, and "files: N checks".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE 2500
#define BYTES 20000

static unsigned checks, failed;

#define CHECK(condition)                                                     \
    do {                                                                     \
        checks++;                                                            \
        if (!(condition)) {                                                  \
            failed++;                                                        \
            printf("line %d: %s (errno %d)\n", __LINE__, #condition, errno); \
        }                                                                    \
    } while (0)
#define FAILS(call, number)                       \
    do {                                          \
        errno = 0;                                \
        CHECK((call) == -1 && errno == (number)); \
    } while (0)

static char byte_at(unsigned i)
{
    return (char)(i * 7 + i / 251);
}

static void reads_and_writes(void)
{
    static char text[BYTES], back[BYTES];
    struct stat s;
    for (unsigned i = 0; i < BYTES; i++)
        text[i] = byte_at(i);
    int fd = open("data", O_RDWR | O_CREAT | O_EXCL, 0640);
    CHECK(fd >= 0);
    for (unsigned at = 0; at < BYTES; at += PIECE)
        CHECK(write(fd, text + at, PIECE) == PIECE);
    CHECK(lseek(fd, 0, SEEK_CUR) == BYTES && read(fd, back, 1) == 0);
    CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, back, BYTES) == BYTES && !memcmp(text, back, BYTES));
    CHECK(pread(fd, back, 10, 5000) == 10 && !memcmp(back, text + 5000, 10) && lseek(fd, 0, SEEK_CUR) == BYTES);
    CHECK(pwrite(fd, "XY", 2, 1023) == 2 && pread(fd, back, 4, 1022) == 4 && back[1] == 'X' && back[2] == 'Y');
    CHECK(pwrite(fd, text + 1023, 2, 1023) == 2);
    FAILS(pread(fd, back, 1, -1), EINVAL);
    CHECK(!fstat(fd, &s) && S_ISREG(s.st_mode) && (s.st_mode & 07777) == 0640 && s.st_size == BYTES && s.st_nlink == 1);
    CHECK(!ftruncate(fd, 100) && !fstat(fd, &s) && s.st_size == 100);
    CHECK(!ftruncate(fd, 3000) && pread(fd, back, 2900, 100) == 2900);
    for (unsigned i = 0; i < 2900; i++)
        if (back[i])
            CHECK(!"a byte of a hole is not 0");
    CHECK(pwrite(fd, text, BYTES, 0) == BYTES && !fsync(fd));
    FAILS(pread(fd, (void *)4, 10, 0), EFAULT);
    CHECK(!close(fd));
    FAILS(open("data", O_RDWR | O_CREAT | O_EXCL, 0640), EEXIST);
    FAILS(open("data/x", O_RDONLY), ENOTDIR);
    FAILS(open("nothing", O_RDONLY), ENOENT);
    FAILS(open(".", O_WRONLY), EISDIR);
    FAILS(open("data", O_RDONLY | O_DIRECTORY), ENOTDIR);
    fd = open("data", O_RDONLY);
    FAILS(write(fd, text, 1), EBADF);
    CHECK(!close(fd));
    fd = open("log", O_WRONLY | O_CREAT | O_APPEND, 0666);
    int other = open("log", O_WRONLY | O_APPEND);
    for (unsigned i = 0; i < 8; i++) {
        CHECK(write(i % 2 ? other : fd, i % 2 ? "odd\n" : "even\n", i % 2 ? 4 : 5) == (i % 2 ? 4 : 5));
        CHECK(lseek(i % 2 ? other : fd, 0, SEEK_CUR) == (off_t)(i / 2 * 9 + (i % 2 ? 9 : 5)));
    }
    CHECK(!close(fd) && !close(other) && !stat("log", &s) && s.st_size == 36 && (s.st_mode & 07777) == 0644);
    fd = open("empty", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    CHECK(fd >= 0 && write(fd, "gone", 4) == 4 && !close(fd));
    fd = open("empty", O_WRONLY | O_TRUNC);
    CHECK(fd >= 0 && !fstat(fd, &s) && !s.st_size && !close(fd));
}

static unsigned entries(const char *path, const char *wanted)
{
    unsigned n = 0;
    DIR *d = opendir(path);
    CHECK(d);
    for (struct dirent *e; d && (e = readdir(d));)
        n += !wanted || !strcmp(e->d_name, wanted);
    if (d)
        closedir(d);
    return n;
}

static void names(void)
{
    struct stat s, t;
    char text[64];
    CHECK(!mkdir("d", 0777) && !stat("d", &s) && S_ISDIR(s.st_mode) && (s.st_mode & 0777) == 0755);
    FAILS(mkdir("d", 0777), EEXIST);
    CHECK(!mkdir("d/e", 0700) && !stat("d", &s) && s.st_nlink == 3);
    FAILS(rmdir("d"), ENOTEMPTY);
    FAILS(unlink("d"), EISDIR);
    CHECK(!link("log", "d/log") && !stat("log", &s) && !stat("d/log", &t) && s.st_ino == t.st_ino && s.st_nlink == 2);
    FAILS(link("log", "d/log"), EEXIST);
    FAILS(link("d", "d2"), EPERM);
    CHECK(!symlink("../data", "d/way") && readlink("d/way", text, sizeof text) == 7 && !memcmp(text, "../data", 7));
    CHECK(!lstat("d/way", &s) && S_ISLNK(s.st_mode) && !stat("d/way", &s) && s.st_size == BYTES);
    FAILS(open("d/way", O_RDONLY | O_NOFOLLOW), ELOOP);
    FAILS(readlink("data", text, sizeof text), EINVAL);
    CHECK(!symlink("circle", "circle"));
    FAILS(open("circle", O_RDONLY), ELOOP);
    CHECK(!unlink("circle"));
    CHECK(!rename("d/e", "d/f") && !stat("d/f", &s) && S_ISDIR(s.st_mode));
    FAILS(stat("d/e", &s), ENOENT);
    FAILS(rename("d", "d/f/d"), EINVAL);
    FAILS(rename("log", "d/f"), EISDIR);
    CHECK(!rename("empty", "d/f/moved") && !stat("d/f/moved", &s));
    CHECK(entries("d", 0) == 5 && entries("d", "way") == 1 && entries("d/f", "moved") == 1);
    CHECK(!unlink("d/f/moved") && !rmdir("d/f"));
    for (unsigned i = 0; i < 24; i++) {
        sprintf(text, "d/a file of a long name, number %u", i);
        int fd = open(text, O_CREAT | O_WRONLY, 0600);
        CHECK(fd >= 0 && !close(fd));
    }
    CHECK(entries("d", 0) == 28);
    for (unsigned i = 0; i < 24; i += 2) {
        sprintf(text, "d/a file of a long name, number %u", i);
        CHECK(!unlink(text));
    }
    CHECK(entries("d", 0) == 16);
    int fd = open("temporary", O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && write(fd, "still here", 10) == 10 && !unlink("temporary") && pread(fd, text, 10, 0) == 10);
    CHECK(!memcmp(text, "still here", 10) && !close(fd));
}

static void attributes(void)
{
    struct stat s;
    struct timeval both[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
    CHECK(!chmod("data", 0755) && !stat("data", &s) && (s.st_mode & 07777) == 0755 && !access("data", X_OK | R_OK));
    CHECK(!chmod("data", 0644) && !chown("data", 7, 8) && !stat("data", &s) && s.st_uid == 7 && s.st_gid == 8);
    CHECK(!chown("data", -1, 9) && !stat("data", &s) && s.st_uid == 7 && s.st_gid == 9);
    int its = open("data", O_RDONLY); /* the same by descriptor */
    CHECK(its >= 0 && !fchmod(its, 0751) && !fstat(its, &s) && (s.st_mode & 07777) == 0751 && s.st_uid == 7);
    CHECK(!fchown(its, 11, -1) && !stat("data", &s) && s.st_uid == 11 && s.st_gid == 9 && (s.st_mode & 0777) == 0751);
    CHECK(!fchown(its, 7, 9) && !fchmod(its, 0644) && !close(its) && fchmod(its, 0600) < 0 && errno == EBADF);
    FAILS(access("data", X_OK), EACCES);
    const struct timeval far[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = 1ll << 32}}; /* the latest that a file can have */
    CHECK(!utimes("data", far) && !stat("data", &s) && s.st_atime == INT32_MAX && s.st_mtime >= INT32_MAX);
    CHECK(!utimes("data", both) && !stat("data", &s) && s.st_atime == 1000 && s.st_mtime == 2000);
    CHECK(umask(077) == 022 && umask(022) == 077);
    CHECK(!truncate("log", 20) && !stat("log", &s) && s.st_size == 20);
    FAILS(truncate("log", -1), EINVAL);
}

static void places(const char *folder)
{
    char path[128], wanted[128];
    sprintf(wanted, "%s%sd", folder, strcmp(folder, "/") ? "/" : "");
    CHECK(!chdir("d") && getcwd(path, sizeof path) && !strcmp(path, wanted));
    CHECK(!access("way", R_OK) && !chdir(".."));
    int fd = open("d", O_RDONLY);
    CHECK(fd >= 0 && !fchdir(fd) && getcwd(path, sizeof path) && !strcmp(path, wanted) && !close(fd) && !chdir(folder));
    FAILS(chdir("data"), ENOTDIR);
    FAILS(chdir("nothing"), ENOENT);
    if (!fork()) {
        CHECK(!chroot("d") && !chdir("/") && getcwd(path, sizeof path) && !strcmp(path, "/"));
        CHECK(!access("/log", R_OK) && !access("/../../log", R_OK) && !chdir("..") && !access("log", R_OK));
        FAILS(access("/way", R_OK), ENOENT); /* ../data: there is nothing above */
        exit(failed != 0);
    }
    int status;
    CHECK(wait(&status) > 0 && !status && !access("data", R_OK));
    sync();
}

/* Stores through a mapping and writes are seen both ways, and by a child. */
static void maps(void)
{
    static char back[6000];
    int fd = open("mapped", O_RDWR | O_CREAT, 0644), status;
    for (unsigned i = 0; i < sizeof back; i++)
        back[i] = byte_at(i);
    CHECK(write(fd, back, sizeof back) == sizeof back);
    char *at = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *own = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 4096);
    CHECK(at != MAP_FAILED && own != MAP_FAILED && !memcmp(at, back, sizeof back) && !at[6000] && !at[8191]);
    at[5000] = 'a';
    CHECK(pread(fd, back, 1, 5000) == 1 && back[0] == 'a');
    CHECK(pwrite(fd, "bcd", 3, 5001) == 3 && !memcmp(at + 5000, "abcd", 4));
    own[0] = 'p';
    CHECK(at[4096] == byte_at(4096));
    if (!fork()) {
        at[4] = 'f';
        own[1] = 'q';
        exit(0);
    }
    CHECK(wait(&status) > 0 && !status && at[4] == 'f' && own[1] == byte_at(4097));
    CHECK(!msync(at, 8192, MS_SYNC));
    CHECK(pread(fd, at + 4096, 100, 0) == 100 && !memcmp(at + 4096, at, 100));
    CHECK(!munmap(own, 4096) && !close(fd) && at[5003] == 'd' && !munmap(at, 8192));
    fd = open("mapped", O_RDONLY);
    CHECK(mmap(0, 4096, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    CHECK(read(fd, back, 5) == 5 && back[4] == 'f' && !close(fd) && !unlink("mapped"));
}

static int locked(int fd, int command, int type, int start, int length)
{
    struct flock l = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    int error = fcntl(fd, command, &l);
    return error ? error : l.l_type;
}

/* Locks of ranges, seen by a child; and those released with a descriptor, which another process waits for. */
static void record_locks(void)
{
    int fd = open("locked", O_CREAT | O_RDWR, 0644), reader = open("locked", O_RDONLY), status, way[2];
    char byte;
    pid_t parent = getpid();
    CHECK(fd >= 0 && reader >= 0 && !pipe(way));
    CHECK(locked(fd, F_SETLK, F_WRLCK, 10, 20) == F_WRLCK && locked(fd, F_SETLK, F_RDLCK, 15, 5) == F_RDLCK);
    CHECK(locked(fd, F_SETLK, F_UNLCK, 25, 1) == F_UNLCK && locked(fd, F_GETLK, F_WRLCK, 0, 0) == F_UNLCK);
    FAILS(locked(reader, F_SETLK, F_WRLCK, 100, 1), EBADF);
    FAILS(locked(fd, F_SETLK, 77, 100, 1), EINVAL);
    FAILS(locked(way[0], F_GETLK, F_RDLCK, -1, 1), EINVAL);
    pid_t child = fork();
    if (!child) {
        struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
        FAILS(locked(fd, F_SETLK, F_WRLCK, 16, 1), EAGAIN);
        FAILS(locked(fd, F_SETLK, F_RDLCK, 14, 1), EAGAIN);
        CHECK(locked(fd, F_SETLK, F_RDLCK, 17, 2) == F_RDLCK && locked(fd, F_SETLK, F_WRLCK, 25, 1) == F_WRLCK);
        CHECK(!fcntl(fd, F_GETLK, &l) && l.l_type == F_WRLCK && l.l_start == 10 && l.l_len == 5 && l.l_pid == parent);
        CHECK(write(way[1], "x", 1) == 1 && locked(fd, F_SETLKW, F_WRLCK, 0, 0) == F_WRLCK);
        _exit(failed != 0);
    }
    CHECK(read(way[0], &byte, 1) == 1);
    FAILS(locked(fd, F_SETLK, F_WRLCK, 25, 1), EAGAIN);
    CHECK(!close(reader)); /* which releases all this process's locks of the file */
    CHECK(wait(&status) == child && !status && locked(fd, F_SETLK, F_WRLCK, 0, 0) == F_WRLCK);
    CHECK(!close(fd) && !close(way[0]) && !close(way[1]) && !unlink("locked"));
}

/* Locks, and mapped files, are limited only by memory; all of them can be had again. */
static void many(int locks, int files)
{
    static char *at[1000];
    unsigned wrong = 0;
    int fd = open("locked", O_CREAT | O_RDWR, 0644), status;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < locks; i++)
            wrong += locked(fd, F_SETLK, F_WRLCK, 2 * i, 1) != F_WRLCK;
        if (turn && !fork()) {
            for (int i = 0; i < 2 * locks; i++)
                wrong += locked(fd, F_GETLK, F_RDLCK, i, 1) != (i & 1 ? F_UNLCK : F_WRLCK);
            _exit(wrong != 0);
        }
        CHECK(!turn || (wait(&status) > 0 && !status));
        CHECK(!wrong && locked(fd, F_SETLK, F_UNLCK, 0, 0) == F_UNLCK);
    }
    CHECK(!close(fd) && !unlink("locked") && !mkdir("many", 0755) && !chdir("many"));
    for (int i = 0; i < files; i++) {
        char name[] = {(char)('a' + i / 100), (char)('0' + i / 10 % 10), (char)('0' + i % 10), 0};
        fd = open(name, O_RDWR | O_CREAT, 0644);
        wrong += fd < 0 || write(fd, name, 4) != 4;
        at[i] = mmap(0, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        wrong += at[i] == MAP_FAILED || close(fd) || unlink(name);
    }
    CHECK(!wrong);
    for (int i = 0; !wrong && i < files; i++)
        wrong += at[i][1] != '0' + i / 10 % 10 || at[i][2] != '0' + i % 10 || munmap(at[i], 4);
    CHECK(!wrong && !chdir("..") && !rmdir("many"));
}

/* A thread waiting for a lock by a descriptor that its process closes meanwhile gets none: it would have no owner. */
static void *waits_for_lock(void *arg)
{
    int fd = *(int *)arg;
    *(int *)arg = locked(fd, F_SETLKW, F_WRLCK, 0, 0) == -1 ? errno : 0;
    return 0;
}

static void lock_of_a_closed_descriptor(void)
{
    int fd = open("locked", O_CREAT | O_RDWR, 0644), way[2], status;
    char byte = 0;
    CHECK(fd >= 0 && !pipe(way) && locked(fd, F_SETLK, F_WRLCK, 0, 0) == F_WRLCK);
    if (!fork()) {
        int mine = open("locked", O_RDWR), given = mine;
        pthread_t waiter;
        CHECK(mine >= 0 && !pthread_create(&waiter, 0, waits_for_lock, &given));
        usleep(5000);
        CHECK(!close(mine) && write(way[1], "x", 1) == 1 && !pthread_join(waiter, 0) && given == EBADF);
        CHECK(write(way[1], "y", 1) == 1);
        usleep(5000); /* so that its end is not what releases a lock */
        _exit(failed != 0);
    }
    CHECK(read(way[0], &byte, 1) == 1 && byte == 'x' && locked(fd, F_SETLK, F_UNLCK, 0, 0) == F_UNLCK);
    CHECK(read(way[0], &byte, 1) == 1 && byte == 'y' && locked(fd, F_SETLK, F_WRLCK, 0, 0) == F_WRLCK);
    CHECK(wait(&status) > 0 && !status && !close(fd) && !close(way[0]) && !close(way[1]) && !unlink("locked"));
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "/";
    CHECK(!chdir(folder));
    reads_and_writes();
    names();
    attributes();
    maps();
    record_locks();
    many(argc > 3 ? atoi(argv[2]) : 40, argc > 3 ? atoi(argv[3]) : 3);
    lock_of_a_closed_descriptor();
    places(folder);
    printf("files: %u checks, %u failed\n", checks, failed);
    return failed != 0;
}
