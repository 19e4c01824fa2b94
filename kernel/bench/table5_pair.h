/* The measured pairs of run=table5: table5_pair.c is compiled once for each scheme. */
#ifndef BENCH_TABLE5_PAIR_H
#define BENCH_TABLE5_PAIR_H

#include <stdint.h>

#define SCHEMES(X)                          \
    X("off-chip", "spl-pessim", spl_pessim) \
    X("flag", "spl-optim", spl_optim)       \
    X("on-chip", "cli-pessim", cli_pessim)  \
    X("flag", "cli-optim", cli_optim)       \
    X("on-chip", "cli-spl-pessim", cli_spl_pessim)

#define DECLARE(primitive, scheme, id) uint64_t table5_##id(uint32_t iterations);
SCHEMES(DECLARE)

#endif
