/* Lines of results between which is measured. */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include "dev/console.h"
#include "lib/printf.h"

/*
 * As kprintf, from a thread; returns when all is sent, so that the console's interrupts are in no figure that follows.
 */
#define result(...) (kprintf(__VA_ARGS__), console_flush())
#endif
