/*
 * mutual ROUNDS STEPS: nodes that create tasks on each other at the same time (kernel/task/task.h). A task of node 0
 * has a child on each other node, which node 0 asks to create a child on node 0, and on the node after its
 * own; so each node's kernel waits for the others' while these wait for it. All grandchildren read memory of the first
 * task, by way of their parents, and report its sum. Exits with 0, or prints what is wrong. With run=remote.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/lib/ports.h"
#include "user/lib/system.h"

#define WORDS 2048
#define STACK 8192
#define MOST 16
#define ANSWER_MS 20000

static uint32_t memory[WORDS];
static uint8_t stack[STACK] __attribute__((aligned(16)));
static uint32_t rounds, steps;

static uint32_t sum_of(void)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        sum = sum * 31 + memory[i];
    return sum;
}

static void grandchild(uint32_t arg)
{
    struct user_message m = {.id = 7, .size = 8};
    uint32_t said[2] = {sum_of(), arg};
    m.to = (struct user_right){(uint32_t)bootstrap_port(), USER_RIGHT_COPY_SEND};
    memcpy(m.body, said, sizeof said);
    _exit(message_send(&m, USER_FOREVER) ? 1 : 0);
}

static int fails(const char *what, uint32_t node, int error)
{
    printf("mutual: %s of node %u: error %d\n", what, (unsigned)node, -error);
    return 1;
}

/* Children of the tasks on the other nodes, all requested before waiting for the first answer. */
static int ask(const int *child, uint32_t nodes, uint32_t answers)
{
    for (uint32_t n = 1; n < nodes; n++)
        for (uint32_t to = 0; to < nodes; to += n) { /* node 0, and others in turn */
            struct user_message m = {.id = USER_TASK_CREATE,
                                     .size = 8,
                                     .to = {(uint32_t)child[n], USER_RIGHT_COPY_SEND},
                                     .reply = {answers, USER_RIGHT_MAKE_SEND_ONCE}};
            uint32_t words[2] = {to, steps};
            memcpy(m.body, words, sizeof words);
            int error = message_send(&m, ANSWER_MS);
            if (error)
                return fails("a request", n, error);
        }
    return 0;
}

static int run_all(uint32_t nodes, uint32_t answers, uint32_t port, uint32_t sum)
{
    uint32_t count = 0, task[MOST * MOST];
    for (uint32_t n = 1; n < nodes; n++)
        for (uint32_t to = 0; to < nodes; to += n)
            count++;
    for (uint32_t i = 0; i < count; i++) {
        struct user_message m;
        int error = message_receive(&m, answers, ANSWER_MS);
        if (!error)
            memcpy(&error, m.body, sizeof error);
        if (error || m.rights != 1)
            return fails("a child", i, error);
        task[i] = m.right[0].name;
        error = task_run(task[i], grandchild, i, stack + STACK);
        if (error)
            return fails("a thread", i, error);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct user_message m;
        uint32_t said[2];
        int error = message_receive(&m, port, ANSWER_MS);
        memcpy(said, m.body, sizeof said);
        if (error || said[0] != sum)
            return fails("the sum", i, error);
    }
    for (uint32_t i = 0; i < count; i++)
        port_deallocate(task[i]);
    return 0;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? strtoul(argv[1], 0, 0) : 1;
    steps = argc > 2 ? strtoul(argv[2], 0, 0) : 0;
    uint32_t nodes = node_total();
    int port = port_allocate(), answers = port_allocate(), child[MOST] = {0};
    if (nodes < 2 || nodes > MOST || port < 0 || answers < 0 || set_bootstrap_port((uint32_t)port))
        return fails("2 to 16 nodes, and ports", 0, port);
    for (uint32_t round = 1; round <= rounds; round++) {
        for (uint32_t i = 0; i < WORDS; i++)
            memory[i] = i * 0x9e3779b9u + round;
        uint32_t sum = sum_of();
        for (uint32_t n = 1; n < nodes; n++)
            if ((child[n] = task_create((uint32_t)task_self(), n, steps, 0)) < 0)
                return fails("the first child", n, child[n]);
        if (ask(child, nodes, (uint32_t)answers) || run_all(nodes, (uint32_t)answers, (uint32_t)port, sum))
            return 1;
        for (uint32_t n = 1; n < nodes; n++)
            port_deallocate((uint32_t)child[n]);
    }
    return 0;
}
