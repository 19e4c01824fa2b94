/*
 * The loader as a program of the host, under sanitizers: main RAM is memory at its address, the line is standard input
 * and output, and its bit rate is written to the descriptor that the
 * argument gives. SIGUSR1 is a reset. The image that it runs is artificial: it prints
 * its boot arguments, waits for a line if they are "type", and ends with a blob.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <generated/mem.h>
#include <generated/soc.h>

#include "image.h"
#include "line.h"
#include "loader.h"
#include "service.h"

#define MOST_BAUD (CONFIG_CLOCK_FREQUENCY / 16)

static const char *baud_descriptor;
static unsigned tests;
static volatile sig_atomic_t reset_wanted;

static void tell_baud(uint32_t baud)
{
    dprintf(atoi(baud_descriptor), "%u\n", baud);
}

void line_open(void) {}

static uint8_t taken[256];
static ssize_t length, at;

uint32_t line_waiting(void)
{
    if (reset_wanted)
        reset_machine();
    if (at == length) {
        struct pollfd ready = {0, POLLIN, 0};
        if (poll(&ready, 1, 1) <= 0)
            return 0;
        at = 0;
        length = read(0, taken, sizeof taken);
        if (length <= 0)
            exit(0);
    }
    return (uint32_t)(length - at);
}

uint8_t line_take(void)
{
    return taken[at++];
}

void line_poll(void) {}

void line_put(uint8_t c)
{
    if (write(1, &c, 1) != 1)
        exit(0);
}

void line_flush(void) {}

uint32_t line_made_baud(uint32_t baud)
{
    return baud && baud <= MOST_BAUD ? baud : 0;
}

void line_set_baud(uint32_t baud)
{
    tell_baud(baud);
}

uint32_t line_room(void)
{
    return 128;
}

uint32_t line_cycles(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    return (uint32_t)(ns * (CONFIG_CLOCK_FREQUENCY / 1000000) / 1000);
}

static void print(const char *text)
{
    while (*text)
        line_put((uint8_t)*text++);
}

void self_test(unsigned which)
{
    tests++;
    print(which == LINK_TEST_LONG ? "testing all\r\n" : "testing\r\n");
}

const char *self_test_report(unsigned *failures)
{
    static char text[80];
    *failures = tests;
    snprintf(text, sizeof text, "memory ok\ntimes failed: %u\n", tests);
    return text;
}

_Noreturn void reset_machine(void)
{
    execl("/proc/self/exe", "far_end", baud_descriptor, (char *)0);
    abort();
}

void host_is_silent(void) {}

/* Source 16 of the PIC has risen three times, uart1 has lost five characters, and the trace has one record. */
uint32_t io_word(uint32_t address)
{
    static const uint32_t words[][2] = {{0xf0030000 + 16 * 0x20, 3},
                                        {0xf0030000 + 16 * 0x20 + 12, 99},
                                        {0xf0021024, 5},
                                        {0xf0040000, 0x1234},
                                        {0xf0040004, 1},
                                        {0xf0040008, 1 << 16 | 7},
                                        {0xf004000c, 42}};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i][0] == address)
            return words[i][1];
    return 0;
}

static const uint32_t *header(uint32_t entry)
{
    return (const uint32_t *)(uintptr_t)entry;
}

_Noreturn void enter_image(uint32_t entry)
{
    const char *bootargs = (const char *)(uintptr_t)header(entry)[3];
    struct service_end *end = (struct service_end *)(uintptr_t)(MAIN_RAM_BASE + MAIN_RAM_SIZE - 4096);
    print("image: ");
    print(bootargs);
    print("\r\n@done words=1 real=2.5 hex=0x10 flag\r\n");
    if (strstr(bootargs, "hang"))
        for (;;)
            line_waiting();
    if (strstr(bootargs, "type"))
        for (uint8_t c = 0; c != '\r';)
            if (line_waiting())
                line_put(c = line_take());
    uint8_t *blob = (uint8_t *)(uintptr_t)(MAIN_RAM_BASE + MAIN_RAM_SIZE / 2);
    for (unsigned i = 0; i < 3000; i++)
        blob[i] = (uint8_t)(i * 7);
    const char *code = strstr(bootargs, "exit=");
    *end = (struct service_end){
        .code = code ? (uint32_t)atoi(code + 5) : 0, .blobs = 1, .blob = {{1, (uint32_t)(uintptr_t)blob, 3000}}};
    loader(end);
}

static void wants_reset(int signal)
{
    (void)signal;
    reset_wanted = 1;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    baud_descriptor = argv[1];
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, 0);
    signal(SIGUSR1, wants_reset);
    if (mmap((void *)MAIN_RAM_BASE, MAIN_RAM_SIZE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)MAIN_RAM_BASE)
        return 1;
    memset((void *)MAIN_RAM_BASE, 0xa5, MAIN_RAM_SIZE);
    tell_baud(LINE_RESET_BAUD);
    print("boot ROM\r\n");
    loader(0);
}
