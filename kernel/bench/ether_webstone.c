/*
 * run=webstone: paper `sync`'s load WebStone (section 5.1): a web server on node 0, its clients on the others, with the
 * words of args=WORKERS,CLIENTS,REQUESTS,SEED,PER (user/ports/httpd.c, user/commands/webstone.c). With root=disk0 both
 * programs are in its /bin, and the served files in its /www (sim/images/disks.py makes such a disk); without, all is
 * in the archive. The measured part (probes WINDOW_BEGIN and _END) of node 0 begins when all clients are there and ends
 * when all have ended. Prints
 *
 *   @webstone_server harts=... cycles=...           of the measured part
 *   @crit_timing, @crit_poll                        in images with CRIT_TIMING (bench/polls.h), a poll each `poll` ms
 *
 * @net, @ether, and the programs' output.
 */
#include <string.h>

#include "arch/csr.h"
#include "arch/probe.h"
#include "bench/polls.h"
#include "dev/clock.h"
#include "dev/ether.h"
#include "dev/node.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "net/net.h"
#include "proc/mounts.h"
#include "proc/run.h"
#include "sched/timeout.h"

#define ADDRESS "10.0.0.2" /* of node 0 */
#define PORT "80"
#define GATE "81" /* and 82 */
#define SIGNAL_EXIT_CODE 128

enum { WORKERS, CLIENTS, REQUESTS, SEED, PER, WORDS };

static const uint32_t webstone_most[WORDS] = {256, 100, 10000, 0xffffffff, 10000}; /* as in the programs */
static struct timeout webstone_poll;
static uint32_t webstone_poll_ticks;
static const char *webstone_folder; /* of programs */

static void webstone_take_poll(void *arg)
{
    (void)arg;
    polls_take();
    timeout_set(&webstone_poll, webstone_poll_ticks, webstone_take_poll, 0);
}

/* Starts the program with these words, up to the first that is 0. Returns its id. */
static int webstone_start(const char *program, const char *const *words)
{
    static struct arguments arguments;
    char path[32];
    strlcpy(path, webstone_folder, sizeof path);
    strlcat(path, program, sizeof path);
    arguments_clear(&arguments);
    arguments_add(&arguments, path);
    while (*words)
        arguments_add(&arguments, *words++);
    int id = process_spawn(0, path, &arguments, ANY_HART);
    if (id < 0)
        panic("run=webstone: %s: error %d", path, id);
    return id;
}

static bool webstone_is_number(const char *word, uint32_t most)
{
    uint64_t n = 0;
    for (; *word >= '0' && *word <= '9' && n <= most; word++)
        n = 10 * n + (uint64_t)(*word - '0');
    return !*word && n && n <= most;
}

static const char *webstone_digits(unsigned number, char text[12])
{
    char *at = text + 11;
    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    return at;
}

static int webstone_wait(int id)
{
    int status;
    int ended = process_wait(0, id, 0, &status, 0);
    return ended != id ? 1 : status;
}

static int webstone_serve(const char *const *words, const char *files)
{
    char clients[12], server[12];
    const char *serve[] = {"-p", PORT, "-w", words[WORKERS], files, 0};
    int of = webstone_start("httpd", serve);
    const char *nodes = webstone_digits(node_count() - 1, clients);
    const char *open[] = {"gate", GATE, nodes, 0};
    const char *shut[] = {"gate", "82", nodes, webstone_digits((unsigned)of, server), 0};
    int begin = webstone_start("webstone", open), end = webstone_start("webstone", shut);
    int status = webstone_wait(begin);
    polls_begin();
    timeout_set(&webstone_poll, webstone_poll_ticks, webstone_take_poll, 0);
    uint64_t began = cycles64();
    PROBE(WINDOW_BEGIN);
    status |= webstone_wait(end);
    PROBE(WINDOW_END);
    uint64_t took = cycles64() - began;
    timeout_drain(&webstone_poll);
    polls_end();
    status |= webstone_wait(of);
    polls_print();
    kprintf("@webstone_server harts=%u cycles=%llu\n", hart_count, (unsigned long long)took);
    return status;
}

static int webstone(void)
{
    char text[64], root[16];
    bool archive = strcmp(bootargs_string(BOOT(kernel, root), root, sizeof root), "disk0");
    webstone_folder = archive ? "/" : "/bin/";
    const char *words[WORDS] = {"8", "8", "100", "1", "1"};
    char *rest = (char *)bootargs_string(BOOT(kernel, args), text, sizeof text), *word;
    for (unsigned i = 0; i < WORDS && (word = strtok_r(rest, ",", &rest)); i++)
        words[i] = word;
    for (unsigned i = 0; i < WORDS; i++) /* on either side: the other node would wait for a program that ends at once */
        if (!webstone_is_number(words[i], webstone_most[i]))
            panic("run=webstone: args=WORKERS,CLIENTS,REQUESTS,SEED,PER: '%s' is not one of 1 to %lu", words[i],
                  (unsigned long)webstone_most[i]);
    if (!clock_hz() || node_count() < 2)
        panic("run=webstone needs a clock (hz) and several machines on a wire (--nodes 2 --wire ether)");
    webstone_poll_ticks = bootargs_number(BOOT(bench_ether_webstone, poll)) * clock_hz() / 1000;
    webstone_poll_ticks += !webstone_poll_ticks;

    mounts_start(); /* otherwise the first program would, and clear all buffers */
    int status;
    if (node_number()) {
        const char *const client[] = {"-g",    GATE, "-s",           words[SEED],     "-k", words[PER],
                                      ADDRESS, PORT, words[CLIENTS], words[REQUESTS], 0};
        status = webstone_wait(webstone_start("webstone", client));
    } else {
        status = webstone_serve(words, archive ? "/" : "/www");
    }
    int left = user_wait_for_all(0);
    net_print_results();
    ether_print_results();
    status = status & 0xff ? SIGNAL_EXIT_CODE + (status & 0x7f) : status >> 8;
    return mounts_stop() || left ? 1 : status;
}

RUN("webstone",
    "a web server on node 0, its clients on the others: args=WORKERS,CLIENTS,REQUESTS,SEED,PER (paper sync)", webstone);
