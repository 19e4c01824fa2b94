/* What runs over several nodes have in common (remote.c). */
#ifndef BENCH_REMOTE_H
#define BENCH_REMOTE_H

/* On node 0 does the work, whose exit code is the run's; the others serve. No node may have anything left then. */
int remote_run(int (*work)(void));
#endif
