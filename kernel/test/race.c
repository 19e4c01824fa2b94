/*
 * run=test-race: drivers that count, and races planted in them for schedule exploration to find (./interlock explore).
 * On every hart a thread starts requests to a device of that hart and counts them; the device's handler counts the
 * answers. A count takes a few instructions, the device answers at once, and each hart has its turn: where nothing
 * perturbs them, the planted races do not show. They do when answers come late, or late enough to meet the next hart's.
 * A clock tick also delays one hart, at a moment that depends on where code lies: only hz=0 perturbs nothing.
 *
 *   plant=none    the driver is right
 *   plant=level   the thread's section has a level below the handler's: a race where levels keep interrupts out, in
 *                 spl-pessim and spl-optim. The other schemes mask everything, whatever the level.
 *   plant=lock    the count of all harts lacks its lock: a race on two harts and more, under every scheme
 *
 * Boot arguments: plant, rounds (60).
 */
#include <string.h>

#include "test/test.h"

#define PERIOD 2048         /* cycles, a power of 2, in which each hart has one turn ... */
#define TURN 512            /* ... so long after the hart before it: one alone may fetch some lines of code */
#define BEFORE_COUNTING 150 /* cycles: an answer that nothing delays has been handled by then */
#define COUNTING 60         /* cycles between reading the count of all harts and updating it */
#define FIRST_ROUNDS 3      /* no race yet: they bring the code into each hart's cache, one hart before another */

static struct {
    volatile int under_way;      /* requests not answered; the thread's and the handler's */
    volatile uint32_t answered;  /* the handler's alone */
} race_driver[MAX_HARTS];

static volatile uint32_t all;    /* requests of all harts */
DEFINE_SIMPLE_LOCK(all_lock, "test race", SPL_TTY);
static unsigned section_level;
static bool has_lock;

static void race_answer(void *arg)
{
    (void)arg;
    race_driver[curhart->id].under_way--;
    race_driver[curhart->id].answered++;
}

static void wait_for_turn(unsigned h)
{
    test_spin((TURN * h - cycles32()) & (PERIOD - 1));
}

static void count_of_all(bool locks)
{
    crit_t s = crit_sec_enter(SPL_TTY);
    if (locks)
        simple_lock(&all_lock);
    uint32_t before = all;
    test_spin(COUNTING);
    all = before + 1;
    if (locks)
        simple_unlock(&all_lock);
    crit_sec_leave(s);
}

static void start_requests(void *arg)
{
    unsigned h = (uintptr_t)arg;
    for (uint32_t n = bootargs_number(BOOT(test_race, rounds)), i = 1; i <= n; i++) {
        wait_for_turn(h);
        pic_raise(1u << test_source(h, 1));
        test_spin(BEFORE_COUNTING);
        crit_t s = crit_sec_enter(section_level);
        race_driver[h].under_way++;
        crit_sec_leave(s);
        while (race_driver[h].answered != i)
            ;
        count_of_all(has_lock || i <= FIRST_ROUNDS);
    }
}

static int race(void)
{
    char plant[8];
    bootargs_string(BOOT(test_race, plant), plant, sizeof plant);
    bool low = !strcmp(plant, "level");
    has_lock = strcmp(plant, "lock");
    section_level = low ? SPL_BIO : SPL_TTY;
    if (!low && has_lock && strcmp(plant, "none")) {
        kprintf("plant=%s: give none, level or lock\n", plant);
        return 2;
    }
    for (unsigned h = 0; h < test_harts(); h++)
        intr_establish(test_source(h, 1), SPL_TTY, INTR_EDGE, h, race_answer, 0, "test race");
    test_on_every_hart(start_requests);
    uint32_t answered = 0;
    for (unsigned h = 0; h < test_harts(); h++) {
        if (race_driver[h].under_way)
            panic("all %lu requests of hart %u are answered, but it counts %d under way: an update was lost",
                  (unsigned long)race_driver[h].answered, h, race_driver[h].under_way);
        answered += race_driver[h].answered;
    }
    if (all != answered)
        panic("%lu requests of all harts were answered, but %lu were counted: an update was lost",
              (unsigned long)answered, (unsigned long)all);
    test_assert_base();
    kprintf("@test name=race plant=%s requests=%lu\n", plant, (unsigned long)answered);
    return 0;
}

RUN("test-race", "test: drivers that count; plant=level and plant=lock are races for ./interlock explore", race);
