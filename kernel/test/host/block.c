/*
 * Block devices over a driver that fails, forgets and delays: each request is completed once, with its
 * error. Sources: dev/block.c lock/simple_lock.c. Options: BIODONE_SOFTINT=1
 */
#include "dev/block.h"

#include <errno.h>
#include <string.h>

#include "intr/softint.h"
#include "lib/minmax.h"
#include "lib/random.h"
#include "test/host/host.h"

#define SEEDS 2000
#define REQUESTS 48
#define DEPTH 4

static softint_fn *softbio;
static bool posted;
static uint32_t now = UINT32_MAX - 20; /* it wraps around in each test that waits */
static struct timeout *watch;
static uint32_t watch_due;

void softint_establish(unsigned level, softint_fn *fn, void *arg)
{
    (void)arg;
    CHECK_EQUAL(level, SPL_SOFTBIO);
    softbio = fn;
}

void softint_schedule(unsigned level)
{
    CHECK_EQUAL(level, SPL_SOFTBIO);
    posted = true;
}

uint32_t clock_ticks(void)
{
    return now;
}

void timeout_set(struct timeout *t, uint32_t ticks, timeout_fn *fn, void *arg)
{
    CHECK(!watch);
    watch = t;
    watch_due = now + ticks;
    t->fn = fn;
    t->arg = arg;
}

/* There is no waiting here: a waiter looks at the event's flag. */
void event_post(struct event *e)
{
    CHECK(!e->posted);
    e->posted = true;
}
void event_wait(struct event *e)
{
    CHECK(e->posted);
}
void event_destroy(struct event *e)
{
    (void)e;
}

static SIMPLE_LOCK_CLASS(test_class, "block test", SPL_BIO);
static struct block_device device = {.lock = SIMPLE_LOCK("device", test_class), .name = "device"};

static struct request {
    struct block_io io;
    struct event event;
    bool submitted;
    unsigned told, starts, medium, silent, spared;
} request[REQUESTS];
static struct block_io *started[DEPTH];
static unsigned most_started, resets, spared;
static uint8_t sector[SECTOR_SIZE * 8] __attribute__((aligned(8)));

static void start(struct block_device *d, struct block_io *io)
{
    CHECK(simple_lock_held(&d->lock));
    struct request *r = (struct request *)io;
    r->starts++;
    unsigned n = 0;
    while (started[n])
        CHECK(++n < d->depth);
    started[n] = io;
    unsigned all = 0;
    for (n = 0; n < DEPTH; n++)
        all += started[n] != 0;
    most_started = MAX(all, most_started);
}

static void reset(struct block_device *d)
{
    (void)d;
    resets++;
    for (unsigned n = 0; n < DEPTH; n++) {
        struct request *r = (struct request *)started[n];
        if (r && (int32_t)(now - r->io.due) <= 0 && r->spared < BLOCK_TRIES)
            r->spared++; /* the drive was not reset for it */
        else if (r)
            r->silent++;
        started[n] = 0;
    }
}

/* A driver that keeps finished requests until they are reaped: in `lies`, their result in `went`. */
static struct block_io *lies[DEPTH];
static int went[DEPTH];
static unsigned lying;

static void reap(struct block_device *d)
{
    CHECK(simple_lock_held(&d->lock));
    unsigned n = lying;
    lying = 0;
    for (unsigned i = 0; i < n; i++)
        block_over(d, lies[i], went[i], true);
}

static void told(struct block_io *io)
{
    CHECK(!simple_lock_held(&device.lock));
    ((struct request *)io)->told++;
}

static void begin(void)
{
    memset(request, 0, sizeof request);
    memset(started, 0, sizeof started);
    lying = 0;
    device.reap = 0;
    device.sectors = 1000;
    device.depth = DEPTH;
    device.patience = 2;
    device.start = start;
    device.reset = reset;
    block_init(&device);
    biodone_start(0);
}

static void submit(struct request *r, struct random *random)
{
    r->io = (struct block_io){.op = (uint8_t)random_below(random, 4),
                              .lba = random_below(random, 990),
                              .count = 1 + random_below(random, 8),
                              .data = sector};
    if (random_below(random, 2))
        r->io.event = &r->event;
    else
        r->io.done = told;
    r->submitted = true;
    CHECK_EQUAL(block_submit(&device, &r->io), 0);
}

/* The driver's handler: one of its requests is finished. */
static void interrupt(struct random *random)
{
    crit_t s = simple_lock_enter(&device.lock);
    unsigned n = random_below(random, DEPTH);
    struct block_io *io = started[n];
    if (io) {
        struct request *r = (struct request *)io;
        started[n] = 0;
        unsigned how = random_below(random, 4);
        r->medium += how == 0;
        block_over(&device, io, how == 0 ? -EIO : 0, true);
    }
    block_leave(&device, s);
}

/* The drive: one of its requests is finished, and not yet reaped. */
static void lay(unsigned n, int error)
{
    struct request *r = (struct request *)started[n];
    if (!r)
        return;
    started[n] = 0;
    r->medium += error != 0;
    went[lying] = error;
    lies[lying++] = &r->io;
}

/* The handler: it leaves the work to biodone, unless a thread waits for it. */
static void rings(void)
{
    bool urgent = !TAILQ_EMPTY(&device.queue);
    for (unsigned n = 0; n < lying; n++)
        urgent |= lies[n]->event != 0;
    posted |= lying && !urgent;
    if (urgent) {
        crit_t s = simple_lock_enter(&device.lock);
        reap(&device);
        block_leave(&device, s);
    }
}

static void tick(void)
{
    now++;
    if (watch && (int32_t)(now - watch_due) >= 0) {
        struct timeout *t = watch;
        watch = 0;
        t->fn(t->arg);
    }
}

static void one_run(uint32_t seed)
{
    struct random random = random_from(seed, 1);
    unsigned submitted = 0;
    memset(request, 0, sizeof request);
    bool deaf = false;
    for (unsigned turn = 0; turn < 6000; turn++) {
        if (submitted < REQUESTS && random_below(&random, 3) == 0)
            submit(&request[submitted++], &random);
        if (random_below(&random, 40) == 0)
            deaf = !deaf;
        if (!deaf || submitted == REQUESTS) {
            if (device.reap)
                lay(random_below(&random, DEPTH), random_below(&random, 4) ? 0 : -EIO);
            else
                interrupt(&random);
        }
        if (random_below(&random, 3) == 0)
            rings();
        if (posted && random_below(&random, 2)) {
            posted = false;
            softbio(0);
        }
        if (random_below(&random, 4) == 0)
            tick();
    }
    CHECK_EQUAL(submitted, REQUESTS);
    for (unsigned i = 0; i < REQUESTS; i++) {
        struct request *r = &request[i];
        CHECK_EQUAL(r->told + r->event.posted, 1);
        bool failed = r->medium + r->silent == BLOCK_TRIES;
        CHECK_EQUAL(r->starts, r->medium + r->silent + r->spared + !failed);
        spared += r->spared;
        CHECK_EQUAL(r->io.error != 0, failed);
        CHECK(!failed || r->io.error == -EIO);
        r->event.posted = false;
    }
    CHECK(!device.actives && TAILQ_EMPTY(&device.queue) && TAILQ_EMPTY(&device.active) &&
          TAILQ_EMPTY(&device.finished));
    CHECK_EQUAL(device.submitted, device.told);
}

HOST_TEST(none_is_lost_or_told_of_twice)
{
    begin();
    for (uint32_t seed = 0; seed < SEEDS; seed++)
        one_run(seed);
    CHECK_EQUAL(most_started, DEPTH);
    CHECK(resets > SEEDS / 4 && device.failed > SEEDS / 4 && device.retried > SEEDS && spared > SEEDS / 4);
}

/* The same with a driver that keeps finished requests until they are reaped; a reset may come before that. */
HOST_TEST(none_that_lies_is_lost_or_told_of_twice)
{
    begin();
    device.reap = reap;
    for (uint32_t seed = 0; seed < SEEDS; seed++)
        one_run(seed);
    CHECK_EQUAL(most_started, DEPTH);
    CHECK(device.failed > SEEDS / 4 && device.retried > SEEDS && !lying);
}

static void submit_at(unsigned n, uint32_t lba)
{
    request[n].io = (struct block_io){.op = BLOCK_READ, .lba = lba, .count = 1, .data = sector, .done = told};
    CHECK_EQUAL(block_submit(&device, &request[n].io), 0);
}

/*
 * The handler has seen no queue and left the work to biodone, which does not run: a new request does not wait for it.
 */
HOST_TEST(one_that_comes_behind_the_handler_is_started)
{
    begin();
    device.depth = 1;
    device.reap = reap;
    submit_at(0, 8);
    lay(0, 0);
    rings();
    CHECK(posted && lying == 1);
    submit_at(1, 9);
    CHECK(started[0] == &request[1].io && TAILQ_EMPTY(&device.queue));
    lay(0, 0);
    rings();
    posted = false;
    softbio(0);
    CHECK(request[0].told == 1 && request[1].told == 1 && !device.actives);
}

/* A finished request has been answered, however late it is reaped. */
HOST_TEST(what_lies_is_not_late)
{
    begin();
    device.reap = reap;
    uint32_t late = device.timed_out;
    submit_at(0, 8);
    lay(0, 0);
    for (unsigned n = 0; n < 40; n++)
        tick();
    CHECK_EQUAL(device.timed_out, late);
    posted = false;
    softbio(0);
    CHECK(request[0].told == 1 && !device.actives);
}

/* The driver's request in place `n`. */
static void ends(unsigned n, int error)
{
    crit_t s = simple_lock_enter(&device.lock);
    struct block_io *io = started[n];
    started[n] = 0;
    block_over(&device, io, error, error != 0);
    block_leave(&device, s);
}

static void finish(unsigned n)
{
    ends(n, 0);
}

static void finish_one(void)
{
    finish(0);
}

/* A request that succeeds at the last try is not given up for the time-out of another. */
HOST_TEST(a_reset_for_another_costs_no_try)
{
    begin();
    submit_at(0, 8); /* not answered */
    for (unsigned n = 0; n < 3; n++)
        tick();
    submit_at(1, 9);
    for (unsigned failed = 0; failed + 1 < BLOCK_TRIES; failed++)
        ends(started[0] == &request[1].io ? 0 : 1, -EIO);
    uint32_t late = device.timed_out;
    while (device.timed_out == late)
        tick();
    CHECK_EQUAL(request[1].told, 0);
    while (device.actives)
        finish(started[0] ? 0 : 1);
    posted = false;
    softbio(0);
    CHECK(request[1].told == 1 && request[1].io.error == 0);
}

/* A drive that no longer answers is detected, however many requests wait for it. */
HOST_TEST(a_dead_drive_ends_all_requests)
{
    begin();
    for (unsigned n = 0; n < REQUESTS; n++)
        submit_at(n, 8 * n);
    uint32_t begun = device.timed_out;
    for (unsigned n = 0; n < 100000 && (device.actives || !TAILQ_EMPTY(&device.queue)); n++)
        tick();
    posted = false;
    softbio(0);
    for (unsigned n = 0; n < REQUESTS; n++)
        CHECK(request[n].told == 1 && request[n].io.error == -EIO);
    CHECK(device.timed_out - begun <= 2 * BLOCK_TRIES * REQUESTS);
}

/* A request behind the elevator waits for its next way up. */
HOST_TEST(the_elevator_goes_up)
{
    static const uint32_t comes[] = {500, 100, 600, 499, 700, 500}, starts[] = {500, 600, 700, 100, 499, 500};
    begin();
    device.depth = 1;
    for (unsigned i = 0; i < sizeof comes / sizeof *comes; i++) {
        request[i].io = (struct block_io){.op = BLOCK_READ, .lba = comes[i], .count = 1, .data = sector, .done = told};
        CHECK_EQUAL(block_submit(&device, &request[i].io), 0);
    }
    for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++) {
        CHECK_EQUAL(started[0]->lba, starts[i]);
        finish_one();
    }
    CHECK(!device.actives);
}

/* Two that request one sector over and over, one always while the other is under way: a third gets its turn. */
static void others_come(unsigned op, uint32_t lba, uint32_t third)
{
    unsigned turns = 0;
    submit_at(2, 500); /* the elevator is in the middle */
    for (unsigned n = 0; n < 2; n++) {
        request[n].io = (struct block_io){.op = (uint8_t)op, .lba = lba, .count = 1, .data = sector, .done = told};
        CHECK_EQUAL(block_submit(&device, &request[n].io), 0);
    }
    finish_one();
    submit_at(3, third);
    for (; started[0] != &request[3].io && turns < 20; turns++) {
        struct block_io *io = started[0];
        finish_one();
        softbio(0);
        CHECK_EQUAL(block_submit(&device, io), 0);
    }
    CHECK(turns <= 2);
    while (started[0])
        finish_one();
    softbio(0);
}

HOST_TEST(one_place_asked_for_over_and_over_does_not_keep_the_elevator)
{
    begin();
    device.depth = 1;
    others_come(BLOCK_READ, 500, 600);
    others_come(BLOCK_READ, 500, 499);
    others_come(BLOCK_READ, 0, 1);
}

HOST_TEST(flushes_one_behind_the_other_do_not_keep_the_elevator)
{
    begin();
    device.depth = 1;
    others_come(BLOCK_FLUSH, 0, 100);
    others_come(BLOCK_FLUSH, 0, 600);
}

/* As many as it takes at once, worked off in sequence: the last one waits for all of them, and is not late. */
HOST_TEST(who_waits_for_others_is_not_late)
{
    begin();
    unsigned late = device.timed_out;
    device.patience = 8;
    for (unsigned n = 0; n < DEPTH; n++)
        submit_at(n, n);
    for (unsigned n = 0; n < DEPTH; n++) {
        for (unsigned i = 0; i < device.patience - 2; i++)
            tick();
        finish(n);
        softbio(0);
    }
    CHECK_EQUAL(device.timed_out, late);
    CHECK(!device.actives && request[DEPTH - 1].told == 1);
}

/* Other requests are answered all the time, one is not. */
HOST_TEST(one_without_an_answer_among_others_is_late)
{
    begin();
    unsigned late = device.timed_out, turns = 0;
    device.patience = 8;
    for (unsigned n = 0; n < DEPTH; n++)
        submit_at(n, n);
    for (unsigned n = 0; device.timed_out == late; turns++) {
        CHECK(turns < 2 * DEPTH * device.patience);
        tick();
        if (device.timed_out != late)
            break;
        finish(n);
        softbio(0);
        submit_at(n, n);
        n = (n + 1) % (DEPTH - 1);
    }
    CHECK(turns >= device.patience && request[DEPTH - 1].silent == 1);
    memset(started, 0, sizeof started);
}

HOST_TEST(what_cannot_be_is_refused)
{
    begin();
    struct event e = {0};
    struct block_segment odd[] = {{8, 508}, {512, 4}}, few[] = {{8, 504}};
    struct block_io wrong[] = {{.op = BLOCK_READ, .lba = 1000, .count = 1, .data = sector, .event = &e},
                               {.op = BLOCK_READ, .lba = 999, .count = 2, .data = sector, .event = &e},
                               {.op = BLOCK_READ, .lba = UINT32_MAX, .count = 2, .data = sector, .event = &e},
                               {.op = BLOCK_WRITE, .count = 1, .data = sector + 4, .event = &e},
                               {.op = BLOCK_WRITE, .count = 1, .segments = odd, .segment_count = 2, .event = &e},
                               {.op = BLOCK_WRITE, .count = 1, .segments = few, .segment_count = 1, .event = &e},
                               {.op = BLOCK_DISCARD + 1, .event = &e},
                               {.op = BLOCK_READ, .count = 1, .data = sector}};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_EQUAL(block_submit(&device, &wrong[i]), -EINVAL);
    CHECK_EQUAL(device.submitted, 0);
}
