/* Files: open with every flag on every kind of name, reading, writing, offsets, sizes, descriptors. */
#include <limits.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "names.h"

static const struct {
    const char *name;
    int flags;
} ways[] = {
#define W(flags) {#flags, flags}
    W(O_RDONLY),
    W(O_WRONLY),
    W(O_RDWR),
    W(O_RDONLY | O_CREAT),
    W(O_WRONLY | O_CREAT),
    W(O_RDWR | O_CREAT | O_EXCL),
    W(O_RDONLY | O_EXCL),
    W(O_WRONLY | O_TRUNC),
    W(O_RDWR | O_CREAT | O_TRUNC),
    W(O_RDONLY | O_DIRECTORY),
    W(O_RDWR | O_DIRECTORY),
    W(O_RDONLY | O_NOFOLLOW),
    W(O_WRONLY | O_CREAT | O_NOFOLLOW),
    W(O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
    W(O_WRONLY | O_APPEND),
#undef W
};
#define WAYS (sizeof ways / sizeof ways[0])

static void opens_one(const char *path, unsigned way)
{
    char what[128];
    snprintf(what, sizeof what, "\"%s\", %s", path, ways[way].name);
    int fd = (int)SHOW_AS(what, open(path, ways[way].flags, 0666));
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && ways[way].flags & (O_CREAT | O_TRUNC)) {
        SHOW_TREE("left");
        judge_tree();
    }
}

static void opens(void)
{
    judge_tree();
    for (unsigned way = 0; way < WAYS; way++)
        for (unsigned n = 0; n < 2 * NAMES + ODD; n++) {
            char path[64];
            if (n < 2 * NAMES)
                snprintf(path, sizeof path, "%s%s", judge_names[n / 2], n % 2 ? "/" : "");
            else
                strcpy(path, judge_odd[n - 2 * NAMES]);
            if (TAKEN)
                opens_one(path, way);
        }
    SHOW_TREE("nothing else");
}

static void long_names(void)
{
    static char name[PATH_MAX + 8];
    static const unsigned lengths[] = {1, 31, 254, 255, 256};
    judge_clean();
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char what[64];
        memset(name, 'n', lengths[i]);
        name[lengths[i]] = 0;
        snprintf(what, sizeof what, "a name of %u", lengths[i]);
        int fd = (int)SHOW_AS(what, open(name, O_CREAT | O_RDWR, 0644));
        if (fd >= 0)
            SHOW(close(fd));
        SHOW_AS("stat of it", access(name, F_OK));
        SHOW_AS("a folder", mkdir(name, 0755));
        SHOW_AS("unlink", unlink(name));
    }
    SHOW_TREE("left");
}

static void reads_and_writes(void)
{
    static char bytes[9000], back[9000];
    judge_clean();
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)('a' + i % 23);
    int fd = (int)SHOW(open("f", O_CREAT | O_RDWR, 0640));
    SHOW(read(fd, back, 1));
    SHOW(write(fd, bytes, 10));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(read(fd, back, 10));
    SHOW(lseek(fd, 3, SEEK_SET));
    SHOW(read(fd, back, 100));
    SHOW_BYTES("read", back, 7);
    SHOW(write(fd, bytes, sizeof bytes));
    SHOW(lseek(fd, 0, SEEK_END));
    SHOW(pread(fd, back, sizeof back, 5));
    SHOW_IF(!memcmp(back, "fghij", 5) && !memcmp(back + 5, bytes, 8995));
    SHOW(pread(fd, back, 10, 9010));
    SHOW(pread(fd, back, 10, 9005));
    SHOW(pread(fd, back, 10, 1000000));
    SHOW(pread(fd, back, 10, -1));
    SHOW(pwrite(fd, "X", 1, -1));
    SHOW(pwrite(fd, "XYZ", 3, 20000));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(lseek(fd, 0, SEEK_END));
    SHOW(pread(fd, back, 2000, 18500));
    SHOW_BYTES("the end", back + 1490, 13);
    SHOW(lseek(fd, -1, SEEK_SET));
    SHOW(lseek(fd, -20003, SEEK_END));
    SHOW(lseek(fd, -20004, SEEK_END));
    SHOW(lseek(fd, -1, SEEK_CUR));
    SHOW(lseek(fd, 0, 77));
    SHOW(lseek(fd, 0, -1));
    SHOW(lseek(fd, 50000, SEEK_SET));
    SHOW(read(fd, back, 10));
    SHOW(write(fd, "", 0));
    SHOW(lseek(fd, 0, SEEK_END));
    SHOW(read(fd, NOWHERE, 10));
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(read(fd, NOWHERE, 10));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(write(fd, NOWHERE, 10));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(read(fd, back, 0));
    SHOW(fsync(fd));
    SHOW(close(fd));
    SHOW(close(fd));
    SHOW(read(fd, back, 1));
    SHOW(write(fd, back, 1));
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(fsync(fd));
    SHOW(ftruncate(fd, 0));
    SHOW(read(-1, back, 1));
    SHOW(close(-1));
    fd = open("f", O_RDONLY);
    SHOW(write(fd, back, 1));
    SHOW(write(fd, back, 0));
    SHOW(pwrite(fd, back, 1, 0));
    SHOW(ftruncate(fd, 5));
    SHOW(fsync(fd));
    close(fd);
    fd = open("f", O_WRONLY);
    SHOW(read(fd, back, 1));
    SHOW(read(fd, back, 0));
    SHOW(pread(fd, back, 1, 0));
    SHOW(ftruncate(fd, 5));
    SHOW(write(fd, "abc", 3));
    SHOW(lseek(fd, 0, SEEK_END));
    close(fd);
}

static void appends(void)
{
    char back[64];
    judge_clean();
    int fd = (int)SHOW(open("log", O_CREAT | O_RDWR | O_APPEND, 0644)), other = open("log", O_RDWR);
    SHOW(write(fd, "one", 3));
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(write(fd, "two", 3));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(lseek(other, 10, SEEK_SET));
    SHOW(write(other, "far", 3));
    SHOW(write(fd, "end", 3));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(lseek(fd, 1, SEEK_SET));
    SHOW(read(fd, back, 2));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(write(fd, "", 0));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(pread(other, back, 64, 0));
    SHOW_BYTES("all", back, 16);
    SHOW_IF(fcntl(fd, F_GETFL) & O_APPEND);
    SHOW(fcntl(fd, F_SETFL, 0));
    SHOW_IF(fcntl(fd, F_GETFL) & O_APPEND);
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(write(fd, "ONE", 3));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(fcntl(other, F_SETFL, O_APPEND));
    SHOW(write(other, "!", 1));
    SHOW(lseek(other, 0, SEEK_CUR));
    SHOW_IF((fcntl(other, F_GETFL) & O_ACCMODE) == O_RDWR);
    SHOW(close(fd));
    SHOW(close(other));
}

static void sizes(void)
{
    static const long lengths[] = {0, 1, 511, 512, 1023, 1024, 1025, 4095, 4096, 4097, 12288, 12289, 100000};
    static char back[4200];
    struct stat s;
    judge_clean();
    int fd = open("f", O_CREAT | O_RDWR, 0644);
    for (unsigned from = 0; from < 13; from++)
        for (unsigned to = 0; to < 13; to++) {
            char what[64];
            if (!TAKEN)
                continue;
            snprintf(what, sizeof what, "from %ld to %ld", lengths[from], lengths[to]);
            if (ftruncate(fd, 0) || ftruncate(fd, lengths[from]) ||
                (from && pwrite(fd, "z", 1, lengths[from] - 1) != 1))
                perror("sizes");
            SHOW_AS(what, ftruncate(fd, lengths[to]));
            if (ftruncate(fd, lengths[to] + 4100) || pread(fd, back, 4100, lengths[to]) != 4100)
                perror("sizes");
            long other = 0;
            for (unsigned i = 0; i < 4100; i++)
                other += back[i] != 0;
            SAY("bytes behind it that are not 0", "%ld", other);
        }
    SHOW(ftruncate(fd, -1));
    SHOW(truncate("f", -1));
    SHOW(truncate("f", 7));
    SHOW(fstat(fd, &s));
    SAY("size", "%ld", (long)s.st_size);
    close(fd);
    judge_tree();
    for (unsigned n = 0; n < 2 * NAMES + ODD; n++) {
        char path[64], what[96];
        if (n < 2 * NAMES)
            snprintf(path, sizeof path, "%s%s", judge_names[n / 2], n % 2 ? "/" : "");
        else
            strcpy(path, judge_odd[n - 2 * NAMES]);
        snprintf(what, sizeof what, "truncate(\"%s\", 1)", path);
        if (TAKEN)
            SHOW_AS(what, truncate(path, 1));
    }
    SHOW_TREE("left");
}

static void descriptors(void)
{
    char back[8];
    judge_clean();
    judge_file("f");
    int fd = (int)SHOW(open("f", O_RDWR)), other = (int)SHOW(dup(fd));
    SHOW(write(fd, "0123456789", 10));
    SHOW(lseek(other, 0, SEEK_CUR));
    SHOW(lseek(other, 2, SEEK_SET));
    SHOW(read(fd, back, 2));
    SHOW_BYTES("by the one, where the other was", back, 2);
    SHOW(dup2(fd, 20));
    SHOW(dup2(fd, fd));
    SHOW(dup2(20, other));
    SHOW(dup2(99, 5));
    SHOW(dup2(-1, 5));
    SHOW(dup2(fd, -1));
    SHOW(dup(99));
    SHOW(fcntl(fd, F_GETFD));
    SHOW(fcntl(fd, F_SETFD, FD_CLOEXEC));
    SHOW(fcntl(fd, F_GETFD));
    SHOW(fcntl(other, F_GETFD));
    SHOW(dup2(fd, 21));
    SHOW(fcntl(21, F_GETFD));
    SHOW(fcntl(fd, F_DUPFD, 30));
    SHOW(fcntl(fd, F_DUPFD, 30));
    SHOW(fcntl(fd, F_DUPFD_CLOEXEC, 40));
    SHOW(fcntl(40, F_GETFD));
    SHOW(fcntl(30, F_GETFD));
    SHOW(fcntl(fd, F_DUPFD, -1));
    SHOW(fcntl(99, F_GETFD));
    SHOW(fcntl(fd, 9999, 0));
    SHOW(close(fd));
    SHOW(fcntl(other, F_GETFL) & O_ACCMODE);
    int lowest = (int)SHOW(open("f", O_RDONLY | O_CLOEXEC));
    SHOW(fcntl(lowest, F_GETFD));
    SHOW(lseek(0, 0, SEEK_CUR));
    int way[2];
    SHOW(pipe(way));
    SHOW(lseek(way[0], 0, SEEK_CUR));
    SHOW(pread(way[0], back, 1, 0));
    SHOW(pwrite(way[1], back, 1, 0));
    SHOW(ftruncate(way[1], 0));
    SHOW(fsync(way[1]));
    for (int i = 3; i < 50; i++)
        close(i);
}

static void pieces(void)
{
    char a[4], b[1], c[700], d[3000];
    struct iovec piece[4] = {{a, sizeof a}, {b, 0}, {c, sizeof c}, {d, sizeof d}};
    judge_clean();
    memset(a, 'a', sizeof a);
    memset(c, 'c', sizeof c);
    memset(d, 'd', sizeof d);
    int fd = open("f", O_CREAT | O_RDWR, 0644);
    SHOW(writev(fd, piece, 4));
    SHOW(writev(fd, piece, 1));
    SHOW(writev(fd, piece, 0));
    SHOW(writev(fd, piece, -judge_one));
    SHOW(lseek(fd, 0, SEEK_SET));
    memset(c, 0, sizeof c);
    SHOW(readv(fd, piece, 3));
    SHOW_BYTES("the beginning of the third", c, 3);
    SHOW(lseek(fd, -2, SEEK_END));
    SHOW(readv(fd, piece, 4));
    SHOW(readv(fd, piece, 4));
    SHOW(readv(99, piece, 4));
    piece[1].iov_base = NOWHERE;
    piece[1].iov_len = 10;
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(readv(fd, piece, 2));
    SHOW(readv(fd, piece + 1, 1));
    close(fd);
}

static void modes(void)
{
    static const int masks[] = {0, 022, 077, 0777};
    static const int wanted[] = {0, 0600, 0666, 0777, 04755, 01777, 07777};
    struct stat s;
    judge_clean();
    for (unsigned m = 0; m < 4; m++)
        for (unsigned w = 0; w < 7; w++) {
            char what[64];
            if (!TAKEN)
                continue;
            SHOW_AS("umask before", (umask((mode_t)masks[m]), 0));
            snprintf(what, sizeof what, "file %#o, mask %#o", (unsigned)wanted[w], (unsigned)masks[m]);
            close(open("f", O_CREAT | O_RDONLY, wanted[w]));
            stat("f", &s);
            SAY(what, "%#o", (unsigned)s.st_mode);
            mkdir("d", (mode_t)wanted[w]);
            stat("d", &s);
            SAY("folder", "%#o", (unsigned)s.st_mode);
            SHOW(chmod("f", (mode_t)wanted[w]));
            stat("f", &s);
            SAY("chmod", "%#o", (unsigned)s.st_mode);
            unlink("f");
            rmdir("d");
        }
    SAY("umask", "%#o", (unsigned)umask(022));
    judge_file("f");
    SHOW(umask(0177777));
    SAY("umask of more bits", "%#o", (unsigned)umask(022));
    SHOW(access("f", R_OK | W_OK));
    SHOW(access("f", F_OK));
    SHOW(access("f", 8));
    SHOW(access("f", -1));
    SHOW(access("m", F_OK));
    SHOW(access("f/", F_OK));
    SHOW(chmod("f", 0));
    SHOW(access("f", X_OK));
    SHOW(chmod("f", 0111));
    SHOW(access("f", X_OK));
    SHOW(chmod("m", 0644));
    SHOW(chmod("f/", 0644));
    SHOW(access(".", X_OK));
}

/* A file without a name, while it is open, across fork too. */
static void removed(void)
{
    char back[16];
    struct stat s;
    int status;
    judge_clean();
    int fd = open("f", O_CREAT | O_RDWR, 0644);
    SHOW(write(fd, "abcdef", 6));
    SHOW(unlink("f"));
    SHOW(fstat(fd, &s));
    SAY("links", "%u", (unsigned)s.st_nlink);
    SHOW(open("f", O_RDWR));
    SHOW(pwrite(fd, "XY", 2, 100));
    SHOW(ftruncate(fd, 4));
    SHOW(pread(fd, back, 16, 0));
    fflush(stdout);
    if (!fork()) {
        SHOW(lseek(fd, 1, SEEK_SET));
        SHOW(write(fd, "child", 5));
        fflush(stdout);
        _exit(close(fd));
    }
    SHOW_IF(wait(&status) > 0);
    SHOW_STATUS("child", status);
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(pread(fd, back, 16, 0));
    SHOW_BYTES("what is in it", back, 6);
    judge_file("f");
    SHOW(pread(fd, back, 16, 0));
    SHOW(close(fd));
    SHOW_TREE("left");
}

int main(int argc, char **argv)
{
    judge_begin(argc, argv);
    opens();
    long_names();
    reads_and_writes();
    appends();
    sizes();
    descriptors();
    pieces();
    modes();
    removed();
    return 0;
}
