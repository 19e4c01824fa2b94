/*
 * memcpy and memset by the word: the C library's, built for size, go byte by byte, and the kernel copies and clears
 * pages with them. Where `to` and `from` are not aligned alike, these copy bytes, too. Programs use the same code
 * (user/lib/memory.c is a link): picolibc's malloc clears the memory that it returns.
 */
#include <stddef.h>
#include <stdint.h>

#define WORD sizeof(uint32_t)
#define PIECE (8 * WORD)

typedef uint32_t __attribute__((may_alias)) word_t;

/* Keep the compiler from recognising these loops and replacing them by calls to themselves. */
#pragma GCC optimize("no-tree-loop-distribute-patterns")

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    if (((uintptr_t)t ^ (uintptr_t)f) % WORD == 0) {
        for (; n && (uintptr_t)t % WORD; n--)
            *t++ = *f++;
        for (; n >= PIECE; n -= PIECE, t += PIECE, f += PIECE) /* loads first: none waits for the previous one */
            for (unsigned half = 0; half < PIECE; half += PIECE / 2) {
                const word_t *g = (const word_t *)(f + half);
                word_t *u = (word_t *)(t + half);
                uint32_t a = g[0], b = g[1], c = g[2], d = g[3];
                u[0] = a, u[1] = b, u[2] = c, u[3] = d;
            }
        for (; n >= WORD; n -= WORD, t += WORD, f += WORD)
            *(word_t *)t = *(const word_t *)f;
    }
    while (n--)
        *t++ = *f++;
    return to;
}

void *memset(void *to, int c, size_t n)
{
    uint8_t *t = to;
    uint32_t word = (uint8_t)c * 0x01010101u;
    for (; n && (uintptr_t)t % WORD; n--)
        *t++ = (uint8_t)c;
    for (; n >= PIECE; n -= PIECE, t += PIECE)
#pragma GCC unroll 8
        for (unsigned i = 0; i < PIECE / WORD; i++)
            ((word_t *)t)[i] = word;
    for (; n >= WORD; n -= WORD, t += WORD)
        *(word_t *)t = word;
    while (n--)
        *t++ = (uint8_t)c;
    return to;
}
