/* Result lines between measurements. */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include "dev/console.h"
#include "lib/printf.h"

/*
 * As kprintf, from a thread; returns when all is sent, so that the console's interrupts are not part of later figures.
 */
#define result(...) (kprintf(__VA_ARGS__), console_flush())
#endif
