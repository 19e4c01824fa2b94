/* The Modified Andrew Benchmark, as run=andrew has it. */
#ifndef BENCH_ANDREW_H
#define BENCH_ANDREW_H

int andrew_run(void); /* the exit code */
#endif
