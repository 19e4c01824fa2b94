/*
 * What a kernel image can run: benches and tests, each selected by the boot argument run=NAME. A run is called in the
 * first thread; it returns the exit code, 0 for success, and fails by panic. An image has the runs it is built for
 * (`make RUNS="NAME ..."`) and those of init/ and user/. A RUN() stands on one line, by which the build finds it.
 */
#ifndef INIT_RUN_H
#define INIT_RUN_H

#include <stdint.h>

struct run {
    const char *name, *what;
    int (*fn)(void);
};

/* The symbol is named run=NAME: the link of an image asks for it, which links in the file with the run. */
#define RUN(run_name, run_what, run_fn)                              \
    const struct run run_of_##run_fn __asm__("\"run=" run_name "\"") \
        __attribute__((used, section(".runs"))) = {run_name, run_what, run_fn}

/* Execute the run of this name; an unknown name prints the list of runs and returns 2. */
int run_named(const char *name);
#endif
