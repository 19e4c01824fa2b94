/*
 * The interrupt controller, from hart 0: its identification, its registers, the wires of devices; then an interrupt
 * from hart 0 to each hart, which takes it as a trap.
 */
#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/pic_regs.h>
#include <generated/serial_regs.h>
#include <generated/soc.h>
#include <stdint.h>

#include "hart.h"
#include "harts.h"
#include "line.h"
#include "selftest.h"

#define PIC(offset) (*word_at(PIC_WINDOW_BASE + (offset)))
#define HIGHEST 15
#define SOURCE_IPI(hart) (8 + (hart))
#define SOURCE_UART0 16
#define SOURCE_UART1 17
#define SOURCE_ARRIVALS 18
#define ARRIVAL_WIRES 8
#define WIRE_US 20          /* for a wire to be seen: long, as the controller may be far */
#define CYCLES_PER_US (CONFIG_CLOCK_FREQUENCY / 1000000)

static void holds(const char *what, unsigned index, uint32_t offset, uint32_t bits)
{
    uint32_t before = PIC(offset);
    static const uint32_t patterns[] = {0x55555555, 0xaaaaaaaa};
    for (unsigned i = 0; i < 2; i++) {
        PIC(offset) = patterns[i] & bits;
        uint32_t found = PIC(offset) & bits;
        if (found != (patterns[i] & bits))
            failed("%s %d holds 0x%lx, not 0x%lx", what, index, found, patterns[i] & bits);
    }
    PIC(offset) = before;
}

static int registers(void)
{
    uint32_t id = PIC(PIC_ID), harts = (id & PIC_ID_HARTS_MASK) >> PIC_ID_HARTS_SHIFT;
    if (harts != CONFIG_HARTS || (id & PIC_ID_SOURCES_MASK) >> PIC_ID_SOURCES_SHIFT != PIC_SOURCE_COUNT) {
        failed("its identity is 0x%lx", id);
        return 0;
    }
    for (unsigned hart = 0; hart < CONFIG_HARTS; hart++) {
        holds("level of hart", hart, PIC_CONTEXT_AT(hart) + PIC_LEVEL, PIC_LEVEL_LEVEL_MASK);
        holds("mask of hart", hart, PIC_CONTEXT_AT(hart) + PIC_ENABLE, 0xffffffff);
    }
    for (unsigned source = 0; source < PIC_SOURCE_COUNT; source++)
        holds("source", source, PIC_SOURCE_AT(source),
              PIC_SOURCE_PRIORITY_MASK | PIC_SOURCE_EDGE_MASK | PIC_SOURCE_ROUTE_MASK | PIC_SOURCE_ANY_MASK);
    return 1;
}

/* Wires: each is raised by its device, claimed by hart 0, lowered. ------------------------------------------------- */

static void set_timer(unsigned hart, uint32_t high)
{
    volatile uint32_t *compare = word_at(CLINT_BASE + 0x4000 + 8 * hart);
    compare[1] = high; /* the low half does not matter: the time is below, or past 0 */
    compare[0] = high;
    (void)compare[0];
}

static void timer(unsigned hart, int up)
{
    set_timer(hart, up ? 0 : 0xffffffff);
}

static void uart(unsigned port, int up)
{
    *word_at((port ? UART1_BASE : UART0_BASE) + SERIAL_IER) = up ? SERIAL_IER_TX_MASK : 0;
}

static void arrival(unsigned wire, int up)
{
    arrivals_run_write(0);
    if (up) {
        arrivals_index_write(0);
        arrivals_entry_write(wire << 28 | 2);
        arrivals_entry_write(wire << 28 | 0xfffffff); /* the next one does not come during the check */
        arrivals_run_write(1);
    } else {
        arrivals_acknowledge_write(0xff);
    }
}

static int pending_is(unsigned source, int up)
{
    for (uint32_t start = cycles(); (int)(PIC(PIC_PENDING) >> source & 1) != up;)
        if (elapsed(start, WIRE_US * CYCLES_PER_US))
            return 0;
    return 1;
}

static void wire(const char *what, unsigned source, void (*set)(unsigned, int), unsigned index)
{
    uint32_t before = PIC(PIC_SOURCE_AT(source));
    PIC(PIC_SOURCE_AT(source)) = HIGHEST << PIC_SOURCE_PRIORITY_SHIFT; /* a level, to hart 0 */
    set(index, 0);
    if (!pending_is(source, 0))
        failed("%s %d: wire is up", what, index);
    PIC(PIC_UNMASK) = source;
    set(index, 1);
    if (!pending_is(source, 1))
        failed("%s %d: wire does not rise", what, index);
    else if ((PIC(PIC_CLAIM) & (PIC_CLAIM_SOURCE_MASK | PIC_CLAIM_NONE_MASK)) != source)
        failed("%s %d: cannot be claimed", what, index);
    set(index, 0);
    PIC(PIC_EOI) = source;
    if (!pending_is(source, 0))
        failed("%s %d: wire does not fall", what, index);
    PIC(PIC_MASK) = source;
    PIC(PIC_SOURCE_AT(source)) = before;
}

/* Interrupts between harts ----------------------------------------------------------------------------------------- */

static unsigned target;
static uint32_t ready; /* the target waits */
static uint32_t taken; /* its handler has run */
static uint32_t taken_at; /* in cycles */
static uint32_t claimed; /* the claimed source */

/* Not again before mie is set: a wire that stays up must not trap the hart for ever. */
static __attribute__((interrupt("machine"), aligned(4))) void handler(void)
{
    taken_at = cycles();
    CSR_WRITE(mie, 0);
    claimed = PIC(PIC_CLAIM);
    PIC(PIC_EOI) = claimed & PIC_CLAIM_SOURCE_MASK;
    __atomic_store_n(&taken, 1, __ATOMIC_RELEASE);
}

static int wait_for(uint32_t *flag)
{
    for (uint32_t start = cycles(); !__atomic_load_n(flag, __ATOMIC_ACQUIRE);)
        if (elapsed(start, CYCLES_PER_MS))
            return 0;
    return 1;
}

static uint32_t fastest, slowest;

/* Hart 0, while the target waits. */
static void interrupt_target(void)
{
    if (!wait_for(&ready)) {
        failed("hart %d is not ready for an interrupt", target);
        return;
    }
    uint32_t start = cycles();
    PIC(PIC_IPI) = 1u << target;
    if (!wait_for(&taken)) {
        failed("hart %d takes no interrupt", target);
        return;
    }
    if (claimed != (SOURCE_IPI(target) | HIGHEST << PIC_CLAIM_PRIORITY_SHIFT))
        failed("hart %d claims 0x%lx", target, claimed);
    uint32_t latency = taken_at - start;
    fastest = latency < fastest ? latency : fastest;
    slowest = latency > slowest ? latency : slowest;
}

static void take_interrupt(unsigned hart)
{
    uint32_t vector = CSR_READ(mtvec), enabled = CSR_READ(mie);
    if (hart == target) {
        PIC(PIC_UNMASK) = SOURCE_IPI(hart);
        CSR_WRITE(mtvec, handler);
        CSR_WRITE(mie, MIP_EXTERNAL);
        __asm__ volatile("csrs mstatus, %0" ::"r"(MSTATUS_MIE) : "memory");
        __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    }
    if (hart == 0)
        interrupt_target();
    if (hart == target) {
        (void)wait_for(&taken);
        __asm__ volatile("csrc mstatus, %0" ::"r"(MSTATUS_MIE) : "memory");
        CSR_WRITE(mtvec, vector);
        CSR_WRITE(mie, enabled);
        PIC(PIC_MASK) = SOURCE_IPI(hart);
    }
}

static void interrupts(void)
{
    fastest = 0xffffffff;
    slowest = 0;
    for (target = 0; target < CONFIG_HARTS; target++) {
        if (!(harts_alive() >> target & 1))
            continue;
        uint32_t before = PIC(PIC_SOURCE_AT(SOURCE_IPI(target)));
        PIC(PIC_SOURCE_AT(SOURCE_IPI(target))) = before | HIGHEST << PIC_SOURCE_PRIORITY_SHIFT;
        ready = taken = 0;
        if (harts_call(take_interrupt, 10 * CYCLES_PER_MS) >> target & 1)
            failed("hart %d is lost in its interrupt", target);
        PIC(PIC_CLEAR) = 1u << SOURCE_IPI(target);
        PIC(PIC_SOURCE_AT(SOURCE_IPI(target))) = before;
    }
}

void test_pic(int whole)
{
    (void)whole;
    if (!registers())
        return;
    line_flush(); /* a port interrupts when it has nothing left to send */
    for (unsigned hart = 0; hart < CONFIG_HARTS; hart++)
        wire("timer", hart, timer, hart);
    wire("uart", SOURCE_UART0, uart, 0);
    wire("uart", SOURCE_UART1, uart, 1);
    for (unsigned i = 0; i < ARRIVAL_WIRES; i++)
        wire("arrival wire", SOURCE_ARRIVALS + i, arrival, i);
    interrupts();
    passed("interrupts in %ld to %ld cycles", fastest, slowest);
}
