/*
 * Tests 1, 3, 8 and 18 of the Neal Nelson Benchmark, from what paper `mach`, section 3.3, says of them: what one user
 * does. The file that includes this defines how a file is used:
 *
 *   int nnb_open(void *user, const char *path, bool create);      a descriptor, the file made or emptied with `create`
 *   void nnb_close(void *user, int fd);
 *   void nnb_seek(void *user, int fd, uint32_t offset);
 *   void nnb_read(void *user, int fd, void *to, uint32_t n);
 *   void nnb_write(void *user, int fd, const void *from, uint32_t n);
 *   void nnb_unlink(void *user, const char *path);
 *
 * All end the run if they fail. Each user has a working file of `file` bytes, open as `fd`, and a name for a temporary
 * one.
 */
#ifndef BENCH_NNB_TESTS_H
#define BENCH_NNB_TESTS_H

#include <stdbool.h>
#include <stdint.h>

#define NNB_PIECE 512u

struct nnb {
    void *user;
    int fd;
    uint32_t file;         /* bytes; a multiple of 10 pieces or more */
    const char *temporary; /* a path */
    uint32_t random;
    uint8_t buffer[NNB_PIECE];
};

/* How much of each; the paper's: 250 loops in test 3, 500,000 calls in test 8. */
struct nnb_scale {
    uint32_t average, loops, calls, reads;
};

/* An offset in the file with room for a piece, a multiple of a piece. */
static inline uint32_t nnb_place(struct nnb *n)
{
    n->random = n->random * 1664525 + 1013904223;
    return (n->random >> 8) % (n->file / NNB_PIECE) * NNB_PIECE;
}

static inline void nnb_random_read(struct nnb *n)
{
    nnb_seek(n->user, n->fd, nnb_place(n));
    nnb_read(n->user, n->fd, n->buffer, NNB_PIECE);
}

static __attribute__((noinline)) void nnb_empty(void)
{
    __asm__ volatile("");
}

static inline uint32_t nnb_calculate(uint32_t x, uint32_t turns)
{
    for (; turns; turns--) {
        x = x * 2654435761u + turns;
        x ^= x / (turns | 1);
    }
    return x;
}

/* #1, the average user: calculations, the working file read and written, a temporary file made and removed. */
static inline void nnb_average(struct nnb *n, uint32_t times)
{
    for (; times; times--) {
        n->random = nnb_calculate(n->random, 100);
        nnb_random_read(n);
        nnb_random_read(n);
        nnb_seek(n->user, n->fd, nnb_place(n));
        nnb_write(n->user, n->fd, n->buffer, NNB_PIECE);
        n->random = nnb_calculate(n->random, 100);
        int fd = nnb_open(n->user, n->temporary, true);
        nnb_write(n->user, fd, n->buffer, NNB_PIECE);
        nnb_seek(n->user, fd, 0);
        nnb_read(n->user, fd, n->buffer, NNB_PIECE);
        nnb_close(n->user, fd);
        nnb_unlink(n->user, n->temporary);
    }
}

/* #3, disk I/O: five sequential reads and five sequential writes from the beginning, then random reads. */
static inline void nnb_disk(struct nnb *n, uint32_t times)
{
    for (; times; times--) {
        nnb_seek(n->user, n->fd, 0);
        for (unsigned i = 0; i < 5; i++)
            nnb_read(n->user, n->fd, n->buffer, NNB_PIECE);
        for (unsigned i = 0; i < 5; i++)
            nnb_write(n->user, n->fd, n->buffer, NNB_PIECE);
        for (unsigned i = 0; i < 5; i++)
            nnb_random_read(n);
    }
}

static inline void nnb_run(struct nnb *n, unsigned test, const struct nnb_scale *scale)
{
    switch (test) {
    case 1: nnb_average(n, scale->average); break;
    case 3: nnb_disk(n, scale->loops); break;
    case 8:
        for (uint32_t i = 0; i < scale->calls; i++)
            nnb_empty(); /* function overhead */
        break;
    case 18:
        for (uint32_t i = 0; i < scale->reads; i++)
            nnb_random_read(n);
        break;
    }
}
#endif
