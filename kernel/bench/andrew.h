/* The Modified Andrew Benchmark of run=andrew. */
#ifndef BENCH_ANDREW_H
#define BENCH_ANDREW_H

int andrew_run(void); /* returns the exit code */
#endif
