/*
 * run=test-ring: nodes in a ring, each one's data line leads to the next. Node 0 sends a message of `bytes`
 * characters; a node that has received all of it checks each character, adds one to it and sends it on. After `laps`
 * rounds each node ends. Node 0 waits `start` cycles before the first lap, until the others listen, and prints
 *
 *   @ring nodes=... laps=... bytes=... least=... most=... cycles of a lap, from the first character written to the last
 *   read
 *
 * Boot arguments: laps (2), bytes (8), baud (115200), start (30000).
 */
#include "dev/node.h"
#include "dev/tty.h"
#include "lib/minmax.h"
#include "test/test.h"

#define MOST_BYTES BOOT_MOST(test_ring, bytes)

static struct tty tty;
static uint8_t message[MOST_BYTES];

static uint8_t character(uint32_t lap, uint32_t i, uint32_t hops)
{
    return (uint8_t)(7 * i + 13 * lap + run_seed + hops);
}

static void ring_receive(uint32_t lap, uint32_t bytes, uint32_t hops)
{
    ttread(&tty, message, bytes, 0);
    for (uint32_t i = 0; i < bytes; i++)
        if (message[i] != character(lap, i, hops))
            panic("lap %lu, character %lu is %#x, not %#x", (unsigned long)lap, (unsigned long)i, message[i],
                  character(lap, i, hops));
}

static void ring_send(uint32_t lap, uint32_t bytes, uint32_t hops)
{
    for (uint32_t i = 0; i < bytes; i++)
        message[i] = character(lap, i, hops);
    serial_write(&serial_data, (const char *)message, bytes);
}

static int ring_test(void)
{
    uint32_t laps = bootargs_number(BOOT(test_ring, laps)), bytes = bootargs_number(BOOT(test_ring, bytes));
    unsigned me = node_number(), nodes = node_count();
    uint32_t least = ~0u, most = 0;
    tty_open(&tty, &serial_data, bootargs_number(BOOT(test_ring, baud)), 0);
    if (me == 0)
        test_spin(bootargs_number(BOOT(test_ring, start)));
    for (uint32_t lap = 0; lap < laps; lap++) {
        if (me == 0) {
            uint32_t begin = cycles32();
            ring_send(lap, bytes, 0);
            ring_receive(lap, bytes, nodes - 1);
            uint32_t took = cycles32() - begin;
            least = MIN(took, least);
            most = MAX(took, most);
        } else {
            ring_receive(lap, bytes, me - 1);
            ring_send(lap, bytes, me);
        }
    }
    serial_flush(&serial_data);
    assert(!serial_overruns(&serial_data) && !serial_data.dropped && !tty.dropped);
    if (me == 0 && laps)
        kprintf("@ring nodes=%u laps=%lu bytes=%lu least=%lu most=%lu\n", nodes, (unsigned long)laps,
                (unsigned long)bytes, (unsigned long)least, (unsigned long)most);
    kprintf("@test name=ring node=%u nodes=%u laps=%lu\n", me, nodes, (unsigned long)laps);
    return 0;
}

RUN("test-ring", "test: characters go round over the data lines of several nodes", ring_test);
