/*
 * cstest: the context switch primitives alone. Five contexts between guards switch in a fixed order, to themselves,
 * through nested levels, with floating point alive; then overflow, underflow and corruption must be found. Prints
 *   @cstest checks=N failed=N
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csw.h"

#define STACK 16000
#define GUARD 256
#define CONTEXTS 5
#define LEVELS 10

enum { NONE, OVERFLOW, UNDERFLOW, CORRUPTED };

struct guarded {
    uint32_t before[GUARD];
    _Alignas(16) char stack[STACK];
    uint32_t after[GUARD];
};

static struct guarded *made[CONTEXTS];
_Alignas(16) static char main_context[CSW_LEAST]; /* saved only: its stack is elsewhere, above it */
static char steps[256];
static int found, checks, failed, level;
static volatile double product;

#define CHECK(condition) check(condition, #condition, __LINE__)

static void check(int holds, const char *text, int line)
{
    checks++;
    if (!holds) {
        failed++;
        printf("line %d, level %d: %s\n", line, level, text);
    }
}

static void back(int what)
{
    found = what;
    mpd_chg_context(main_context, NULL);
    abort();
}

void mpd_stk_overflow(void)
{
    back(OVERFLOW);
    abort();
}

void mpd_stk_underflow(void)
{
    back(UNDERFLOW);
    abort();
}

void mpd_stk_corrupted(void)
{
    back(CORRUPTED);
    abort();
}

static void guards(void)
{
    for (int i = 0; i < CONTEXTS; i++) {
        int whole = 1;
        for (int j = 0; made[i] && j < GUARD; j++)
            whole &= made[i]->before[j] == 0xb4b4b4b4 && made[i]->after[j] == 0xafafafaf;
        CHECK(whole);
    }
}

static char *context(int i, void (*code)(long, long, long, long), long a, long b, long c, long d)
{
    static uint32_t noise = 1;
    struct guarded *g = aligned_alloc(16, sizeof *g);
    if (!g) {
        printf("no memory\n");
        exit(1);
    }
    memset(g->before, 0xb4, sizeof g->before);
    memset(g->after, 0xaf, sizeof g->after);
    for (int j = 0; j < STACK; j += 4) {
        noise = noise * 1664525 + 1013904223;
        memcpy(g->stack + j, &noise, 4);
    }
    made[i] = g;
    mpd_build_context(code, g->stack, STACK, a, b, c, d);
    return g->stack;
}

static void step(int self, const char *what, int to)
{
    strcat(steps, what);
    mpd_check_stk(made[self]->stack);
    guards();
    char *mine = made[self]->stack;
    mpd_chg_context(made[to]->stack, mine);
}

static void foo(long a, long b, long c, long d)
{
    CHECK(a == 1 && b == 0x111 && c == -2 && d == 0x333);
    step(0, "e", 1);
    CHECK(a == 1 && b == 0x111 && c == -2 && d == 0x333);
    step(0, "h", 2);
    CHECK(!"foo goes on");
}

static double times(double x, double y, int self)
{
    mpd_chg_context(made[4]->stack, made[self]->stack); /* floating point is stirred there */
    return x * y;
}

static void run_contexts(char *from);

static void bar(long a, long b, long c, long d)
{
    CHECK(a == 2 && b == 20 && c == 200 && d == 2000);
    step(1, "f", 2);
    strcat(steps, "j");
    product = times(times(2., 3., 1), times(5., 7., 1), 1) * times(11., 13., 1);
    CHECK(product == 30030.);
    CHECK(!strcmp(steps, "abcdefghij"));
    CHECK(a == 2 && b == 20 && c == 200 && d == 2000);
    if (level < LEVELS) {
        level++;
        char *mine = made[1]->stack;
        steps[0] = 0;
        run_contexts(mine);
        CHECK(!"an outer level goes on");
    }
    /* returns: an underflow */
}

static void baz(long a, long b, long c, long d)
{
    CHECK(a == 3 && !b && !c && d == -1);
    step(2, "g", 0);
    step(2, "i", 1);
    CHECK(!"baz goes on");
}

static void boo(long a, long b, long c, long d)
{
    for (int i = 0; i < 3; i++) {
        CHECK(a == 4 && b == 44 && c == 444 && d == 4444);
        step(3, (const char *[]){"a", "b", "c"}[i], 3);
    }
    step(3, "d", 0);
    CHECK(!"boo goes on");
}

static void stir(long a, long b, long c, long d)
{
    volatile double x = (double)(a + b), y = (double)(c + d);
    for (;;) {
        x = x * y + 0.25;
        y = y / x - 1.5;
        mpd_chg_context(made[1]->stack, made[4]->stack);
    }
}

static void run_contexts(char *from)
{
    context(0, foo, 1, 0x111, -2, 0x333);
    context(1, bar, 2, 20, 200, 2000);
    context(2, baz, 3, 0, 0, -1);
    context(3, boo, 4, 44, 444, 4444);
    context(4, stir, 1, 2, 3, 4);
    guards();
    mpd_chg_context(made[3]->stack, from);
}

/* What goes wrong. */

static long deeper(long depth, long wanted)
{
    volatile char room[256];
    memset((char *)room, (int)depth, sizeof room);
    mpd_check_stk(made[0]->stack);
    return depth < wanted ? deeper(depth + 1, wanted) + room[depth & 255] : 0;
}

static void recurses(long depth, long b, long c, long d)
{
    (void)b;
    (void)c;
    (void)d;
    deeper(0, depth);
    /* returns: an underflow */
}

static void overwrites(long offset, long b, long c, long d)
{
    (void)b;
    (void)c;
    (void)d;
    memset(made[0]->stack + offset, 0, sizeof(long));
    mpd_chg_context(made[0]->stack, made[0]->stack);
}

static void never(long a, long b, long c, long d)
{
    CHECK(a && b && c && d && !"this does not run");
}

static int outcome(char *to)
{
    found = NONE;
    mpd_chg_context(to, main_context);
    return found;
}

int main(void)
{
    *(uintptr_t *)(void *)(main_context + CSW_MAGIC) = CSW_MAGIC_WORD;
    run_contexts(main_context);
    CHECK(found == UNDERFLOW);
    CHECK(level == LEVELS);
    CHECK(outcome(context(0, recurses, 5, 0, 0, 0)) == UNDERFLOW);
    CHECK(outcome(context(0, recurses, 1000, 0, 0, 0)) == OVERFLOW);
    guards();
    CHECK(outcome(context(0, overwrites, CSW_MAGIC, 0, 0, 0)) == OVERFLOW);
    char *to = context(0, never, 1, 1, 1, 1);
    memset(to + CSW_MAGIC, 0, sizeof(long));
    CHECK(outcome(to) == CORRUPTED);
    printf("@cstest checks=%d failed=%d\n", checks, failed);
    return failed != 0;
}
