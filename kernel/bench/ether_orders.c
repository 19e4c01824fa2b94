/*
 * run=orders: the program orders (user/programs/orders.c) with the words of args=A,B, in the measured part (probes
 * WINDOW_BEGIN and _END); for paper `krp`'s figures, which are of the machine as a whole. Prints @net and @ether
 * after the program's output.
 */
#include <string.h>

#include "arch/probe.h"
#include "dev/ether.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "net/net.h"
#include "proc/run.h"

#define PROGRAM "orders"
#define SIGNAL_EXIT_CODE 128

static int orders(void)
{
    static struct arguments arguments;
    char words[64];
    arguments_clear(&arguments);
    arguments_add(&arguments, PROGRAM);
    char *rest = (char *)bootargs_string(BOOT(kernel, args), words, sizeof words);
    for (char *word; (word = strtok_r(rest, ",", &rest));)
        arguments_add(&arguments, word);
    PROBE(WINDOW_BEGIN);
    int id = process_spawn(0, PROGRAM, &arguments, ANY_HART);
    int status = id > 0 ? user_wait_for_all(id) : 0;
    PROBE(WINDOW_END);
    if (id < 0)
        panic("run=orders: " PROGRAM ": error %d", id);
    net_print_results();
    ether_print_results();
    return status & 0xff ? SIGNAL_EXIT_CODE + status : status >> 8;
}

RUN("orders", "a transaction server on node 0, its clients on node 1: args=CLIENTS,WORK,MS (paper krp)", orders);
