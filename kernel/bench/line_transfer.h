/* The floor of every hand-over between harts (line_transfer.c), for the runs that print it beside their own figures. */
#ifndef BENCH_LINE_TRANSFER_H
#define BENCH_LINE_TRANSFER_H

/* Prints the @line_transfer lines; returns the exit code of run=line-transfer. */
int line_transfer(void);
#endif
