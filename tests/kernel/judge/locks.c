/*
 * Locks of files: flock's, which an open file holds, fcntl's and lockf's, which a process holds, and that the two
 * kinds are independent.
 */
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "names.h"
#include "say.h"

static volatile sig_atomic_t handled;

static void count(int number)
{
    (void)number;
    handled++;
}

/* What locks another process gets on the file: both kinds, one after the other, which it releases again. */
static void other_gets(const char *name)
{
    fflush(stdout);
    pid_t id = fork();
    if (!id) {
        static const int how[] = {LOCK_SH, LOCK_EX};
        static const short types[] = {F_RDLCK, F_WRLCK};
        int fd = open("f", O_RDWR);
        for (unsigned i = 0; i < 2; i++) {
            errno = 0;
            int whole = flock(fd, how[i] | LOCK_NB);
            say("%s: flock %s: %d %s", name, i ? "LOCK_EX" : "LOCK_SH", whole, judge_error(errno));
            flock(fd, LOCK_UN);
            errno = 0;
            struct flock l = {.l_type = types[i], .l_whence = SEEK_SET};
            int range = fcntl(fd, F_SETLK, &l);
            say("%s: fcntl %s: %d %s", name, i ? "F_WRLCK" : "F_RDLCK", range,
                errno == EACCES ? "EAGAIN" : judge_error(errno));
            l.l_type = F_UNLCK;
            fcntl(fd, F_SETLK, &l);
        }
        _exit(0);
    }
    waitpid(id, 0, 0);
}

static void whole_files(void)
{
    int a = open("f", O_RDWR), b = open("f", O_RDONLY), c = dup(a), g = open("g", O_RDWR);
    static const int how[] = {LOCK_SH, LOCK_EX, LOCK_UN};
    static const char *const names[] = {"LOCK_SH", "LOCK_EX", "LOCK_UN"};
    /* Each lock over each, by two open files of one process. */
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < 3; j++)
            for (unsigned k = 0; k < 3; k++) {
                char what[64];
                if (!TAKEN)
                    continue;
                flock(a, LOCK_UN);
                flock(b, LOCK_UN);
                snprintf(what, sizeof what, "a %s, b %s, a %s", names[i], names[j], names[k]);
                errno = 0;
                int r = flock(a, how[i] | LOCK_NB), s = flock(b, how[j] | LOCK_NB), t = flock(a, how[k] | LOCK_NB);
                say("%s: %d %d %d %s", what, r, s, t, judge_error(errno));
                other_gets(what);
            }
    flock(a, LOCK_UN);
    flock(b, LOCK_UN);
    SAID(flock(c, LOCK_EX | LOCK_NB));
    SAID(flock(a, LOCK_EX | LOCK_NB)); /* a holds it, too */
    SAID(flock(b, LOCK_SH | LOCK_NB));
    SAID(flock(g, LOCK_EX | LOCK_NB));
    SAID(close(a));
    SAID(flock(b, LOCK_SH | LOCK_NB));
    SAID(flock(c, LOCK_UN));
    SAID(flock(b, LOCK_SH | LOCK_NB));
    SAID(close(c));
    SAID(close(b));
    other_gets("all closed");
    a = open("f", O_RDONLY);
    SAID(flock(a, 0));
    SAID(flock(a, LOCK_NB));
    SAID(flock(a, LOCK_SH | LOCK_EX));
    SAID(flock(77, LOCK_SH));
    SAID(flock(-1, LOCK_SH));
    int d = open(".", O_RDONLY), e = open(".", O_RDONLY);
    SAID(flock(d, LOCK_EX));
    SAID(flock(e, LOCK_EX | LOCK_NB));
    close(d);
    SAID(flock(e, LOCK_EX | LOCK_NB));
    close(e);
    close(g);
    close(a);
}

/* A lock is the open file's: a child holds it, too, and keeps it. */
static void inherited(void)
{
    int a = open("f", O_RDWR), b = open("f", O_RDWR), ends[2];
    char c;
    pipe(ends);
    SAID(flock(a, LOCK_EX));
    pid_t id = fork();
    if (!id) {
        read(ends[0], &c, 1);
        _exit(flock(a, LOCK_EX | LOCK_NB) != 0);
    }
    close(a);
    SAID(flock(b, LOCK_EX | LOCK_NB)); /* the child holds it */
    write(ends[1], "", 1);
    say_wait("child", id, 0);
    SAID(flock(b, LOCK_EX | LOCK_NB));
    id = vfork();
    if (!id)
        _exit(flock(b, LOCK_UN) != 0);
    say_wait("vfork", id, 0);
    other_gets("a child gave it up");
    close(b);
    close(ends[0]);
    close(ends[1]);
}

/* Waits, which a signal interrupts, or which restart after it. */
static void waits(void)
{
    for (int restarts = 0; restarts < 2; restarts++) {
        int a = open("f", O_RDWR), ready[2];
        char c;
        pipe(ready);
        pid_t id = fork();
        if (!id) {
            int b = open("f", O_RDWR);
            flock(b, LOCK_EX);
            write(ready[1], "", 1);
            milliseconds(60);
            _exit(0);
        }
        read(ready[0], &c, 1);
        handled = 0;
        handle(SIGALRM, count, restarts ? SA_RESTART : 0);
        ualarm(20000, 0);
        SAID(flock(a, LOCK_EX));
        say("handled %d", (int)handled);
        say_wait("holder", id, 0);
        SAID(flock(a, LOCK_EX));
        close(a);
        close(ready[0]);
        close(ready[1]);
    }
    /* Waiting shared locks are granted together when the exclusive holder releases. */
    int a = open("f", O_RDWR), told[2];
    pipe(told);
    flock(a, LOCK_EX);
    for (int i = 0; i < 4; i++)
        if (!fork()) {
            int b = open("f", O_RDONLY);
            close(a);
            flock(b, LOCK_SH);
            write(told[1], "s", 1);
            milliseconds(20);
            _exit(0);
        }
    milliseconds(20);
    char got[8];
    flock(a, LOCK_UN);
    for (int n = 0; n < 4;)
        n += (int)read(told[0], got, 4 - (size_t)n);
    SAID(flock(a, LOCK_EX));
    for (int i = 0; i < 4; i++)
        SAID_SIGN(wait(0));
    close(a);
    close(told[0]);
    close(told[1]);
}

static void show_lock(int fd, short type, off_t start, off_t length, const char *name, pid_t other)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length, .l_pid = 12345};
    errno = 0;
    int result = fcntl(fd, F_GETLK, &l);
    say("%s: %d %s, %s %ld %ld by %s", name, result, judge_error(errno),
        l.l_type == F_UNLCK   ? "none"
        : l.l_type == F_WRLCK ? "F_WRLCK"
                              : "F_RDLCK",
        (long)l.l_start, (long)l.l_len,
        l.l_pid == other   ? "the other"
        : l.l_pid == 12345 ? "nobody"
                           : "somebody");
}

/* The holder of a range is reported by its process id, whatever that is. */
static void holders(void)
{
    int fd = open("f", O_RDWR), up[2], down[2];
    char c;
    pipe(up);
    pipe(down);
    pid_t id = fork();
    if (!id) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 10};
        fcntl(fd, F_SETLK, &l);
        l = (struct flock){.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 100};
        fcntl(fd, F_SETLK, &l);
        write(up[1], "", 1);
        read(down[0], &c, 1);
        _exit(0);
    }
    read(up[0], &c, 1);
    show_lock(fd, F_WRLCK, 0, 0, "any", id);
    show_lock(fd, F_WRLCK, 0, 10, "before", id);
    show_lock(fd, F_RDLCK, 19, 1, "the last", id);
    show_lock(fd, F_RDLCK, 20, 0, "to read", id);
    show_lock(fd, F_WRLCK, 20, 0, "to write", id);
    show_lock(fd, F_UNLCK, 0, 0, "none", id);
    lseek(fd, 15, SEEK_SET);
    SAID(lockf(fd, F_TEST, 1));
    SAID(lockf(fd, F_TLOCK, 1));
    SAID(lockf(fd, F_TEST, -5));
    lseek(fd, 20, SEEK_SET);
    SAID(lockf(fd, F_TEST, 1));
    SAID(lockf(fd, F_TLOCK, 10));
    SAID(lockf(fd, F_TEST, -10));
    SAID(lockf(fd, F_TEST, 0));
    SAID(lockf(fd, 77, 0));
    SAID(lockf(77, F_TEST, 0));
    SAID(flock(fd, LOCK_EX | LOCK_NB)); /* they are independent */
    handle(SIGALRM, count, 0);
    ualarm(20000, 0);
    lseek(fd, 15, SEEK_SET);
    SAID(lockf(fd, F_LOCK, 1));
    write(down[1], "", 1);
    say_wait("the other", id, 0);
    SAID(lockf(fd, F_LOCK, 1));
    SAID(lockf(fd, F_ULOCK, 0));
    int reads = open("f", O_RDONLY);
    SAID(lockf(reads, F_LOCK, 0));
    SAID(lockf(reads, F_TEST, 0));
    close(reads);
    close(fd);
    for (int i = 0; i < 2; i++) {
        close(up[i]);
        close(down[i]);
    }
}

/* Names of a folder while it changes: a stream returns to its saved position. */
static void places_of_names(void)
{
    long where[40];
    char names[40][32];
    int n = 0, wrong = 0;
    mkdir("many", 0755);
    for (int i = 0; i < 30 / (int)judge_part; i++) {
        char path[32];
        snprintf(path, sizeof path, "many/name %d", i);
        judge_file(path);
    }
    DIR *d = opendir("many");
    for (struct dirent *e; n < 40;) {
        where[n] = telldir(d);
        if (!(e = readdir(d)))
            break;
        snprintf(names[n++], sizeof names[0], "%.31s", e->d_name);
    }
    say("names: %d", n);
    for (int i = n - 1; i >= 0; i--) {
        seekdir(d, where[i]);
        wrong += telldir(d) != where[i];
        struct dirent *e = readdir(d);
        wrong += !e || strcmp(e->d_name, names[i]);
    }
    seekdir(d, where[n]);
    say("wrong: %d, behind the last: %d", wrong, readdir(d) != 0);
    /* Each name is removed when it is read, and read once. */
    rewinddir(d);
    int met = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char path[300];
        snprintf(path, sizeof path, "many/%s", e->d_name);
        met += !unlink(path);
        long here = telldir(d);
        rewinddir(d);
        readdir(d);
        seekdir(d, here);
    }
    say("met: %d", met);
    SAID(closedir(d));
    SAID(rmdir("many"));
}

int main(int argc, char **argv)
{
    judge_begin(argc, argv);
    judge_clean();
    judge_file("f");
    judge_file("g");
    whole_files();
    inherited();
    waits();
    holders();
    places_of_names();
    return 0;
}
