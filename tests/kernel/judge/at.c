/* Paths that begin at a directory's descriptor: openat and its family, with each kind of descriptor, name and flag. */
#include "names.h"

#define NOT_OPEN 77
#define NO_FLAG 0x40000000

/* What paths begin at: the open file, by the names of names.h; "" is the current folder, "-" nothing. */
static const char *const places[] = {"", "d", "e", "f", "-"};
#define PLACES (sizeof places / sizeof places[0])
static int place[PLACES];

static void open_places(void)
{
    for (unsigned i = 0; i < PLACES; i++)
        place[i] = !*places[i]         ? AT_FDCWD
                   : *places[i] == '-' ? NOT_OPEN
                                       : fcntl(open(places[i], O_RDONLY), F_DUPFD_CLOEXEC, 20);
}

static void close_places(void)
{
    for (unsigned i = 0; i < PLACES; i++)
        if (place[i] >= 0 && place[i] != NOT_OPEN)
            close(place[i]);
    for (int fd = 3; fd < 20; fd++)
        close(fd);
}

static const char *const paths[] = {"x", "y", "f",    "d",    "m",  "lf",        "ld", "lm",
                                    "",  ".", "../f", "y/..", "x/", "/w/at/d/x", "d/x"};
#define PATHS (sizeof paths / sizeof paths[0])

static int opened(int at, const char *path, int flags)
{
    return openat(at, path, flags, 0644);
}

static int told(int at, const char *path, int flags)
{
    struct stat s;
    int error = fstatat(at, path, &s, flags);
    if (!error)
        judge_say("told", path, "%#o, %u", (unsigned)s.st_mode & S_IFMT,
                  S_ISDIR(s.st_mode) ? 0u : (unsigned)s.st_nlink);
    return error;
}

static int made_folder(int at, const char *path, int flags)
{
    return mkdirat(at, path, 0755);
}

static int made_fifo(int at, const char *path, int flags)
{
    return mkfifoat(at, path, 0644);
}

static int made_symlink(int at, const char *path, int flags)
{
    return symlinkat("text", at, path);
}

static int read_to(int at, const char *path, int flags)
{
    char text[8] = "????????";
    int n = (int)readlinkat(at, path, text, sizeof text);
    if (n >= 0)
        judge_bytes("read_to", path, text, n);
    return n;
}

static int accessed(int at, const char *path, int flags)
{
    return faccessat(at, path, R_OK, flags);
}

static int mode_changed(int at, const char *path, int flags)
{
    return fchmodat(at, path, 0700, flags);
}

static int owner_changed(int at, const char *path, int flags)
{
    struct stat s;
    int error = fchownat(at, path, 0, 0, flags), number = errno;
    if (!error && !fstatat(at, path, &s, flags))
        judge_say("owner_changed", path, "%u %u", (unsigned)s.st_uid, (unsigned)s.st_gid);
    errno = number;
    return error;
}

static int times_changed(int at, const char *path, int flags)
{
    const struct timespec to[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
    struct stat s;
    int error = utimensat(at, path, to, flags), number = errno;
    if (!error && !fstatat(at, path, &s, flags))
        judge_say("times_changed", path, "%ld %ld", (long)s.st_atime, (long)s.st_mtime);
    errno = number;
    return error;
}

static const struct {
    const char *name;
    int (*call)(int at, const char *path, int flags);
    int flags;
    int changes;
} calls[] = {{"openat", opened, O_RDONLY, 0},
             {"openat O_DIRECTORY", opened, O_RDONLY | O_DIRECTORY, 0},
             {"openat O_NOFOLLOW", opened, O_RDONLY | O_NOFOLLOW, 0},
             {"openat O_CREAT", opened, O_WRONLY | O_CREAT, 1},
             {"openat O_EXCL", opened, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 1},
             {"fstatat", told, 0, 0},
             {"fstatat AT_SYMLINK_NOFOLLOW", told, AT_SYMLINK_NOFOLLOW, 0},
             {"fstatat AT_EMPTY_PATH", told, AT_EMPTY_PATH, 0},
             {"fstatat NO_FLAG", told, NO_FLAG, 0},
             {"mkdirat", made_folder, 0, 1},
             {"mkfifoat", made_fifo, 0, 1},
             {"symlinkat", made_symlink, 0, 1},
             {"readlinkat", read_to, 0, 0},
             {"unlinkat", unlinkat, 0, 1},
             {"unlinkat AT_REMOVEDIR", unlinkat, AT_REMOVEDIR, 1},
             {"unlinkat NO_FLAG", unlinkat, NO_FLAG, 1},
             {"faccessat", accessed, 0, 0},
             {"faccessat AT_EACCESS", accessed, AT_EACCESS, 0},
             {"faccessat AT_SYMLINK_NOFOLLOW", accessed, AT_SYMLINK_NOFOLLOW, 0},
             {"faccessat NO_FLAG", accessed, NO_FLAG, 0},
             {"fchmodat", mode_changed, 0, 0},
             {"fchmodat NO_FLAG", mode_changed, NO_FLAG, 0},
             {"fchownat", owner_changed, 0, 0},
             {"fchownat AT_SYMLINK_NOFOLLOW", owner_changed, AT_SYMLINK_NOFOLLOW, 0},
             {"fchownat AT_EMPTY_PATH", owner_changed, AT_EMPTY_PATH, 0},
             {"fchownat NO_FLAG", owner_changed, NO_FLAG, 0},
             {"utimensat", times_changed, 0, 0},
             {"utimensat AT_SYMLINK_NOFOLLOW", times_changed, AT_SYMLINK_NOFOLLOW, 0},
             {"utimensat NO_FLAG", times_changed, NO_FLAG, 0}};

static void one_path(void)
{
    judge_tree();
    for (unsigned c = 0; c < sizeof calls / sizeof calls[0]; c++)
        for (unsigned at = 0; at < PLACES; at++)
            for (unsigned n = 0; n < PATHS; n++) {
                char what[96];
                if (!TAKEN)
                    continue;
                snprintf(what, sizeof what, "%s %s:\"%s\"", calls[c].name, places[at], paths[n]);
                open_places();
                int result = (int)SHOW_AS(what, calls[c].call(place[at], paths[n], calls[c].flags));
                close_places();
                if (result >= 0 && calls[c].changes) {
                    SHOW_TREE("left");
                    judge_tree();
                }
            }
    SHOW_TREE("nothing else");
}

/* These tests are about which of the two has a name of its own. */
static void two_paths(void)
{
    static const char *const from[] = {"x", "f", "y", "lf", "m", ""}, *const to[] = {"n",  "x",         "../n", "y",
                                                                                     "m/", "/w/at/e/n", ""};
    static const char *const names[] = {"renameat", "linkat", "linkat AT_SYMLINK_FOLLOW", "linkat NO_FLAG"};
    judge_tree();
    for (unsigned c = 0; c < 4; c++)
        for (unsigned i = 0; i < PLACES * PLACES; i++)
            for (unsigned n = 0; n < 6 * 7; n++) {
                unsigned a = i / PLACES, b = i % PLACES;
                const char *old = from[n / 7], *new = to[n % 7];
                char what[96];
                if (!TAKEN)
                    continue;
                snprintf(what, sizeof what, "%s %s:\"%s\" %s:\"%s\"", names[c], places[a], old, places[b], new);
                open_places();
                int result = (int)SHOW_AS(what, c == 0 ? renameat(place[a], old, place[b], new)
                                                       : linkat(place[a], old, place[b], new,
                                                                c == 1   ? 0
                                                                : c == 2 ? AT_SYMLINK_FOLLOW
                                                                         : NO_FLAG));
                close_places();
                if (!result) {
                    SHOW_TREE("left");
                    judge_tree();
                }
            }
    SHOW_TREE("nothing else");
}

/* An open file stays where it is, wherever the folder moves, and however it is named. */
static void moved_places(void)
{
    struct stat s;
    judge_tree();
    int d = open("d", O_RDONLY | O_DIRECTORY);
    SHOW(rename("d", "e/moved"));
    SHOW(fstatat(d, "x", &s, 0));
    SHOW(fstatat(d, "../../f", &s, 0));
    SHOW(fstatat(d, "../f", &s, 0));
    SHOW(openat(d, "new", O_CREAT | O_WRONLY, 0644));
    SHOW(mkdirat(d, "../beside", 0755));
    SHOW_TREE("left");
    SHOW(chdir("e"));
    SHOW(fstatat(d, "x", &s, 0));
    SHOW(renameat(d, "x", AT_FDCWD, "x"));
    judge_home();
    SHOW_TREE("left");
    SHOW(unlinkat(d, "new", 0));
    SHOW(unlinkat(d, "y", AT_REMOVEDIR));
    SHOW(rmdir("e/moved"));
    SHOW(fstatat(d, "x", &s, 0));
    SHOW(fstatat(d, "", &s, AT_EMPTY_PATH));
    SHOW(openat(d, "x", O_CREAT | O_WRONLY, 0644));
    SHOW(mkdirat(d, "x", 0755));
    SHOW(close(d));
    SHOW(fstatat(d, "x", &s, 0));
    SHOW_TREE("left");
}

static void set(int fd, long a, long a_part, long m, long m_part)
{
    const struct timespec to[2] = {{.tv_sec = a, .tv_nsec = a_part}, {.tv_sec = m, .tv_nsec = m_part}};
    struct stat s;
    errno = 0;
    int error = futimens(fd, to), number = errno;
    fstat(fd, &s);
    printf("times: futimens = %d %s, %s %s\n", error, judge_error(number),
           s.st_atime == 1000 ? "as it was"
           : s.st_atime == a  ? "as told"
                              : "now",
           s.st_mtime == 2000 ? "as it was"
           : s.st_mtime == m  ? "as told"
                              : "now");
    futimens(fd, (const struct timespec[2]){{.tv_sec = 1000}, {.tv_sec = 2000}});
}

static void times(void)
{
    static const long parts[] = {0, 999999999, 1000000000, UTIME_NOW, UTIME_OMIT, -7};
    judge_tree();
    int fd = open("f", O_RDONLY), pipes[2];
    futimens(fd, (const struct timespec[2]){{.tv_sec = 1000}, {.tv_sec = 2000}});
    for (unsigned i = 0; i < 36; i++)
        set(fd, 500, parts[i / 6], 600, parts[i % 6]);
    SHOW(futimens(fd, 0));
    SHOW(futimens(-1, 0));
    SHOW(futimens(NOT_OPEN, 0));
    SHOW(futimens(AT_FDCWD, 0));
    SHOW(futimens(fd, NOWHERE));
    SHOW(utimensat(AT_FDCWD, "m", (const struct timespec[2]){{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}}, 0));
    SHOW(utimensat(AT_FDCWD, "m", (const struct timespec[2]){{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}}, 0));
    SHOW(utimensat(AT_FDCWD, "lm", 0, 0));
    SHOW(utimensat(AT_FDCWD, "lm", 0, AT_SYMLINK_NOFOLLOW));
    SHOW(utimensat(AT_FDCWD, NOWHERE, 0, 0));
    SHOW(close(fd));
}

static void odd(void)
{
    struct stat s;
    judge_tree();
    SHOW(fchmodat(AT_FDCWD, "lf", 0600, AT_SYMLINK_NOFOLLOW));
    SHOW(openat(AT_FDCWD, NOWHERE, O_RDONLY));
    SHOW(openat(NOT_OPEN, NOWHERE, O_RDONLY));
    SHOW(openat(NOT_OPEN, "", O_RDONLY));
    SHOW(openat(NOT_OPEN, "/", O_RDONLY));
    SHOW(fstatat(AT_FDCWD, "f", NOWHERE, 0));
    SHOW(fstatat(AT_FDCWD, "", &s, AT_EMPTY_PATH));
    SHOW_IF(S_ISDIR(s.st_mode));
    SHOW(fstatat(NOT_OPEN, "", &s, AT_EMPTY_PATH));
    SHOW(readlinkat(AT_FDCWD, "lf", NOWHERE, 1));
    SHOW(readlinkat(AT_FDCWD, "lf", (char *)&s, 0));
    SHOW(symlinkat(NOWHERE, AT_FDCWD, "n"));
    SHOW(symlinkat("", AT_FDCWD, "n"));
    SHOW(faccessat(AT_FDCWD, "f", 15, 0));
    SHOW(faccessat(AT_FDCWD, "lm", F_OK, AT_SYMLINK_NOFOLLOW));
    SHOW(mknodat(AT_FDCWD, "node", S_IFREG | 0600, 0));
    SHOW(mknodat(AT_FDCWD, "node", S_IFREG | 0600, 0));
    SHOW_TREE("left");
}

/* A folder's descriptor as a stream of its names, which owns it then. */
static void streams(void)
{
    judge_tree();
    int d = open("d", O_RDONLY), f = open("f", O_RDONLY);
    SHOW_POINTER(fdopendir(f));
    SHOW_POINTER(fdopendir(NOT_OPEN));
    DIR *stream = fdopendir(d);
    SHOW_IF(dirfd(stream) == d);
    unsigned names = 0;
    while (readdir(stream))
        names++;
    SAY("names", "%u", names);
    SHOW(fchdir(dirfd(stream)));
    SHOW(access("x", F_OK));
    judge_home();
    SHOW(closedir(stream));
    SHOW(close(d));
    SHOW(close(f));
}

int main(int argc, char **argv)
{
    judge_begin(argc, argv);
    one_path();
    two_paths();
    moved_places();
    times();
    odd();
    streams();
    return 0;
}
