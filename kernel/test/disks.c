/*
 * run=test-disks: two disks at once. A thread for each keeps several requests under way, which write sectors that name
 * their writer, and read them; where nothing fails, a read returns what was written to that disk last. A disk may
 * die meanwhile: its requests end with errors, and the other disk goes on as if it were alone. Each request is answered
 * once.
 *
 *   @disk unit=... rounds=... requests=... told=... twice=... wrong=... errors=... interrupts=... cycles=...
 *
 * A line for each disk. Boot arguments: rounds (of each, 20), dies (units that may give errors, as bits; 0).
 */
#include <string.h>

#include "dev/disk.h"
#include "intr/intr.h"
#include "sync/pic.h"
#include "test/test.h"

#define UNITS 2
#define AT_ONCE 6
#define COUNT 6u     /* sectors of a request */
#define PLACES 64u   /* where a request may begin: every COUNT sectors */
#define WORDS (COUNT * SECTOR_SIZE / 4)

static SIMPLE_LOCK_CLASS(unit_class, "disks test", SPL_BIO);

static struct unit {
    struct simple_lock lock; /* of under_way and told */
    struct block_device *disk;
    struct block_io io[AT_ONCE];
    uint32_t told[AT_ONCE];
    uint32_t under_way;
    uint32_t version[PLACES]; /* that was written last; 0: unknown */
    uint32_t requests, twice, wrong, errors, rounds, cycles;
} units[UNITS];
static uint32_t disks_data[UNITS][AT_ONCE][WORDS] __attribute__((aligned(64), section(".noinit")));
static uint32_t rounds, dies;

static void disks_landed(struct block_io *io)
{
    struct unit *u = io->arg;
    crit_t s = simple_lock_enter(&u->lock);
    u->told[io - u->io]++;
    u->under_way--;
    simple_lock_leave(&u->lock, s);
    thread_wakeup(u);
}

static uint32_t word(const struct unit *u, uint32_t place, uint32_t version, uint32_t i)
{
    return (uint32_t)(u - units) << 31 | (place << 20) | (version << 10 & 0xffc00) | (i & 0x3ff);
}

/* A round's requests go to different places, so the order in which they are done does not matter. */
static void one_round(struct unit *u, struct random *r)
{
    uint32_t place[AT_ONCE], first = random_below(r, PLACES);
    bool writes[AT_ONCE];
    uint32_t(*mine)[WORDS] = disks_data[u - units];
    for (unsigned n = 0; n < AT_ONCE; n++) {
        place[n] = (first + n * 11) % PLACES;
        writes[n] = !u->version[place[n]] || random_below(r, 2);
        uint32_t version = u->version[place[n]] + 1;
        for (unsigned i = 0; i < WORDS; i++)
            mine[n][i] = writes[n] ? word(u, place[n], version, i) : 0;
        u->told[n] = 0;
    }
    for (unsigned n = 0; n < AT_ONCE; n++) {
        u->io[n] = (struct block_io){.op = writes[n] ? BLOCK_WRITE : BLOCK_READ,
                                     .lba = place[n] * COUNT,
                                     .count = COUNT,
                                     .data = mine[n],
                                     .done = disks_landed,
                                     .arg = u};
        crit_t s = simple_lock_enter(&u->lock);
        u->under_way++;
        simple_lock_leave(&u->lock, s);
        u->requests++;
        int error = block_submit(u->disk, &u->io[n]);
        if (error)
            panic("disk %u refuses a request: %d", (unsigned)(u - units), error);
    }
    crit_t s = simple_lock_enter(&u->lock);
    while (u->under_way)
        thread_sleep(u, &u->lock);
    simple_lock_leave(&u->lock, s);
    for (unsigned n = 0; n < AT_ONCE; n++) {
        uint32_t *version = &u->version[place[n]];
        u->twice += u->told[n] != 1;
        if (u->io[n].error) {
            u->errors++;
            *version = writes[n] ? 0 : *version;
        } else if (writes[n]) {
            ++*version;
        } else {
            for (unsigned i = 0; i < WORDS; i++)
                u->wrong += mine[n][i] != word(u, place[n], *version, i);
        }
    }
}

static void disks_worker(void *arg)
{
    struct unit *u = arg;
    struct random r = random_from(run_seed, 950 + (uint32_t)(u - units));
    uint32_t began = cycles32();
    bool lives = true;
    for (; u->rounds < rounds && lives; u->rounds++) {
        one_round(u, &r);
        lives = !u->errors;
    }
    u->cycles = cycles32() - began;
}

static int test_disks(void)
{
    static struct thread *threads[UNITS];
    rounds = bootargs_number(BOOT(test_disks, rounds));
    dies = bootargs_number(BOOT(test_disks, dies));
    for (unsigned i = 0; i < UNITS; i++) {
        units[i].lock = (struct simple_lock)SIMPLE_LOCK("disks test", unit_class);
        units[i].disk = disk_open(i);
        if (!units[i].disk || units[i].disk->sectors < PLACES * COUNT)
            panic("run=test-disks: disk %u is not there, or too small: give --disk IMAGE twice, "
                  "on a machine with disks=2",
                  i);
    }
    for (unsigned i = 0; i < UNITS; i++)
        threads[i] = thread_create(disks_worker, &units[i], PRI_NORMAL, ANY_HART, "disks test");
    bool failed = false;
    for (unsigned i = 0; i < UNITS; i++) {
        thread_join(threads[i]);
        const struct unit *u = &units[i];
        failed |= u->twice || u->wrong || (u->errors && !(dies >> i & 1)) || u->disk->told != u->requests;
    }
    for (unsigned i = 0; i < UNITS; i++) {
        const struct unit *u = &units[i];
        kprintf(
            "@disk unit=%u rounds=%lu requests=%lu told=%lu twice=%lu wrong=%lu errors=%lu interrupts=%lu cycles=%lu\n",
            i, (unsigned long)u->rounds, (unsigned long)u->requests, (unsigned long)u->disk->told,
            (unsigned long)u->twice, (unsigned long)u->wrong, (unsigned long)u->errors,
            (unsigned long)intr_count(PIC_SOURCE_DISK(i)), (unsigned long)u->cycles);
    }
    return failed;
}

RUN("test-disks", "two disks at once; one may die, and the other goes on (rounds=, dies=)", test_disks);
