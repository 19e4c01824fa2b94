/*
 * run=andrew: the Modified Andrew Benchmark (paper `sync`, section 5.1) by programs on the disk: a shell, the
 * script /andrew.sh there with the words of args=A,B as its arguments, and what that starts. With root=disk0 and the
 * disk's image from sim/images/disks.py. The measured part (probes WINDOW_BEGIN and _END) includes all of it. Prints
 *
 *   @andrew harts=... cycles=... status=...        status: the script's, as a shell reports it
 *   @crit_timing, @crit_poll                        in images with CRIT_TIMING (bench/polls.h), a poll each `poll` ms
 *                                                   (100)
 *
 * and the script prints the beginning of each of its phases.
 */
#include <string.h>

#include "arch/csr.h"
#include "arch/probe.h"
#include "bench/andrew.h"
#include "bench/polls.h"
#include "dev/clock.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "sched/timeout.h"
#include "proc/mounts.h"
#include "proc/run.h"

#define SHELL "/bin/sh"
#define SCRIPT "/andrew.sh"
#define SIGNAL_EXIT_CODE 128

static struct timeout andrew_poll;
static uint32_t poll_ticks;

static void take_poll(void *arg)
{
    (void)arg;
    polls_take();
    timeout_set(&andrew_poll, poll_ticks, take_poll, 0);
}

int andrew_run(void)
{
    static struct arguments arguments;
    char words[64];
    if (!clock_hz() || strcmp(bootargs_string(BOOT(kernel, root), words, sizeof words), "disk0"))
        panic("run=andrew needs a clock (hz) and root=disk0 with the image of ./interlock run andrew");
    arguments_clear(&arguments);
    arguments_add(&arguments, SHELL);
    arguments_add(&arguments, SCRIPT);
    char *rest = (char *)bootargs_string(BOOT(kernel, args), words, sizeof words);
    for (char *word; (word = strtok_r(rest, ",", &rest));)
        arguments_add(&arguments, word);
    poll_ticks = bootargs_number(BOOT(bench_andrew, poll)) * clock_hz() / 1000;
    poll_ticks += !poll_ticks;

    mounts_start(); /* otherwise the first program would, and clear all buffers */
    polls_begin();
    timeout_set(&andrew_poll, poll_ticks, take_poll, 0);
    uint64_t begin = cycles64();
    PROBE(WINDOW_BEGIN);
    int id = process_spawn(0, SHELL, &arguments, ANY_HART);
    int status = id > 0 ? user_wait_for_all(id) : 0;
    PROBE(WINDOW_END);
    uint64_t took = cycles64() - begin;
    timeout_drain(&andrew_poll);
    polls_end();
    if (id < 0)
        panic("run=andrew: " SHELL " on the disk: error %d", id);
    status = status & 0xff ? SIGNAL_EXIT_CODE + status : status >> 8;
    polls_print();
    kprintf("@andrew harts=%u cycles=%llu status=%d\n", hart_count, (unsigned long long)took, status);
    return mounts_stop() ? 1 : status;
}

RUN("andrew", "the Modified Andrew Benchmark from a disk (paper sync, section 5.1)", andrew_run);
