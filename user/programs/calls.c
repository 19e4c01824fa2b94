/*
 * calls: every system call does what user/abi.h says, and a bad pointer in any gives EFAULT. Prints @calls
 * checks=... ; the exit status is 0 if all hold.
 */
#include <generated/mem.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/lib/system.h"

#define MILLISECOND 1000000u
#define UNMAPPED 0x20000000u
#define KERNEL MAIN_RAM_BASE

static unsigned checks, failed;

#define CHECK(what)                                              \
    do {                                                         \
        checks++;                                                \
        if (!(what)) {                                           \
            failed++;                                            \
            printf("calls.c:%d: not so: %s\n", __LINE__, #what); \
        }                                                        \
    } while (0)

static int spawn_and_wait(const char *name, const char *argument)
{
    const char *argv[] = {name, argument, 0};
    int status, id = spawn(name, argv);
    return id < 0 ? id : wait_child(&status) == id ? status : -1;
}

static void bad_pointers(void)
{
    static const uint32_t bad[] = {0, UNMAPPED, KERNEL, UART0_BASE, 0xfffffffcu, USER_STACK_TOP};
    static uint32_t word;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(system_call(SYS_WRITE, 1, bad[i], 4) == -EFAULT);
        CHECK(system_call(SYS_SPAWN, bad[i], (uint32_t)&word, 0) == -EFAULT);
        CHECK(system_call(SYS_SPAWN, (uint32_t)"hello", bad[i], 0) == -EFAULT);
        CHECK(system_call(SYS_NANOSLEEP, bad[i], 0, 0) == -EFAULT);
        CHECK(system_call(SYS_CLOCK_GETTIME, 0, bad[i], 0) == -EFAULT);
        CHECK(system_call(SYS_FUTEX_WAIT, bad[i], 0, 0) == -EFAULT);
        if (bad[i]) { /* a null pointer is allowed there */
            CHECK(system_call(SYS_WAIT4, (uint32_t)-1, bad[i], 0) == -EFAULT);
            CHECK(system_call(SYS_FUTEX_WAIT, (uint32_t)&word, 0, bad[i]) == -EFAULT);
        }
        uint32_t vector[] = {bad[i] ? bad[i] : UNMAPPED, 0};
        CHECK(system_call(SYS_SPAWN, (uint32_t)"hello", (uint32_t)vector, 0) == -EFAULT);
    }
    CHECK(system_call(SYS_CLOCK_GETTIME, 0, (uint32_t)bad, 0) == -EFAULT);               /* read only */
    CHECK(system_call(SYS_CLOCK_GETTIME, 0, USER_STACK_TOP - 8, 0) == -EFAULT);          /* its end is outside */
    CHECK(system_call(SYS_WRITE, 1, USER_STACK_TOP - 1, 2) == -EFAULT);
}

static void bad_arguments(void)
{
    static uint32_t word;
    static char text[USER_ARGUMENTS_MOST / 2 + 1];
    const char *none[] = {0}, *many[] = {text, text, 0};
    CHECK(system_call(SYS_CALLS, 0, 0, 0) == -ENOSYS);
    CHECK(system_call(0xffffffff, 0, 0, 0) == -ENOSYS);
    CHECK(write(3, "x", 1) == -1 && errno == EBADF);
    CHECK(read(3, &word, 1) == -1 && errno == EBADF);
    CHECK(spawn("nonsense", none) == -ENOENT);
    CHECK(spawn("a name that is longer than any program's may be", none) == -ENOENT);
    memset(text, 'x', sizeof text - 1);
    CHECK(spawn("hello", many) == -E2BIG);
    static char rest[USER_ARGUMENTS_MOST / 2];
    const char *all[] = {text, rest, "", 0}; /* with their final 0s, the last of which just fits */
    memset(rest, 'y', sizeof rest - 3);
    int id = spawn("status", all);
    CHECK(id > 0 && wait_child(0) == id);
    rest[sizeof rest - 3] = 'z';
    CHECK(spawn("status", all) == -E2BIG);
    CHECK(wait_child(0) == -ECHILD);
    CHECK(sbrk(-1) == (void *)-1 && errno == EINVAL);
    CHECK(sbrk(INT32_MAX) == (void *)-1 && errno == ENOMEM);
    CHECK(sleep_for(0, 1000000000) == -EINVAL);
    CHECK(system_call(SYS_CLOCK_GETTIME, 9, (uint32_t)&word, 0) == -EINVAL);
    CHECK(system_call(SYS_FUTEX_WAIT, (uint32_t)&word + 1, 0, 0) == -EINVAL);
    CHECK(system_call(SYS_FUTEX_WAKE, (uint32_t)&word + 2, 1, 0) == -EINVAL);
}

static void memory(void)
{
    uint8_t *before = sbrk(0), *block = sbrk(10000);
    CHECK(block == before && sbrk(0) == before + 10000);
    unsigned sum = 0;
    for (unsigned i = 0; i < 10000; i++)
        sum += block[i];
    CHECK(sum == 0);
    memset(block, 0xa5, 10000);
    char *text = malloc(5000);
    CHECK(text && (uint8_t *)text >= block + 10000);
    free(text);
    CHECK(block[0] == 0xa5 && block[9999] == 0xa5);
}

static void time_passes(void)
{
    uint64_t before = nanoseconds_now();
    CHECK(sleep_for(0, 2 * MILLISECOND) == 0);
    uint64_t after = nanoseconds_now();
    CHECK(after - before >= 2 * MILLISECOND && after - before < 10 * MILLISECOND);
    static volatile uint32_t word;
    CHECK(futex_wait(&word, 1, 0) == -EAGAIN);
    CHECK(futex_wait(&word, 0, 2 * MILLISECOND) == -ETIMEDOUT);
    CHECK(nanoseconds_now() - after >= 2 * MILLISECOND);
    CHECK(futex_wake(&word, 1) == 0);
}

static void processes(void)
{
    CHECK(spawn_and_wait("hello", "child") == 0);
    CHECK(spawn_and_wait("status", "259") == 3 << 8);
    CHECK(spawn_and_wait("crash", "illegal") == USER_SIGILL);
    /* The child stores at the address of this variable, in its own memory. */
    static volatile uint32_t mine = 1;
    char where[12];
    snprintf(where, sizeof where, "%lu", (unsigned long)&mine);
    CHECK(spawn_and_wait("store", where) == 0 && mine == 1);
    int a = spawn("status", (const char *[]){"status", "1", 0});
    int b = spawn("status", (const char *[]){"status", "2", 0});
    int status[2], ended[2];
    for (int i = 0; i < 2; i++)
        ended[i] = wait_child(&status[i]);
    CHECK(a != b && ((ended[0] == a && ended[1] == b) || (ended[0] == b && ended[1] == a)));
    CHECK(status[0] + status[1] == 3 << 8);
    CHECK(wait_child(0) == -ECHILD);
}

static volatile uint32_t shared_address;

/* Another process of this program waits at the same address of its own memory: this one must not wake it. */
static void futex_of_another_process(void)
{
    int id = spawn("calls", (const char *[]){"calls", "waits", 0}), status;
    CHECK(id > 0);
    CHECK(sleep_for(0, 8 * MILLISECOND) == 0);
    CHECK(futex_wake(&shared_address, 1) == 0);
    CHECK(wait_child(&status) == id && status == 0);
}

/* Pages that others have used are zero-filled again. */
static void used_memory(void)
{
    enum { BYTES = 60000 };
    const uint8_t *block = sbrk(BYTES);
    CHECK(block != (void *)-1);
    unsigned sum = 0;
    for (unsigned i = 0; i < BYTES; i++)
        sum += block[i];
    CHECK(sum == 0);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return futex_wait(&shared_address, 0, 20 * MILLISECOND) != -ETIMEDOUT;
    bad_pointers();
    bad_arguments();
    memory();
    time_passes();
    processes();
    futex_of_another_process();
    used_memory();
    printf("@calls checks=%u failed=%u\n", checks, failed);
    return failed != 0;
}
