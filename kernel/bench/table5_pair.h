/* The measured pairs of run=table5: table5_pair.c is compiled once for each scheme. */
#ifndef BENCH_TABLE5_PAIR_H
#define BENCH_TABLE5_PAIR_H

#include <stdint.h>

#include <generated/schemes.h>

#define DECLARE(primitive, scheme, id) uint64_t table5_##id(uint32_t iterations);
SCHEMES(DECLARE)

#endif
