/*
 * run=remote: nodes that create tasks on each other (task/task.h). Node 0 runs the program program= with the words of
 * args=A,B,C, and then tells the others to end; each of them serves until then. At the end no task, port, memory object
 * or page is left, on any node. Boot arguments: ipc.retry (ms until a packet is sent again), ipc.servers (threads for
 * requests of other nodes), ipc.lose, ipc.repeat (of 1,000 frames).
 *
 * With ipc.cut= a node is cut from the wire, for good or until ipc.heal=: the program may fail then (@remote_failed),
 * but no node may have anything left.
 *
 *   @remote_node node=... nodes=... cycles=...     of the program; on the others from their start to their end
 */
#include <errno.h>
#include <generated/soc.h>
#include <string.h>

#include "arch/boot.h"
#include "arch/csr.h"
#include "bench/remote.h"
#include "task/task.h"
#include "dev/clock.h"
#include "dev/ether.h"
#include "dev/node.h"
#include "init/run.h"
#include "ipc/transport.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "net/if_ether.h"
#include "proc/run.h"
#include "sched/sched.h"
#include "xmm/xmm.h"

#define LEAVE_MS 3000 /* for remaining rights to be returned; or until a silent node has been given up */
#define SIGNAL_EXIT_CODE 128

static volatile bool remote_ends;

/* Whether everything that tasks had of other nodes has been given back. */
static bool is_quiet(void)
{
    return !tasks_in_use() && !xmm_counts.exports && !xmm_counts.proxies;
}

static void await_quiet(void)
{
    uint32_t ms = MAX(LEAVE_MS, 2 * transport_patience());
    uint64_t until = cycles64() + (uint64_t)ms * (CONFIG_CLOCK_FREQUENCY / 1000);
    int status;
    while (!is_quiet() && cycles64() < until) {
        while (process_wait(0, -1, 1 /* WNOHANG */, &status, 0) > 0)
            ;
        thread_delay(1);
    }
}

static int run_program(void)
{
    char name[USER_NAME_SIZE];
    static char words[BOOTARGS_SIZE];
    static struct arguments arguments;
    arguments_clear(&arguments);
    arguments_add(&arguments, bootargs_string(BOOT(kernel, program), name, sizeof name));
    char *rest = (char *)bootargs_string(BOOT(kernel, args), words, sizeof words);
    for (char *word; (word = strtok_r(rest, ",", &rest));)
        arguments_add(&arguments, word);
    int id = process_spawn(0, name, &arguments, ANY_HART);
    if (id < 0)
        panic("the program %s does not start: error %d", name, -id);
    int status = user_wait_for_all(id);
    return status & 0xff ? SIGNAL_EXIT_CODE + status : status >> 8;
}

/* Until another node ends this one, or none can: a node that is cut ends, and all do if node 0 is. */
static void serve_others(void)
{
    uint32_t cut = bootargs_number(BOOT(kernel, ipc_cut)), heal = bootargs_number(BOOT(kernel, ipc_heal));
    bool alone = cut && (transport_is_cut() || !bootargs_number(BOOT(kernel, ipc_cut_node)));
    uint64_t us = (uint64_t)cut + (heal == UINT32_MAX ? 0 : heal) + (uint64_t)8000 * transport_patience();
    uint64_t until = cycles64() + us * (CONFIG_CLOCK_FREQUENCY / 1000000);
    while (!remote_ends && !transport_has_given_up(0) && !(alone && cycles64() > until))
        thread_delay(5 * clock_hz() / 1000 + 1);
}

/* The others end when they have nothing left. */
static int remote_shut_down(unsigned nodes)
{
    int failed = 0;
    for (unsigned n = 1; n < nodes; n++) {
        struct port *host = port_known(n, UID_HOST);
        struct message *reply, *m = message_alloc(HOST_SHUTDOWN);
        if (!host || !m)
            panic("memory is out");
        m->to = (struct right){host, RIGHT_SEND};
        int error = message_call(m, MAX(2 * LEAVE_MS, 2 * transport_patience()), &reply);
        if (error)
            failed++;
        else
            message_free(reply);
    }
    return failed;
}

void remote_end(struct message *m)
{
    message_answer(m, 0);
    remote_ends = true;
}

int remote_run(int (*work)(void))
{
    unsigned node = node_number(), nodes = node_count();
    if (!clock_hz())
        panic("run=remote needs a clock: give hz=1000, say");
    if_ether_start();
    ipc_ports_init(node);
    tasks_init();
    task_host_shutdown = remote_end;
    server_start(bootargs_number(BOOT(kernel, ipc_servers)));
    transport_node_died = xmm_node_died;
    transport_start(nodes);
    uint64_t begin = cycles64();
    int code = 0;
    if (node) {
        serve_others();
        await_quiet();
    } else {
        code = work();
        begin = cycles64() - begin;
        await_quiet();
        code |= remote_shut_down(nodes);
        begin = cycles64() - begin;
    }
    uint64_t cycles = cycles64() - begin;
    await_quiet();
    user_wait_for_all(0);
    tasks_end();
    transport_drain(200);
    thread_delay(30 * clock_hz() / 1000 + 1); /* a lost acknowledgement is requested again */
    if_ether_stop();
    if (!is_quiet() || messages_in_use())
        panic("left at the end: %lu tasks, %lu exports, %lu proxies, %lu messages", (unsigned long)tasks_in_use(),
              (unsigned long)xmm_counts.exports, (unsigned long)xmm_counts.proxies, (unsigned long)messages_in_use());
    assert(process_none_left());
    xmm_print_results();
    transport_print_results();
    kprintf("@remote_node node=%u nodes=%u cycles=%llu\n", node, nodes, (unsigned long long)cycles);
    if (!bootargs_number(BOOT(kernel, ipc_cut)))
        return code;
    if (code)
        kprintf("@remote_failed code=%d\n", code);
    return 0;
}

static int run_remote(void)
{
    return remote_run(run_program);
}

RUN("remote", "creates tasks on other nodes (program=, args=)", run_remote);
