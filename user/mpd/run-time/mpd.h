/*
 * The run-time system of MPD programs, as the code that the compiler makes sees it. Processes share one thread of the
 * operating system and give way where they wait, and in loops. Locations are strings "file:line:column".
 */
#ifndef MPD_H
#define MPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csw.h"

typedef int32_t mpd_int;

struct mpd_process;

struct mpd_queue {
    struct mpd_process *head, *tail;
};

/* Semaphores. P and V are inline where nobody waits: they decide what the cheap rows of the paper's Table 3 cost. */
struct mpd_sem {
    mpd_int value;
    struct mpd_queue waiting;
    const char *name;
};

extern struct mpd_process *mpd_current;
extern char *mpd_current_stack;

void mpd_sem_init(struct mpd_sem *s, const char *name, mpd_int value, const char *location);
void mpd_wait(struct mpd_sem *s, const char *location);
void mpd_wake(struct mpd_sem *s);

static inline void mpd_P(struct mpd_sem *s, const char *location)
{
    if (s->value > 0)
        s->value--;
    else
        mpd_wait(s, location);
}

static inline void mpd_V(struct mpd_sem *s)
{
    if (s->waiting.head)
        mpd_wake(s);
    else
        s->value++;
}

/* Invocations. The block of one begins with this; the arguments are behind it. */
struct mpd_co;

struct mpd_invocation {
    void (*code)(void *block); /* gets the arguments and calls the proc */
    const char *name;          /* the operation's */
    struct mpd_co *co;
    struct mpd_sem *done; /* of a creator that waits */
    int arm;
    struct mpd_invocation *next;
};

void *mpd_block(size_t size, void (*code)(void *), const char *name, const char *location);
void mpd_send(void *block, const char *location);
void mpd_call(void *block, const char *location); /* in a process of its own, and waits for its end; then free_block */
void mpd_free_block(void *block);

/* A co statement, on the stack of the process that executes it. */
struct mpd_co {
    int pending;
    struct mpd_invocation *first, *last; /* those that have ended, in that order */
    struct mpd_sem done;
};

void mpd_co_start(struct mpd_co *co);
void mpd_co_call(struct mpd_co *co, int arm, void *block, const char *location);
struct mpd_invocation *mpd_co_wait(struct mpd_co *co, const char *location); /* null at the end; else free_block */

/* Loops give way now and then. */
#define MPD_LOOPS 10000
extern int mpd_loops;
void mpd_give_way(void);

static inline void mpd_loop(void)
{
    if (--mpd_loops <= 0)
        mpd_give_way();
}

static inline void mpd_enter(const char *location)
{
    extern const char *mpd_location;
    mpd_location = location;
    mpd_check_stk(mpd_current_stack);
}

/* Arithmetic that can fail, and output. */
_Noreturn void mpd_error(const char *location, const char *what);
mpd_int mpd_divide(mpd_int a, mpd_int b, const char *location);
mpd_int mpd_remainder(mpd_int a, mpd_int b, const char *location);
mpd_int mpd_power(mpd_int a, mpd_int b, const char *location);
void mpd_write_int(mpd_int n);
void mpd_write_bool(bool b);
void mpd_write_string(const char *text);

void *mpd_allocate(size_t size); /* cleared */
mpd_int mpd_cycles(void); /* a counter of time for `external`: cycles on the machine, nanoseconds on the host */

/* The program, which the compiler makes: its main resource, whose final code may be missing. */
extern const char *const mpd_main_name;
void mpd_main_initial(void);
extern void (*const mpd_main_final)(void);

#endif
