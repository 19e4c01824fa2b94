/*
 * sharing ROUNDS SPREAD: memory that is written on all nodes (kernel/xmm/share.h). A task on each, this one included,
 * adds to counters in pages of all, passes a token round, writes its words into a page that others write, too, and
 * checks that no value it reads goes back; some copy the memory meanwhile, and check that the copy is of one moment.
 * SPREAD 0: created one after the other. Exits with 0, or prints what is wrong. With run=remote.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "user/lib/ports.h"
#include "user/lib/system.h"

#define PAGE 4096
#define COUNTERS 3
#define MOST 16 /* nodes */
#define STACK 8192
#define ANSWER_MS 5000
#define TURN_CYCLES 200000000u /* until a turn comes; else a task has ended */

/* Each in a page of its own. */
struct page {
    volatile uint32_t word[PAGE / 4];
};
static struct page *memory;
enum { TOKEN, FIRST, SECOND, MIXED, COUNTER, PAGES = COUNTER + COUNTERS };

static uint8_t stack[STACK] __attribute__((aligned(16)));
static uint8_t copies[2 * PAGES * PAGE] __attribute__((aligned(PAGE)));
static uint32_t rounds, nodes;

static uint32_t wrong(const char *what, uint32_t is, uint32_t should)
{
    printf("sharing: node %u: %s: %u, not %u\n", (unsigned)node_self(), what, (unsigned)is, (unsigned)should);
    return 1;
}

/* A copy that has the second write has the first one, too. */
static uint32_t look_at_copy(void)
{
    struct page *copy = (struct page *)copies;
    int error = task_vm_copy((uint32_t)task_self(), (uint32_t)memory, PAGES * PAGE, (uint32_t)copy);
    if (error)
        return wrong("a copy", (uint32_t)-error, 0);
    uint32_t second = copy[SECOND].word[0], first = copy[FIRST].word[0];
    return first == second || first == second + 1 ? 0 : wrong("first in a copy", first, second);
}

/* One node after the other, so only one node writes the two words. */
static uint32_t pass_on(uint32_t node)
{
    for (uint32_t begin = cycles(); memory[TOKEN].word[0] % nodes != node; usleep(1000))
        if (cycles() - begin > TURN_CYCLES)
            return wrong("a turn", memory[TOKEN].word[0], node);
    memory[FIRST].word[0]++;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    memory[SECOND].word[0]++;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    memory[TOKEN].word[0]++;
    return 0;
}

static uint32_t work(uint32_t node)
{
    uint32_t seen[COUNTERS] = {0}, failed = 0;
    for (uint32_t i = 0; i < rounds && !failed; i++) {
        uint32_t k = (i + node) % COUNTERS;
        uint32_t old = __atomic_fetch_add(&memory[COUNTER + k].word[0], 1, __ATOMIC_SEQ_CST);
        if (old < seen[k])
            failed = wrong("a counter", old, seen[k]);
        seen[k] = old + 1;
        memory[MIXED].word[64 * node] += i;
        k = (k + 1) % COUNTERS;
        old = memory[COUNTER + k].word[0];
        if (old < seen[k])
            failed = wrong("a counter that is read", old, seen[k]);
        seen[k] = old;
        failed |= pass_on(node);
        if (i % 3 == node % 3)
            failed |= look_at_copy();
    }
    return failed;
}

static void child(uint32_t node)
{
    int to = bootstrap_port();
    struct user_message m = {.id = 7, .size = 4, .to = {(uint32_t)to, USER_RIGHT_COPY_SEND}};
    uint32_t failed = work(node_self());
    memcpy(m.body, &failed, sizeof failed);
    _exit(to <= 0 || node != node_self() || message_send(&m, USER_FOREVER) ? 1 : 0);
}

static int start(uint32_t spread)
{
    struct created c;
    if (spread)
        return task_spread((uint32_t)task_self(), 1, nodes - 1, 15, 1, child, stack + STACK, &c);
    for (uint32_t node = 1; node < nodes; node++) {
        int task = task_create((uint32_t)task_self(), node, node % 2 * 7, &c);
        int error = task < 0 ? task : task_run((uint32_t)task, child, node, stack + STACK);
        if (error)
            return error;
        port_deallocate((uint32_t)task);
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint32_t failed = 0, sum = 0;
    rounds = argc > 1 ? strtoul(argv[1], 0, 0) : 5;
    nodes = node_total();
    int port = port_allocate();
    memory = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (nodes > MOST || port < 0 || memory == MAP_FAILED || set_bootstrap_port((uint32_t)port))
        return 1;
    memory[MIXED].word[1] = 5; /* a page that is present, and others that are not */
    int error = start(argc > 2 && atoi(argv[2]));
    if (error)
        return (int)wrong("children", (uint32_t)-error, 0);
    failed = work(0);
    for (uint32_t i = 1; i < nodes; i++) {
        struct user_message m;
        uint32_t its = 1;
        error = message_receive(&m, (uint32_t)port, ANSWER_MS);
        if (error)
            return (int)wrong("an answer", (uint32_t)-error, 0);
        memcpy(&its, m.body, sizeof its);
        failed |= its;
    }
    for (uint32_t k = 0; k < COUNTERS; k++)
        sum += memory[COUNTER + k].word[0];
    if (sum != nodes * rounds)
        failed = wrong("counters", sum, nodes * rounds);
    for (uint32_t n = 0; n < nodes; n++)
        if (memory[MIXED].word[64 * n] != rounds * (rounds - 1) / 2)
            failed = wrong("a node's word", memory[MIXED].word[64 * n], rounds * (rounds - 1) / 2);
    if (memory[MIXED].word[1] != 5)
        failed = wrong("a word that nobody writes", memory[MIXED].word[1], 5);
    if (memory[FIRST].word[0] != nodes * rounds || memory[SECOND].word[0] != nodes * rounds)
        failed = wrong("turns", memory[FIRST].word[0], nodes * rounds);
    printf("@sharing nodes=%u rounds=%u\n", (unsigned)nodes, (unsigned)rounds);
    return (int)failed;
}
