/*
 * run=tcp-floor: what TCP cannot do a segment without, by itself: one copy of its data, one checksum over its header
 * and data (net/in.h), and the driver's accesses to the Ethernet core's rings and registers. No driver runs: frames
 * return through the core's own loop. What the core has just written is in no cache; the sender's data is.
 *
 *   send       the data is copied into a buffer and summed up, its descriptor is written, and the tail after a fence
 *   receive    the cause is acknowledged, the descriptor's state read, the segment summed up and its data copied, the
 *              descriptor written for another buffer, the next one's state read, and the tail written after a fence
 *
 *   @tcp_floor bytes=... send=... receive=...      cycles, medians
 *
 * for 0 bytes, an acknowledgement, 1 byte, and 1,448 bytes, a full segment with timestamps.
 */
#include <generated/csr.h>
#include <string.h>

#include "arch/csr.h"
#include "bench/quantile.h"
#include "dev/ether.h"
#include "init/run.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "net/in.h"

#define ROUNDS 32
#define RING 32u
#define ROOM 2048
#define DONE 0x80000000u
#define PATIENCE 1000000 /* polls of a register */
#define TCP_AT 34        /* in a frame: Ethernet's and IP's header are before it */
#define DATA_AT 66       /* its options are the timestamps */
#define DATA_MOST 1448
#define FRAME_LEAST 60

#define WAIT(condition)                             \
    for (uint32_t looks = 0; !(condition); looks++) \
        if (looks > PATIENCE)                       \
    panic("run=tcp-floor: Ethernet does not answer")

/* hw/ether/README.md, Descriptors. */
static volatile struct tcp_floor_descriptor {
    uint32_t address, size, status, stamp;
} tcp_floor_received[RING] __attribute__((aligned(64))), tcp_floor_sent[RING] __attribute__((aligned(64)));
static uint8_t tcp_floor_rooms[RING][ROOM] __attribute__((aligned(64))),
    tcp_floor_out[ROOM] __attribute__((aligned(64)));
static uint8_t tcp_floor_data[DATA_MOST + 4] __attribute__((aligned(64))),
    tcp_floor_read[DATA_MOST + 4] __attribute__((aligned(64)));
static uint32_t tcp_floor_send[ROUNDS], tcp_floor_receive[ROUNDS];
static uint8_t *tcp_floor_held[RING]; /* the buffer of each descriptor: one of them moves on with each frame */
static volatile uint32_t tcp_floor_sums;

static void tcp_floor_begin(void)
{
    static const uint8_t header[14] = {2, 'I', 'L', 'K', 0, 1, 2, 'I', 'L', 'K', 0, 1, 0x88, 0xb5}; /* to itself */
    ether_control_write(0);
    ether_rx0_base_write((uintptr_t)tcp_floor_received);
    ether_tx_base_write((uintptr_t)tcp_floor_sent);
    ether_rx_mask_write(RING - 1);
    ether_tx_mask_write(RING - 1);
    ether_mac_first_write(header[0] | header[1] << 8);
    ether_mac_rest_write(header[2] | header[3] << 8 | header[4] << 16 | (uint32_t)header[5] << 24);
    ether_enable_write(0);
    ether_acknowledge_write(~0u);
    memcpy(tcp_floor_out + ETHER_PAD, header, sizeof header);
    for (unsigned i = 0; i < RING; i++) {
        tcp_floor_held[i] = tcp_floor_rooms[i];
        tcp_floor_received[i].address = (uintptr_t)tcp_floor_held[i];
        tcp_floor_received[i].size = ROOM;
        tcp_floor_received[i].status = 0;
    }
    io_fence();
    ether_rx0_tail_write(RING - 1);
    ether_control_write(1 << CSR_ETHER_CONTROL_RECEIVE_OFFSET | 1 << CSR_ETHER_CONTROL_TRANSMIT_OFFSET |
                        1 << CSR_ETHER_CONTROL_LOOP_OFFSET | 2 << CSR_ETHER_CONTROL_SPEED_OFFSET);
}

/* The cycles of sending a segment with so much data in descriptor `at`. */
static uint32_t tcp_floor_sends(unsigned at, uint32_t bytes)
{
    uint32_t from = cycles32();
    memcpy(tcp_floor_out + ETHER_PAD + DATA_AT, tcp_floor_data, bytes);
    tcp_floor_sums = in_cksum(tcp_floor_out + ETHER_PAD + TCP_AT, DATA_AT - TCP_AT + bytes, 0);
    tcp_floor_sent[at].address = (uintptr_t)tcp_floor_out + ETHER_PAD;
    tcp_floor_sent[at].size = MAX(DATA_AT + bytes, (uint32_t)FRAME_LEAST);
    tcp_floor_sent[at].status = 0;
    io_fence();
    ether_tx_tail_write((at + 1) % RING);
    return cycles32() - from;
}

/* The cycles of receiving it; its data is in tcp_floor_read. */
static uint32_t tcp_floor_receives(unsigned at, uint32_t bytes)
{
    volatile struct tcp_floor_descriptor *own = &tcp_floor_received[at],
                                         *empty = &tcp_floor_received[(at + RING - 1) % RING];
    uint8_t *room = tcp_floor_held[at];
    tcp_floor_held[(at + RING - 1) % RING] = room;
    uint32_t from = cycles32();
    ether_acknowledge_write(1);
    uint32_t state = own->status;
    const uint8_t *frame = room + ETHER_PAD;
    tcp_floor_sums = in_cksum(frame + TCP_AT, DATA_AT - TCP_AT + bytes, 0);
    memcpy(tcp_floor_read, frame + DATA_AT, bytes);
    empty->address = (uintptr_t)room;
    empty->size = ROOM;
    empty->status = 0;
    uint32_t next = tcp_floor_received[(at + 1) % RING].status;
    io_fence();
    ether_rx0_tail_write(at);
    uint32_t took = cycles32() - from;
    if (!(state & DONE) || next & DONE)
        panic("run=tcp-floor: one frame was to come, not another number");
    return took;
}

static void tcp_floor_measured(uint32_t bytes)
{
    static unsigned at; /* where in the rings */
    for (uint32_t n = 0; n < ROUNDS; n++, at = (at + 1) % RING) {
        memset(tcp_floor_data, (int)(n + 1), bytes);
        tcp_floor_send[n] = tcp_floor_sends(at, bytes);
        WAIT(ether_rx0_head_read() == (at + 1) % RING && ether_pending_read() & 1);
        tcp_floor_receive[n] = tcp_floor_receives(at, bytes);
        if (memcmp(tcp_floor_read, tcp_floor_data, bytes))
            panic("run=tcp-floor: other data has come");
    }
    kprintf("@tcp_floor bytes=%lu send=%lu receive=%lu\n", (unsigned long)bytes,
            (unsigned long)quantile(tcp_floor_send, ROUNDS, 50),
            (unsigned long)quantile(tcp_floor_receive, ROUNDS, 50));
}

static int tcp_floor(void)
{
    uint32_t enabled = csr_read_clear(mie, ~0u);
    tcp_floor_begin();
    tcp_floor_measured(0);
    tcp_floor_measured(1);
    tcp_floor_measured(DATA_MOST);
    ether_control_write(0);
    csr_write(mie, enabled);
    return 0;
}

RUN("tcp-floor", "a segment's copy, checksum and register and ring accesses, by themselves", tcp_floor);
