/*
 * Requests to the system, and operations on paths: realpath, mkdtemp, mkfifo, preadv and its like, uname,
 * getrandom, madvise, pathconf, sysconf.
 */
#include <limits.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "names.h"

static void real_paths(void)
{
    static const char *const more[] = {"/",
                                       "//",
                                       "/w/system/f",
                                       "/w/../w/./system//d/x",
                                       "ld/../f",
                                       "le/../../system/d/y",
                                       "d/y/../../ld/x",
                                       "lf/",
                                       "f/",
                                       "lm/x",
                                       "ll/..",
                                       "m/.."};
    char to[PATH_MAX], made[300];
    judge_tree();
    symlink("/w/system/d", "absolute");
    symlink("loop", "loop");
    symlink("../system/ld/y", "up");
    for (unsigned n = 0; n < NAMES + ODD + 12; n++) {
        const char *path = n < NAMES ? judge_names[n] : n < NAMES + ODD ? judge_odd[n - NAMES] : more[n - NAMES - ODD];
        if (!TAKEN)
            continue;
        errno = 0;
        char *got = realpath(path, to);
        SAY(path, "%s", got ? to : judge_error(errno));
    }
    static const char *const links[] = {"absolute", "absolute/x",         "loop", "loop/x", "up",
                                        "up/..",    "absolute/../e/../up"};
    for (unsigned i = 0; i < 7; i++) {
        errno = 0;
        char *own = realpath(links[i], 0);
        SAY(links[i], "%s", own ? own : judge_error(errno));
        free(own);
    }
    SHOW_POINTER(realpath(0, to));
    memset(made, 'x', sizeof made);
    made[256] = 0;
    SHOW_POINTER(realpath(made, to));
}

static void temporary(void)
{
    char a[] = "aXXXXXX", b[] = "d/bXXXXXX", c[] = "XXXXX", d[] = "cXXXXXXd", e[] = "m/XXXXXX", f[] = "fXXXXXX";
    struct stat s;
    judge_tree();
    SHOW_POINTER(mkdtemp(a));
    SHOW(stat(a, &s));
    SAY("mode", "%o", (unsigned)s.st_mode);
    SHOW_IF(strlen(a) == 7 && a[0] == 'a' && strcmp(a, "aXXXXXX"));
    SHOW(rmdir(a));
    SHOW_POINTER(mkdtemp(b));
    SHOW(rmdir(b));
    SHOW_POINTER(mkdtemp(c));
    SHOW_POINTER(mkdtemp(d));
    SHOW_POINTER(mkdtemp(e));
    SHOW(mkstemp(f));
    SHOW(stat(f, &s));
    SAY("mode", "%o", (unsigned)s.st_mode);
    SHOW(unlink(f));
}

static void fifos(void)
{
    struct stat s;
    judge_tree();
    SHOW(mkfifo("p", 0640));
    SHOW(mkfifo("p", 0640));
    SHOW(lstat("p", &s));
    SAY("mode", "%o", (unsigned)s.st_mode);
    SHOW_IF(S_ISFIFO(s.st_mode));
    SHOW(mkfifo("f/x", 0640));
    SHOW(mkfifo("lm", 0640));
    SHOW(mkfifo("", 0640));
    SHOW(mkfifo(".", 0640));
    SHOW(rename("p", "e/p"));
    SHOW(link("e/p", "q"));
    SHOW(unlink("e/p"));
    SHOW(chmod("q", 0600));
    SHOW(truncate("q", 0));
    SHOW(unlink("q"));
    SHOW_TREE("left");
}

static volatile sig_atomic_t alarms;

static void count_alarm(int number)
{
    (void)number;
    alarms++;
}

static void show_poll(const char *what, int fd)
{
    struct pollfd p = {fd, POLLIN | POLLOUT, 0};
    poll(&p, 1, 0);
    SAY(what, "%s%s%s%s", p.revents & POLLIN ? " IN" : "", p.revents & POLLOUT ? " OUT" : "",
        p.revents & POLLERR ? " ERR" : "", p.revents & POLLHUP ? " HUP" : "");
}

/* What each way to open a FIFO returns, and its effect on those that have it open already. */
static void opened_fifos(void)
{
    char text[16];
    struct stat s;
    judge_tree();
    SHOW(mkfifo("p", 0620));
    SHOW(symlink("p", "way"));
    SHOW(open("p", O_WRONLY | O_NONBLOCK));
    SHOW(open("p", O_RDONLY | O_DIRECTORY));
    int reads = open("p", O_RDONLY | O_NONBLOCK | O_TRUNC | O_CREAT, 0600);
    SHOW_IF(reads >= 0);
    SHOW(read(reads, text, 1)); /* no writer: end of file */
    show_poll("no writer yet", reads);
    int writes = open("way", O_WRONLY | O_NONBLOCK | O_APPEND);
    SHOW_IF(writes >= 0);
    show_poll("empty", reads);
    show_poll("to write", writes);
    SHOW(read(reads, text, 1));
    SHOW(write(writes, "abc", 3));
    SHOW(lseek(writes, 0, SEEK_CUR));
    SHOW(ftruncate(writes, 0));
    SHOW(fstat(writes, &s));
    SAY("mode", "%o, %u links, size %ld", (unsigned)s.st_mode, (unsigned)s.st_nlink, (long)s.st_size);
    show_poll("some", reads);
    int again = open("p", O_RDONLY | O_NONBLOCK);
    SHOW(read(again, text, 2));
    SHOW(read(reads, text, 16));
    SHOW(read(reads, text, 16));
    SHOW(close(writes));
    SHOW(read(reads, text, 16));
    show_poll("no writer any more", reads);
    show_poll("of another reader", again);
    writes = open("p", O_WRONLY);
    show_poll("a writer again", reads);
    SHOW(close(reads));
    SHOW(write(writes, "left", 4));
    SHOW(close(again));
    signal(SIGPIPE, SIG_IGN);
    show_poll("no reader", writes);
    SHOW(write(writes, "x", 1));
    reads = open("p", O_RDONLY | O_NONBLOCK);
    SHOW(write(writes, "+", 1)); /* it keeps its bytes while it is open anywhere */
    SHOW(read(reads, text, 16));
    SHOW_BYTES("read", text, 5);
    SHOW(close(reads));
    SHOW(close(writes));
    int both = open("p", O_RDWR);
    SHOW_IF(both >= 0);
    SHOW(write(both, "gone", 4));
    show_poll("both", both);
    SHOW(close(both)); /* no longer open anywhere, so it is empty */
    reads = open("p", O_RDONLY | O_NONBLOCK);
    SHOW(read(reads, text, 16));
    SHOW(close(reads));
    SHOW(unlink("p"));
    SHOW(open("way", O_RDONLY | O_NONBLOCK));
}

/* Each end waits for the other; a signal ends the wait, or does not. */
static void awaited_fifos(void)
{
    struct sigaction action = {.sa_handler = count_alarm};
    char text[16];
    int status;
    judge_tree();
    mkfifo("p", 0600);
    for (int writes = 0; writes < 2; writes++) {
        fflush(stdout);
        pid_t id = fork();
        if (!id) {
            int fd = open("p", writes ? O_RDONLY : O_WRONLY);
            if (writes)
                _exit(read(fd, text, 16) == 5 && read(fd, text, 16) == 0 ? 3 : 4);
            _exit(write(fd, "child", 5) == 5 ? 5 : 6);
        }
        int fd = open("p", writes ? O_WRONLY : O_RDONLY);
        if (writes)
            SHOW(write(fd, "words", 5));
        else
            SHOW(read(fd, text, 5));
        if (!writes)
            SHOW(read(fd, text, 5));
        SHOW(close(fd));
        waitpid(id, &status, 0);
        SHOW_STATUS("child", status);
    }
    sigaction(SIGALRM, &action, 0);
    ualarm(10000, 0);
    SHOW(open("p", O_RDONLY));
    ualarm(10000, 0);
    SHOW(open("p", O_WRONLY));
    SHOW(open("p", O_WRONLY | O_NONBLOCK)); /* the interrupted open left no reader */
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, 0);
    fflush(stdout);
    pid_t id = fork();
    if (!id) {
        usleep(40000);
        int fd = open("p", O_WRONLY);
        _exit(fd < 0);
    }
    ualarm(10000, 0);
    SHOW_IF(open("p", O_RDONLY) >= 0);
    SAY("alarms", "%d", (int)alarms);
    waitpid(id, &status, 0);
    SHOW_STATUS("child", status);
    judge_clean();
}

static void vectors(void)
{
    char one[4] = "abc", two[8] = "defghij", got[16];
    struct iovec v[3] = {{one, 3}, {two, 0}, {two, 7}}, r[3] = {{got, 2}, {got + 2, 5}, {got + 7, 9}};
    int fd = open("vector", O_RDWR | O_CREAT | O_TRUNC, 0644), ends[2];
    SHOW(pwritev(fd, v, 3, 5));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(lseek(fd, 0, SEEK_END));
    memset(got, '.', sizeof got);
    SHOW(preadv(fd, r, 3, 0));
    SHOW_BYTES("got", got, 16);
    memset(got, '.', sizeof got);
    SHOW(preadv(fd, r, 3, 12));
    SHOW_BYTES("got", got, 16);
    SHOW(preadv(fd, r, 3, 15));
    SHOW(preadv(fd, r, 3, 1000));
    SHOW(preadv(fd, r, 0, 0));
    SHOW(preadv(fd, r, -1, 0));
    SHOW(preadv(fd, r, 1025, 0));
    SHOW(preadv(fd, r, 3, -1));
    SHOW(preadv(77, r, 3, 0));
    pipe(ends);
    SHOW(preadv(ends[0], r, 3, 0));
    SHOW(pwritev(ends[1], v, 3, 0));
    SHOW(pread(ends[0], got, 1, 0));
    SHOW(pwrite(ends[1], got, 1, 0));
    r[1].iov_base = NOWHERE;
    SHOW(preadv(fd, r, 3, 0));
    r[0].iov_base = NOWHERE;
    SHOW(preadv(fd, r, 3, 0));
    v[0].iov_base = NOWHERE;
    SHOW(pwritev(fd, v, 3, 0));
    SHOW(readv(fd, r, 1025));
    int append = open("vector", O_WRONLY | O_APPEND);
    int reads = open("vector", O_RDONLY);
    v[0].iov_base = one;
    SHOW(pwritev(reads, v, 3, 0));
    SHOW(preadv(append, r, 3, 0));
    close(reads);
    close(append);
    close(fd);
    close(ends[0]);
    close(ends[1]);
}

static void asks(void)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"_SC_PAGESIZE", _SC_PAGESIZE},
                 {"_SC_VERSION", _SC_VERSION},
                 {"_SC_CLK_TCK", _SC_CLK_TCK},
                 {"_SC_THREADS", _SC_THREADS},
                 {"_SC_THREAD_SAFE_FUNCTIONS", _SC_THREAD_SAFE_FUNCTIONS},
                 {"_SC_JOB_CONTROL", _SC_JOB_CONTROL},
                 {"_SC_SAVED_IDS", _SC_SAVED_IDS},
                 {"_SC_MAPPED_FILES", _SC_MAPPED_FILES},
                 {"_SC_FSYNC", _SC_FSYNC},
                 {"_SC_TIMERS", _SC_TIMERS},
                 {"_SC_BARRIERS", _SC_BARRIERS},
                 {"_SC_SPIN_LOCKS", _SC_SPIN_LOCKS},
                 {"_SC_READER_WRITER_LOCKS", _SC_READER_WRITER_LOCKS},
                 {"_SC_SPAWN", _SC_SPAWN},
                 {"_SC_SEMAPHORES", _SC_SEMAPHORES},
                 {"_SC_MONOTONIC_CLOCK", _SC_MONOTONIC_CLOCK},
                 {"_SC_IOV_MAX", _SC_IOV_MAX},
                 {"_SC_HOST_NAME_MAX", _SC_HOST_NAME_MAX},
                 {"_SC_LINE_MAX", _SC_LINE_MAX},
                 {"_SC_THREAD_DESTRUCTOR_ITERATIONS", _SC_THREAD_DESTRUCTOR_ITERATIONS},
                 {"_SC_REGEXP", _SC_REGEXP},
                 {"_SC_SHELL", _SC_SHELL}};
    static const int amounts[] = {_SC_NPROCESSORS_CONF, _SC_NPROCESSORS_ONLN, _SC_PHYS_PAGES,   _SC_AVPHYS_PAGES,
                                  _SC_ARG_MAX,          _SC_THREAD_KEYS_MAX,  _SC_TTY_NAME_MAX, _SC_LOGIN_NAME_MAX,
                                  _SC_SEM_VALUE_MAX,    _SC_THREAD_STACK_MIN};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        SHOW_AS(names[i].name, sysconf(names[i].number));
    for (unsigned i = 0; i < sizeof amounts / sizeof *amounts; i++)
        SHOW_IF(sysconf(amounts[i]) >= 1);
    SHOW_IF(sysconf(_SC_NPROCESSORS_ONLN) <= sysconf(_SC_NPROCESSORS_CONF));
    SHOW_IF(sysconf(_SC_AVPHYS_PAGES) <= sysconf(_SC_PHYS_PAGES));
    SHOW(sysconf(-1));
    SHOW(sysconf(100000));
    struct utsname u;
    SHOW(uname(&u));
    SHOW_IF(*u.sysname && *u.nodename && *u.release && *u.version && *u.machine);
    char host[256];
    SHOW(gethostname(host, sizeof host));
    SHOW_IF(!strcmp(host, u.nodename));
    SHOW(gethostname(host, 1));
    judge_tree();
    static const struct {
        const char *name;
        int number;
    } limits[] = {
        {"_PC_NAME_MAX", _PC_NAME_MAX}, {"_PC_NO_TRUNC", _PC_NO_TRUNC}, {"_PC_CHOWN_RESTRICTED", _PC_CHOWN_RESTRICTED}};
    int fd = open("f", O_RDONLY);
    for (unsigned i = 0; i < 3; i++) {
        SHOW_AS(limits[i].name, pathconf("f", limits[i].number));
        SHOW_AS(limits[i].name, fpathconf(fd, limits[i].number));
    }
    SHOW_IF(pathconf("f", _PC_LINK_MAX) >= 8 && pathconf("f", _PC_PATH_MAX) >= 256);
    SHOW_IF(fpathconf(fd, _PC_PIPE_BUF) >= 512 && fpathconf(fd, _PC_PIPE_BUF) == PIPE_BUF);
    SHOW(pathconf("m", _PC_NAME_MAX));
    SHOW(pathconf("", _PC_NAME_MAX));
    SHOW(pathconf("f", 1000));
    SHOW(fpathconf(fd, -1));
    SHOW(fpathconf(77, _PC_NAME_MAX));
    close(fd);
}

static void show_sizes(const struct statvfs *v)
{
    SHOW_IF(v->f_bsize >= 512 && v->f_frsize >= 512 && v->f_blocks > 0);
    SHOW_IF(v->f_bavail <= v->f_bfree && v->f_bfree <= v->f_blocks && v->f_ffree <= v->f_files);
    SAY("names have", "%lu", v->f_namemax);
}

static void sizes(void)
{
    struct statvfs before, after;
    judge_tree();
    int fd = open("f", O_RDWR);
    SHOW(statvfs("ld/x", &before));
    show_sizes(&before);
    SHOW(fstatvfs(fd, &after));
    show_sizes(&after);
    SHOW_IF(before.f_blocks == after.f_blocks && before.f_frsize == after.f_frsize);
    SHOW(statvfs("m", &after));
    SHOW(statvfs("lm", &after));
    SHOW(statvfs("f/x", &after));
    SHOW(statvfs("", &after));
    SHOW(fstatvfs(77, &after));
    close(fd);
}

static void chance(void)
{
    unsigned char a[256], b[256];
    unsigned zero = 0;
    SHOW(getrandom(a, sizeof a, 0));
    SHOW(getrandom(b, sizeof b, GRND_NONBLOCK));
    SHOW_IF(memcmp(a, b, sizeof a));
    for (unsigned i = 0; i < sizeof a; i++)
        zero += !a[i];
    SHOW_IF(zero < 16);
    SHOW(getrandom(a, 0, 0));
    SHOW(getrandom(a, 1, 1 << 20));
    SHOW(getentropy(a, 256));
    SHOW(getentropy(a, 257));
}

static void advice(void)
{
    char *at = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(at, 'a', 4 * 4096);
    SHOW(madvise(at, 4 * 4096, MADV_NORMAL));
    SHOW(madvise(at, 4 * 4096, MADV_SEQUENTIAL));
    SHOW(madvise(at, 4 * 4096, MADV_RANDOM));
    SHOW(madvise(at, 4 * 4096, MADV_WILLNEED));
    SHOW(madvise(at + 1, 4096, MADV_NORMAL));
    SHOW(madvise(at, 4096, 77));
    SHOW(madvise(at, 0, MADV_NORMAL));
    SHOW(posix_madvise(at, 4096, POSIX_MADV_WILLNEED));
    SHOW(posix_madvise(at, 4096, 77));
    SHOW_BYTES("still there", at + 5000, 3);
    SHOW(madvise(at + 4096, 4096, MADV_DONTNEED));
    SHOW_BYTES("before", at + 4095, 1);
    SHOW_BYTES("gone", at + 4096, 1);
    SHOW_BYTES("behind", at + 8192, 1);
    munmap(at + 8192, 4096);
    SHOW(madvise(at, 4 * 4096, MADV_DONTNEED));
    SHOW_BYTES("gone", at, 1);
    SHOW_BYTES("gone behind the hole", at + 3 * 4096, 1);
    munmap(at, 4 * 4096);
}

int main(int argc, char **argv)
{
    judge_begin(argc, argv);
    judge_clean();
    real_paths();
    temporary();
    fifos();
    opened_fifos();
    awaited_fifos();
    vectors();
    asks();
    sizes();
    chance();
    advice();
    return 0;
}
