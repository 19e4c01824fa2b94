/* Queries about the system: uname, sysconf, pathconf, names of users and hosts, random numbers, advice. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "user/lib/system.h"

#define PAGE 4096
#define HOST "interlock"

static int failed(int error)
{
    errno = error;
    return -1;
}

int uname(struct utsname *to)
{
    *to = (struct utsname){"Interlock", HOST, "1", "1", "riscv32"};
    return 0;
}

int gethostname(char *to, size_t size)
{
    if (size < sizeof HOST)
        return failed(ENAMETOOLONG);
    strcpy(to, HOST);
    return 0;
}

int getpagesize(void)
{
    return PAGE;
}

static struct user_system_info system_info(void)
{
    struct user_system_info info = {0};
    system_call(SYS_SYSTEM_INFO, (uint32_t)&info, 0, 0);
    return info;
}

/* The options to which POSIX gives its version number. */
static bool is_as_in_posix(int name)
{
    switch (name) {
    case _SC_VERSION:
    case _SC_FSYNC:
    case _SC_MAPPED_FILES:
    case _SC_MEMORY_PROTECTION:
    case _SC_SEMAPHORES:
    case _SC_BARRIERS:
    case _SC_CLOCK_SELECTION:
    case _SC_MONOTONIC_CLOCK:
    case _SC_READER_WRITER_LOCKS:
    case _SC_SPAWN:
    case _SC_SPIN_LOCKS:
    case _SC_TIMEOUTS:
    case _SC_THREADS:
    case _SC_TIMERS:
    case _SC_THREAD_ATTR_STACKSIZE:
    case _SC_THREAD_SAFE_FUNCTIONS: return true;
    default: return false;
    }
}

static bool has_no_value(int name)
{
    switch (name) {
    /* limited by memory alone, or unlimited */
    case _SC_CHILD_MAX:
    case _SC_ATEXIT_MAX:
    case _SC_STREAM_MAX:
    case _SC_THREAD_THREADS_MAX:
    case _SC_SEM_NSEMS_MAX:
    /* not supported */
    case _SC_ASYNCHRONOUS_IO:
    case _SC_CPUTIME:
    case _SC_IPV6:
    case _SC_MEMLOCK:
    case _SC_MESSAGE_PASSING:
    case _SC_PRIORITIZED_IO:
    case _SC_PRIORITY_SCHEDULING:
    case _SC_REALTIME_SIGNALS:
    case _SC_SHARED_MEMORY_OBJECTS:
    case _SC_SYNCHRONIZED_IO:
    case _SC_THREAD_CPUTIME:
    case _SC_THREAD_PROCESS_SHARED:
    case _SC_THREAD_PRIORITY_SCHEDULING: return true;
    default: return false;
    }
}

long sysconf(int name)
{
    switch (name) {
    case _SC_ARG_MAX: return USER_ARGUMENTS_MOST;
    case _SC_CLK_TCK: return USER_CLK_TCK;
    case _SC_OPEN_MAX: return getdtablesize();
    case _SC_PAGESIZE: return PAGE;
    case _SC_NGROUPS_MAX: return 0;
    case _SC_JOB_CONTROL:
    case _SC_REGEXP:
    case _SC_SAVED_IDS:
    case _SC_SHELL: return 1;
    case _SC_TZNAME_MAX: return 6;
    case _SC_SEM_VALUE_MAX: return SEM_VALUE_MAX;
    case _SC_THREAD_KEYS_MAX: return PTHREAD_KEYS_MAX;
    case _SC_THREAD_STACK_MIN: return PTHREAD_STACK_MIN;
    case _SC_THREAD_DESTRUCTOR_ITERATIONS: return PTHREAD_DESTRUCTOR_ITERATIONS;
    case _SC_TTY_NAME_MAX: return sizeof "/dev/console";
    case _SC_HOST_NAME_MAX: return HOST_NAME_MAX;
    case _SC_LOGIN_NAME_MAX: return _POSIX_LOGIN_NAME_MAX;
    case _SC_IOV_MAX: return IOV_MAX;
    case _SC_LINE_MAX: return 2048;
    case _SC_SYMLOOP_MAX: return _POSIX_SYMLOOP_MAX;
    case _SC_NPROCESSORS_CONF:
    case _SC_NPROCESSORS_ONLN: return (long)system_info().harts;
    case _SC_PHYS_PAGES: return (long)system_info().pages;
    case _SC_AVPHYS_PAGES: return (long)system_info().free_pages;
    default: break;
    }
    if (is_as_in_posix(name))
        return 200809;
    return has_no_value(name) ? -1 /* errno is unchanged */ : failed(EINVAL);
}

static long limit_of(int name)
{
    switch (name) {
    case _PC_LINK_MAX: return 32000;
    case _PC_MAX_CANON:
    case _PC_MAX_INPUT: return 256;
    case _PC_NAME_MAX: return 255;
    case _PC_PATH_MAX: return USER_PATH_SIZE;
    case _PC_PIPE_BUF: return PIPE_BUF;
    case _PC_CHOWN_RESTRICTED:
    case _PC_NO_TRUNC: return 1;
    case _PC_VDISABLE: return USER_VDISABLE;
    case _PC_FILESIZEBITS: return 32;
    case _PC_SYMLINK_MAX: return USER_PATH_SIZE - 1;
    case _PC_ASYNC_IO:
    case _PC_PRIO_IO:
    case _PC_SYNC_IO: return -1;
    default: return failed(EINVAL);
    }
}

long pathconf(const char *path, int name)
{
    struct stat s;
    return stat(path, &s) ? -1 : limit_of(name);
}

long fpathconf(int fd, int name)
{
    struct stat s;
    return fstat(fd, &s) ? -1 : limit_of(name);
}

int getlogin_r(char *to, size_t size)
{
    if (size < sizeof "root")
        return ERANGE;
    strcpy(to, "root");
    return 0;
}

char *getlogin(void)
{
    static char name[sizeof "root"];
    getlogin_r(name, sizeof name);
    return name;
}

/* There is no source of entropy: runs repeat. It differs between processes, calls and moments. */
ssize_t getrandom(void *to, size_t size, unsigned flags)
{
    static volatile uint32_t count;
    uint64_t state =
        (uint64_t)cycles() << 32 ^ (uint64_t)getpid() << 16 ^ __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    uint8_t *at = to;
    if (flags & ~(unsigned)(GRND_NONBLOCK | GRND_RANDOM))
        return failed(EINVAL);
    for (size_t i = 0; i < size; i++) { /* Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" */
        uint64_t z = state += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        at[i] = (uint8_t)(z ^ z >> 31);
    }
    return (ssize_t)size;
}

int getentropy(void *to, size_t size)
{
    return size > 256 ? failed(EIO) : getrandom(to, size, 0) < 0 ? -1 : 0;
}

int posix_madvise(void *address, size_t size, int advice)
{
    (void)size;
    return (uint32_t)address % PAGE || advice < MADV_NORMAL || advice > MADV_DONTNEED ? EINVAL : 0;
}

int madvise(void *address, size_t size, int advice)
{
    return with_errno(system_call(SYS_MADVISE, (uint32_t)address, size, (uint32_t)advice));
}
