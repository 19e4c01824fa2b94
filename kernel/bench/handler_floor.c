/*
 * run=handler-floor: the part that no interrupt handler of a device can avoid, timed by itself: the accesses to the
 * core's registers and to its rings in memory. No driver runs: this fills the rings, polls a register until the core
 * is done, and then makes these accesses with interrupts masked. What the core has just written is in no cache.
 *
 *   device=dma    a request of a sector is over: its completion is read, CQ_HEAD is written
 *   device=pio    16 sectors are there: STATUS is read, then the data register, two accesses for each word that is
 *                 stored
 *   device=ether  a frame has come: its cause is acknowledged, its descriptor's state read, the descriptor written
 *                 for another buffer, the next one's state is read, and the tail is written after a fence
 *
 * And the whole operation of which a handler is a part, by a program that polls:
 *
 *   device=request  a request of a sector from its first store until its completion is read
 *   device=reply    a received ICMP echo request is sent back: from its status to the write of the tail. `rounds`
 *                   of them are played to the wire (--ether-in), at 100 Mbit/s; the record's `ether.turnaround` is the
 *                   time seen on the wire
 *
 *   @handler_floor device=... burst=... count=... min=... p50=... max=...            cycles
 *
 * Boot arguments: device (dma); rounds (32); disk.data_cycles (2); burst (1), frames that arrived together, 1 to 16.
 * Frames return through the core's own loop.
 */
#include <generated/csr.h>
#include <generated/disk_regs.h>
#include <generated/mem.h>
#include <string.h>

#include "arch/csr.h"
#include "arch/trace.h"
#include "bench/quantile.h"
#include "dev/ether.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "sync/pic.h"

#define MOST BOOT_MOST(bench_handler_floor, rounds)
#define RING_LOG2 5
#define RING (1u << RING_LOG2)
_Static_assert(BOOT_MOST(bench_handler_floor, burst) <= RING / 2, "the ring holds a burst");
#define SECTOR 512
#define CLUSTER 16
#define ROOM 2048
#define DONE 0x80000000u
#define PATIENCE 1000000 /* polls of a register */
#define DISK(name) (*(volatile uint32_t *)(DISK0_BASE + DISK_##name))

static uint32_t sample[MOST];

#define WAIT(condition, what)                       \
    for (uint32_t looks = 0; !(condition); looks++) \
        if (looks > PATIENCE)                       \
    panic("run=handler-floor: %s does not answer", what)

/* The cycles between both, less those of reading the counter. */
static uint32_t empty;
#define TIMED_BEGIN() uint32_t begin_at = cycles32()
#define TIMED_END() (cycles32() - begin_at - empty)

static void disk_reset(uint32_t control)
{
    DISK(CONTROL) = DISK_CONTROL_RESET_MASK;
    WAIT(!(DISK(CONTROL) & DISK_CONTROL_RESET_MASK), "the disk");
    DISK(CONTROL) = control;
}

/* hw/disk/README.md, Requests in memory. */
static volatile struct {
    uint32_t op_tag, count, lba, reserved, segments, segment_count, own[2];
} handler_floor_request[RING] __attribute__((aligned(64)));
static volatile struct {
    uint32_t tag_status_lap, sectors;
} completion[RING] __attribute__((aligned(64)));
static struct {
    uint32_t address, bytes;
} segment __attribute__((aligned(8)));
static uint8_t buffer[CLUSTER * SECTOR] __attribute__((aligned(64)));

static void handler_floor_requests(uint32_t rounds, bool whole)
{
    segment.address = (uintptr_t)buffer;
    segment.bytes = SECTOR;
    disk_reset(0);
    DISK(SQ_BASE) = (uintptr_t)handler_floor_request;
    DISK(CQ_BASE) = (uintptr_t)completion;
    DISK(ENTRIES) = RING_LOG2;
    for (uint32_t n = 0; n < rounds; n++) {
        uint32_t asked = cycles32();
        handler_floor_request[n % RING].op_tag = DISK_COMMAND_OP_READ;
        handler_floor_request[n % RING].count = 1;
        handler_floor_request[n % RING].lba = n % DISK(SECTORS);
        handler_floor_request[n % RING].segments = (uintptr_t)&segment;
        handler_floor_request[n % RING].segment_count = 1;
        io_fence();
        DISK(SQ_TAIL) = n + 1;
        WAIT(DISK(CQ_TAIL) == ((n + 1) & 0xffff), "the disk");
        TIMED_BEGIN();
        uint32_t state = completion[n % RING].tag_status_lap;
        DISK(CQ_HEAD) = n + 1;
        sample[n] = TIMED_END();
        if (whole)
            sample[n] = cycles32() - asked - empty;
        if ((state >> 16 & 0x7f) != DISK_STATUS_CODE_OK)
            panic("run=handler-floor: the disk tells an error");
    }
}

static void dma(uint32_t rounds)
{
    handler_floor_requests(rounds, false);
}

static void whole_request(uint32_t rounds)
{
    handler_floor_requests(rounds, true);
}

static void pio(uint32_t rounds)
{
    disk_reset(0);
    DISK(CLUSTER) = CLUSTER;
    DISK(DATA_CYCLES) = bootargs_number(BOOT(kernel, disk_data_cycles));
    for (uint32_t n = 0; n < rounds; n++) {
        DISK(LBA) = 0;
        DISK(COUNT) = CLUSTER;
        DISK(COMMAND) = DISK_COMMAND_OP_READ;
        uint32_t seen = 0; /* the read that shows DONE clears it */
        WAIT((seen |= DISK(STATUS)) & DISK_STATUS_DATA_MASK, "the disk");
        volatile uint32_t *data = &DISK(DATA);
        TIMED_BEGIN();
        uint32_t state = DISK(STATUS);
        for (uint32_t *p = (uint32_t *)buffer, *end = p + sizeof buffer / 4; p < end; p++) {
            uint32_t low = *data;
            *p = low | *data << 16;
        }
        sample[n] = TIMED_END();
        if (!(state & DISK_STATUS_DATA_MASK))
            panic("run=handler-floor: the disk's data have gone");
        seen |= state;
        WAIT((seen |= DISK(STATUS)) & DISK_STATUS_DONE_MASK, "the disk");
    }
}

/* hw/ether/README.md, Descriptors. */
static volatile struct descriptor {
    uint32_t address, size, status, stamp;
} received[RING] __attribute__((aligned(64))), handler_floor_sent[RING] __attribute__((aligned(64)));
static uint32_t burst;
static uint8_t rooms[RING][ROOM] __attribute__((aligned(64)));

/* The accesses for the frame in descriptor `n`, or for the `burst` from there on; DONE if so many had come. */
static inline __attribute__((always_inline)) uint32_t one_frame(uint32_t n, uint32_t round)
{
    volatile struct descriptor *own = &received[n % RING], *free = &received[(n + RING - 1) % RING],
                               *after = &received[(n + 1) % RING];
    uint32_t room = (uintptr_t)rooms[n % RING], tail = (n + RING) % RING;
    TIMED_BEGIN();
    ether_acknowledge_write(1);
    uint32_t state = own->status;
    free->address = room;
    free->size = ROOM;
    free->status = 0;
    uint32_t next = after->status;
    io_fence();
    ether_rx0_tail_write(tail);
    sample[round] = TIMED_END();
    return state & ~next;
}

static uint32_t many_frames(uint32_t n, uint32_t round)
{
    uint32_t state, done = DONE, last = n + burst;
    TIMED_BEGIN();
    ether_acknowledge_write(1);
    for (; state = received[n % RING].status, n != last; n++) {
        unsigned free = (n + RING - 1) % RING;
        done &= state;
        received[free].address = (uintptr_t)rooms[n % RING];
        received[free].size = ROOM;
        received[free].status = 0;
    }
    io_fence();
    ether_rx0_tail_write((n - 1) % RING);
    sample[round] = TIMED_END();
    return done & ~state;
}

static void ether(uint32_t rounds)
{
    static const uint8_t frame[60] = {2, 'I', 'L', 'K', 0, 1, 2, 'I', 'L', 'K', 0, 1, 0x88, 0xb5}; /* to itself */
    ether_control_write(0);
    ether_rx0_base_write((uintptr_t)received);
    ether_tx_base_write((uintptr_t)handler_floor_sent);
    ether_rx_mask_write(RING - 1);
    ether_tx_mask_write(RING - 1);
    ether_mac_first_write(frame[0] | frame[1] << 8);
    ether_mac_rest_write(frame[2] | frame[3] << 8 | frame[4] << 16 | (uint32_t)frame[5] << 24);
    ether_enable_write(0);
    ether_acknowledge_write(~0u);
    for (unsigned i = 0; i < RING; i++) {
        received[i].address = (uintptr_t)rooms[i];
        received[i].size = ROOM;
        received[i].status = 0;
    }
    io_fence();
    ether_rx0_tail_write(RING - 1);
    ether_control_write(1 << CSR_ETHER_CONTROL_RECEIVE_OFFSET | 1 << CSR_ETHER_CONTROL_TRANSMIT_OFFSET |
                        1 << CSR_ETHER_CONTROL_LOOP_OFFSET | 2 << CSR_ETHER_CONTROL_SPEED_OFFSET);
    for (uint32_t n = 0, at = 0; n < rounds; n++) {
        for (uint32_t i = at; i < at + burst; i++) {
            handler_floor_sent[i % RING].address = (uintptr_t)frame;
            handler_floor_sent[i % RING].size = sizeof frame;
            handler_floor_sent[i % RING].status = 0;
        }
        io_fence();
        ether_tx_tail_write((at + burst) % RING);
        WAIT(ether_rx0_head_read() == (at + burst) % RING && ether_pending_read() & 1, "Ethernet");
        uint32_t state = burst == 1 ? one_frame(at, n) : many_frames(at, n);
        at += burst;
        if (!(state & DONE))
            panic("run=handler-floor: %lu frames were to come, not another number", (unsigned long)burst);
    }
    ether_control_write(0);
}

/* Swaps the addresses, turns the request into a reply, and corrects its checksum (RFC 1071). */
static inline __attribute__((always_inline)) void turn_round(uint16_t *half)
{
    for (unsigned i = 0; i < 3; i++) { /* Ethernet */
        uint16_t to = half[i];
        half[i] = half[3 + i];
        half[3 + i] = to;
    }
    for (unsigned i = 13; i < 15; i++) { /* IP */
        uint16_t from = half[i];
        half[i] = half[2 + i];
        half[2 + i] = from;
    }
    uint32_t sum = half[18] + (half[17] & 0xffu);
    half[17] &= 0xff00;
    half[18] = (uint16_t)(sum + (sum >> 16));
}

static void answer_echoes(uint32_t rounds)
{
    ether_control_write(0);
    ether_rx1_base_write((uintptr_t)received); /* the queue of 10.0.0.1's packets; the other has no buffers */
    ether_tx_base_write((uintptr_t)handler_floor_sent);
    ether_rx_mask_write(RING - 1);
    ether_tx_mask_write(RING - 1);
    ether_mac_first_write(2 | 'I' << 8);
    ether_mac_rest_write('L' | 'K' << 8 | 2 << 24);
    ether_enable_write(0);
    for (unsigned i = 0; i < RING; i++) {
        received[i].address = (uintptr_t)rooms[i];
        received[i].size = ROOM;
        received[i].status = 0;
    }
    io_fence();
    ether_rx1_tail_write(RING - 1);
    ether_control_write(1 << CSR_ETHER_CONTROL_RECEIVE_OFFSET | 1 << CSR_ETHER_CONTROL_TRANSMIT_OFFSET |
                        1 << CSR_ETHER_CONTROL_SPEED_OFFSET);
    trace(TRACE_ETHER_GO, 0);
    for (uint32_t n = 0; n < rounds; n++) {
        unsigned at = n % RING;
        WAIT(received[at].status & DONE, "Ethernet");
        TIMED_BEGIN();
        uint32_t state = received[at].status;
        turn_round((uint16_t *)(rooms[at] + ETHER_PAD));
        handler_floor_sent[at].address = (uintptr_t)rooms[at] + ETHER_PAD;
        handler_floor_sent[at].size = state & 0xffff;
        handler_floor_sent[at].status = 0;
        io_fence();
        ether_tx_tail_write((n + 1) % RING);
        sample[n] = TIMED_END();
        received[at].status = 0; /* its room is free by the time that the ring wraps around */
        io_fence();
        ether_rx1_tail_write(at);
    }
    WAIT(handler_floor_sent[(rounds - 1) % RING].status & DONE, "Ethernet");
    while (ether_status_read() & 1 << CSR_ETHER_STATUS_SENDING_OFFSET)
        ;
    ether_control_write(0);
}

static int handler_floor(void)
{
    static const struct {
        const char *name;
        void (*run)(uint32_t rounds);
    } devices[] = {{"dma", dma}, {"request", whole_request}, {"pio", pio}, {"ether", ether}, {"reply", answer_echoes}};
    char device[8];
    uint32_t rounds = bootargs_number(BOOT(bench_handler_floor, rounds));
    burst = bootargs_number(BOOT(bench_handler_floor, burst));
    bootargs_string(BOOT(bench_handler_floor, device), device, sizeof device);
    for (unsigned i = 0; i < sizeof devices / sizeof *devices; i++) {
        if (strcmp(device, devices[i].name) || !rounds || !burst)
            continue;
        if (devices[i].run != ether && devices[i].run != answer_echoes && !DISK(SECTORS))
            panic("run=handler-floor: there is no drive: give --disk IMAGE");
        /* From the cache, and with nothing between: a larger value would be subtracted from the measurement. */
        uint32_t least = UINT32_MAX;
        empty = 0;
        for (unsigned k = 0; k < 8; k++) {
            TIMED_BEGIN();
            uint32_t took = TIMED_END();
            least = MIN(least, took);
        }
        empty = least;
        uint32_t enabled = csr_read_clear(mie, ~0u);
        devices[i].run(rounds);
        csr_write(mie, enabled);
        kprintf("@handler_floor device=%s burst=%lu count=%lu min=%lu p50=%lu max=%lu\n", device, (unsigned long)burst,
                (unsigned long)rounds, (unsigned long)quantile(sample, rounds, 0),
                (unsigned long)quantile(sample, rounds, 50), (unsigned long)quantile(sample, rounds, 100));
        return 0;
    }
    panic("run=handler-floor: device is dma, request, pio, ether or reply; rounds and burst 1 at least");
}

RUN("handler-floor",
    "register and ring accesses of a device's handler, by themselves (device=dma|request|pio|ether|reply)",
    handler_floor);
