/* Memory: mmap of nothing and of files, what may be done with it, what fork makes of it, mprotect, munmap, msync. */
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "names.h"

#define PAGE 4096

static sigjmp_buf back;
static volatile int trapped, trap_code;

static void traps(int number, siginfo_t *i, void *context)
{
    (void)context;
    trapped = number;
    trap_code = i->si_code;
    siglongjmp(back, 1);
}

/* The result of reading, or writing, a byte. */
static const char *touches(volatile char *at, int write)
{
    static char text[64];
    trapped = 0;
    if (!sigsetjmp(back, 1)) {
        if (write)
            *at = 'w';
        else
            snprintf(text, sizeof text, "%d", *at);
    }
    if (trapped)
        snprintf(text, sizeof text, "%s", judge_signal(trapped));
    else if (write)
        snprintf(text, sizeof text, "written");
    return text;
}

#define READS(at) SAY("reads " #at, "%s", touches(at, 0))
#define WRITES(at) SAY("writes " #at, "%s", touches(at, 1))

static const char *mapped(void *at)
{
    return at == MAP_FAILED ? judge_error(errno) : "there";
}

#define MAPS(call) (errno = 0, SAY(#call, "%s", mapped(call)))

static void file_of(const char *name, int bytes)
{
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    char c = 'a';
    for (int i = 0; i < bytes; i += 512) {
        char block[512];
        memset(block, c++, sizeof block);
        write(fd, block, bytes - i < 512 ? (size_t)(bytes - i) : 512);
    }
    close(fd);
}

static void wrong(void)
{
    int fd = open("file", O_RDWR), reads = open("file", O_RDONLY), writes = open("file", O_WRONLY), ends[2];
    pipe(ends);
    MAPS(mmap(0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    MAPS(mmap(0, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0));
    MAPS(mmap(0, PAGE, PROT_READ, MAP_PRIVATE, -1, 0));
    MAPS(mmap(0, PAGE, PROT_READ, MAP_PRIVATE, 77, 0));
    MAPS(mmap(0, PAGE, PROT_READ, MAP_PRIVATE, fd, 1));
    MAPS(mmap(0, PAGE, PROT_READ, MAP_PRIVATE, fd, 512));
    MAPS(mmap(0, PAGE, PROT_READ, MAP_PRIVATE, ends[0], 0));
    MAPS(mmap(0, PAGE, PROT_READ, MAP_PRIVATE, open(".", O_RDONLY), 0));
    MAPS(mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, reads, 0));
    MAPS(mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, reads, 0));
    MAPS(mmap(0, PAGE, PROT_READ, MAP_SHARED, reads, 0));
    MAPS(mmap(0, PAGE, PROT_READ, MAP_SHARED, writes, 0));
    MAPS(mmap(0, PAGE, PROT_WRITE, MAP_PRIVATE, writes, 0));
    MAPS(mmap(0, PAGE, PROT_NONE, MAP_PRIVATE, writes, 0));
    MAPS(mmap((void *)1, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    MAPS(mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    char *at = mmap(0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(munmap(at, 0));
    SHOW(munmap(at + 1, PAGE));
    SHOW(munmap(at + PAGE, PAGE));
    SHOW(munmap(at + PAGE, PAGE));
    SHOW(mprotect(at, 4 * PAGE, PROT_READ));
    SHOW(mprotect(at + 1, PAGE, PROT_READ));
    SHOW(mprotect(at, PAGE, 64));
    SHOW(mprotect(at, 0, PROT_READ));
    SHOW(mprotect(at + PAGE, PAGE, PROT_READ));
    SHOW(msync(at, 4 * PAGE, MS_SYNC));
    SHOW(msync(at, PAGE, MS_SYNC));
    SHOW(msync(at, PAGE, MS_ASYNC));
    SHOW(msync(at + 1, PAGE, MS_SYNC));
    SHOW(msync(at, PAGE, MS_SYNC | MS_ASYNC));
    SHOW(msync(at, PAGE, 64));
    char *r = mmap(0, PAGE, PROT_READ, MAP_SHARED, reads, 0);
    SHOW(mprotect(r, PAGE, PROT_READ | PROT_WRITE));
    char *p = mmap(0, PAGE, PROT_READ, MAP_PRIVATE, reads, 0);
    SHOW(mprotect(p, PAGE, PROT_READ | PROT_WRITE));
    WRITES(p);
    for (int fd = 3; fd < 20; fd++)
        close(fd);
    READS(r);
    munmap(r, PAGE);
    munmap(p, PAGE);
    munmap(at, 4 * PAGE);
}

/* Each protection, changed to each other one. */
static void protections(void)
{
    static const int all[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC};
    static const char *const names[] = {"none", "r", "rw", "rx"};
    for (int shared = 0; shared < 2; shared++)
        for (unsigned i = 0; i < 4; i++)
            for (unsigned j = 0; j < 4; j++) {
                char what[64];
                char *at = mmap(0, PAGE, all[i], (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
                snprintf(what, sizeof what, "%s %s", shared ? "shared" : "private", names[i]);
                SAY(what, "%s", touches(at, 0));
                SAY(what, "%s", touches(at, 1));
                snprintf(what, sizeof what, "%s %s to %s", shared ? "shared" : "private", names[i], names[j]);
                SHOW_AS(what, mprotect(at, PAGE, all[j]));
                SAY(what, "%s", touches(at, 0));
                SAY(what, "%s", touches(at, 1));
                munmap(at, PAGE);
                if (i == j)
                    READS(at);
            }
}

/* What memory a child has, and what its parent sees of it. */
static void forked(void)
{
    char *shared = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *own = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = open("file", O_RDWR), status;
    char *file = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *copy = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    shared[0] = own[0] = '1';
    file[0] = '2';
    copy[1] = '3';
    fflush(stdout);
    pid_t id = fork();
    if (!id) {
        int right = shared[0] == '1' && own[0] == '1' && file[0] == '2' && copy[1] == '3' && copy[0] == '2';
        shared[0] = shared[PAGE] = own[0] = file[0] = copy[0] = 'c';
        munmap(shared, PAGE);
        _exit(right ? 5 : 6);
    }
    waitpid(id, &status, 0);
    SHOW_STATUS("child", status);
    SHOW_BYTES("shared", shared, 1);
    SHOW_BYTES("shared", shared + PAGE, 1);
    SHOW_BYTES("own", own, 1);
    SHOW_BYTES("file", file, 2);
    SHOW_BYTES("copy", copy, 2);
    id = vfork();
    if (!id) {
        own[0] = 'v';
        munmap(own + PAGE, PAGE);
        _exit(0);
    }
    waitpid(id, &status, 0);
    SHOW_BYTES("own behind vfork", own, 1);
    READS(own + PAGE);
    id = fork();
    if (!id) {
        signal(SIGSEGV, SIG_DFL);
        mprotect(shared, PAGE, PROT_READ);
        shared[0] = 'x';
        _exit(0);
    }
    waitpid(id, &status, 0);
    SHOW_STATUS("writes what it may not", status);
    WRITES(shared);
    munmap(shared, 2 * PAGE);
    munmap(own, PAGE);
    munmap(file, PAGE);
    munmap(copy, PAGE);
    close(fd);
}

/* A file that is mapped, read and written. */
static void files(void)
{
    int fd = open("file", O_RDWR);
    char got[8] = "", *at = mmap(0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *again = mmap(0, PAGE, PROT_READ, MAP_SHARED, fd, PAGE),
         *own = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, PAGE);
    SHOW_BYTES("at first", at + 510, 4);
    SHOW(pwrite(fd, "WRITE", 5, PAGE - 2));
    SHOW_BYTES("what was written", at + PAGE - 3, 7);
    SHOW_BYTES("there, too", again, 4);
    SHOW_BYTES("nobody wrote here", own, 4);
    own[0] = 'o';
    SHOW(pwrite(fd, "new", 3, PAGE));
    SHOW_BYTES("its own", own, 4);
    at[PAGE + 1] = 'M';
    SHOW(pread(fd, got, 4, PAGE));
    SHOW_BYTES("what was mapped", got, 4);
    SHOW_BYTES("behind the end", at + 9000, 2);
    at[9000] = 'Z';
    SHOW(ftruncate(fd, 2 * PAGE + 1000));
    SHOW(ftruncate(fd, 9100));
    SHOW_BYTES("cut, and longer", at + 9000, 2);
    READS(at + 3 * PAGE);
    SHOW(ftruncate(fd, 3 * PAGE + 1));
    READS(at + 3 * PAGE);
    WRITES(at + 3 * PAGE);
    SHOW(ftruncate(fd, PAGE));
    READS(at + PAGE);
    READS(at);
    SHOW(msync(at, PAGE, MS_SYNC));
    SHOW(unlink("file"));
    WRITES(at + 5);
    SHOW(close(fd));
    SHOW_BYTES("still there", at + 4, 3);
    SHOW(munmap(at, 4 * PAGE));
    READS(at);
    file_of("file", 2 * PAGE + 700);
}

/* One mapping over another, and holes. */
static void over(void)
{
    char *at = mmap(0, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 8; i++)
        at[i * PAGE] = (char)('0' + i);
    SHOW_IF(mmap(at + 2 * PAGE, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at + 2 * PAGE);
    for (int i = 0; i < 8; i++)
        READS(at + i * PAGE);
    WRITES(at + 2 * PAGE);
    WRITES(at + 4 * PAGE);
    SHOW(munmap(at + 3 * PAGE, 2 * PAGE));
    READS(at + 3 * PAGE);
    READS(at + 5 * PAGE);
    SHOW_IF(mmap(at + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == at + 3 * PAGE);
    int fd = open("file", O_RDONLY);
    SHOW_IF(mmap(at, 8 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == at);
    SHOW_BYTES("a file", at + 512, 2);
    READS(at + 3 * PAGE);
    close(fd);
    SHOW(munmap(at, 8 * PAGE));
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = traps, .sa_flags = SA_SIGINFO};
    judge_begin(argc, argv);
    judge_clean();
    sigaction(SIGSEGV, &action, 0);
    sigaction(SIGBUS, &action, 0);
    file_of("file", 2 * PAGE + 700);
    wrong();
    protections();
    forked();
    files();
    over();
    return 0;
}
