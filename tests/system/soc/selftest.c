/*
 * Checks every part of the SoC from every hart. Prints "@failed line=N" for each check that fails, and "@cost
 * region=NAME load=N store=N" with the cycles of accesses; the exit code is the number of checks that failed.
 */
#include <generated/csr.h>
#include <generated/pic_regs.h>
#include <generated/soc.h>
#include <generated/trace_regs.h>

#include "console.h"

#define CSR(name)                                           \
    ({                                                      \
        uint32_t value_;                                    \
        __asm__ volatile("csrr %0, " #name : "=r"(value_)); \
        value_;                                             \
    })
#define FENCE() __asm__ volatile("fence" ::: "memory")
#define CHECK(condition)      \
    do {                      \
        if (!(condition))     \
            failed(__LINE__); \
    } while (0)

#define NOBODY (CSR_BASE + 0x80000) /* on the shared bus, without a device */
#define MEIP (1u << 11)

static uint32_t failures, arrived;

static void failed(unsigned line)
{
    print("@failed line=");
    print_number(line);
    print("\n");
    failures++;
}

/* Waits for all harts; `count` of them have passed barriers before. */
static void barrier(unsigned count)
{
    __atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < count + CONFIG_HARTS)
        ;
}

static void identity(void)
{
    CHECK(identity_harts_read() == CONFIG_HARTS);
    CHECK(identity_clock_hz_read() == CONFIG_CLOCK_FREQUENCY);
    CHECK(identity_fingerprint_read() == FINGERPRINT);
}

static uint64_t from[64], to[64];

static void copy(const void *source, void *destination, uint32_t bytes)
{
    FENCE();
    dma_source_write((uint32_t)source);
    dma_destination_write((uint32_t)destination);
    dma_length_write(bytes);
    while (dma_busy_read())
        ;
}

/* A store to the ROM changes the hart's cached copy at most, not what the copy engine reads there. */
static void rom(void)
{
    uint64_t first = *(volatile uint64_t *)ROM_BASE;
    *(volatile uint64_t *)ROM_BASE = ~first;
    copy((void *)ROM_BASE, from, 8);
    CHECK(*(volatile uint64_t *)from == first && first != 0);
    *(volatile uint64_t *)ROM_BASE = first;
}

static void memories(void)
{
    volatile uint8_t *bytes = (volatile uint8_t *)SRAM_BASE + 64;
    *(volatile uint32_t *)bytes = 0x11223344;
    bytes[1] = 0x55;
    *(volatile uint16_t *)(bytes + 2) = 0x6677;
    CHECK(*(volatile uint32_t *)bytes == 0x66775544);
    CHECK(*word_at(SRAM_BASE + SRAM_SIZE - 4) == 0);

    *word_at(MAIN_RAM_BASE + MAIN_RAM_SIZE - 4) = 0x12345678;
    *word_at(MAIN_RAM_BASE + MAIN_RAM_SIZE - 8) = 0x9abcdef0;
    CHECK(*word_at(MAIN_RAM_BASE + MAIN_RAM_SIZE - 4) == 0x12345678);
}

/* The engine sees what was just stored, and the hart sees what the engine has stored under a line it has cached. */
static void coherent_copy(void)
{
    for (unsigned round = 1; round <= 3; round++) {
        for (unsigned i = 0; i < 64; i++) {
            from[i] = (uint64_t)round << 32 | i;
            CHECK(((volatile uint64_t *)to)[i] == (round == 1 ? 0 : (uint64_t)(round - 1) << 32 | i));
        }
        copy(from, to, sizeof to);
        for (unsigned i = 0; i < 64; i++)
            CHECK(((volatile uint64_t *)to)[i] == ((uint64_t)round << 32 | i));
    }
}

static void bus_error(void)
{
    uint32_t before = ctrl_bus_errors_read();
    CHECK(*word_at(NOBODY) == 0xffffffff);
    *word_at(NOBODY) = 1;
    CHECK(ctrl_bus_errors_read() == before + 2);
}

/* A load of any width from a CSR sees its part, and a store of less than a word does nothing. */
static void narrow_accesses(void)
{
    const uintptr_t place = CSR_DMA_SOURCE_ADDR;
    dma_source_write(0x12345678);
    for (unsigned i = 0; i < 4; i++) {
        ((volatile uint8_t *)place)[i] = 0xa5;
        CHECK(dma_source_read() == 0x12345678);
        CHECK(((volatile uint8_t *)place)[i] == (0x12345678 >> 8 * i & 0xff));
    }
    for (unsigned i = 0; i < 2; i++) {
        ((volatile uint16_t *)place)[i] = 0xa55a;
        CHECK(dma_source_read() == 0x12345678);
        CHECK(((volatile uint16_t *)place)[i] == (0x12345678 >> 16 * i & 0xffff));
    }
    *(volatile uint8_t *)CSR_DMA_LENGTH_ADDR = 0xff; /* no copy begins */
    CHECK(!dma_busy_read());
}

/* In the hart's own window, addresses without a device read as 0, and stores to them are ignored. */
static void hart_window(unsigned hart)
{
    static const uint32_t holes[] = {PIC_WINDOW_BASE + PIC_WINDOW_SIZE, TRACE_WINDOW_BASE + TRACE_WINDOW_SIZE,
                                     0xe2000000, 0xeffffffc};
    for (unsigned i = 0; i < sizeof holes / sizeof *holes; i++) {
        *word_at(holes[i]) = 0xffffffff;
        CHECK(*word_at(holes[i]) == 0);
    }
    uint32_t id = *word_at(PIC_WINDOW_BASE + PIC_ID);
    CHECK((id & PIC_ID_HARTS_MASK) >> PIC_ID_HARTS_SHIFT == CONFIG_HARTS);
    *word_at(PIC_WINDOW_BASE + PIC_LEVEL) = hart + 3;
    CHECK(*word_at(PIC_WINDOW_BASE + PIC_CONTEXT_AT(hart) + PIC_LEVEL) == hart + 3);
    *word_at(PIC_WINDOW_BASE + PIC_LEVEL) = 0;
}

static void set_timer(unsigned hart, uint32_t when)
{
    volatile uint32_t *compare = word_at(CLINT_BASE + 0x4000 + 8 * hart);
    compare[1] = 0xffffffff;
    compare[0] = when;
    compare[1] = when == 0xffffffff ? when : 0;
    (void)compare[1];
}

/* The source is pending while its wire is up, and reaches this hart's external interrupt. */
static void source(unsigned number, unsigned hart, void (*raise)(unsigned), void (*lower)(unsigned))
{
    *word_at(PIC_WINDOW_BASE + PIC_SOURCE_AT(number)) = 5 << PIC_SOURCE_PRIORITY_SHIFT | hart << PIC_SOURCE_ROUTE_SHIFT;
    *word_at(PIC_WINDOW_BASE + PIC_UNMASK) = number;
    CHECK(!(*word_at(PIC_WINDOW_BASE + PIC_PENDING) >> number & 1));
    CHECK(!(CSR(mip) & MEIP));
    raise(hart);
    CHECK(*word_at(PIC_WINDOW_BASE + PIC_PENDING) >> number & 1);
    CHECK(CSR(mip) & MEIP);
    CHECK((*word_at(PIC_WINDOW_BASE + PIC_CLAIM) & PIC_CLAIM_SOURCE_MASK) == number);
    lower(hart);
    *word_at(PIC_WINDOW_BASE + PIC_EOI) = number;
    CHECK(!(*word_at(PIC_WINDOW_BASE + PIC_PENDING) >> number & 1));
    CHECK(!(CSR(mip) & MEIP));
    *word_at(PIC_WINDOW_BASE + PIC_MASK) = number;
    CHECK(*word_at(PIC_COUNTERS_BASE + PIC_COUNT_DELIVERIES_AT(number)) == 1);
}

static void timer_up(unsigned hart)
{
    set_timer(hart, 0);
}

static void timer_down(unsigned hart)
{
    set_timer(hart, 0xffffffff);
}

#define SERIAL_IRQ(port)                                         \
    static void port##_up(unsigned hart)                         \
    {                                                            \
        (void)hart;                                              \
        *word_at(port##_BASE + SERIAL_IER) = SERIAL_IER_TX_MASK; \
    }                                                            \
    static void port##_down(unsigned hart)                       \
    {                                                            \
        (void)hart;                                              \
        *word_at(port##_BASE + SERIAL_IER) = 0;                  \
    }
SERIAL_IRQ(UART0)
SERIAL_IRQ(UART1)

#define ARRIVAL(wire)                                   \
    static void arrival##wire##_up(unsigned hart)       \
    {                                                   \
        (void)hart;                                     \
        arrivals_index_write(0);                        \
        arrivals_entry_write((wire) << 28 | 10);        \
        arrivals_entry_write(1 << 27);                  \
        arrivals_run_write(1);                          \
    }                                                   \
    static void arrival##wire##_down(unsigned hart)     \
    {                                                   \
        (void)hart;                                     \
        CHECK(arrivals_pending_read() == 1u << (wire)); \
        arrivals_acknowledge_write(1 << (wire));        \
    }
ARRIVAL(0)
ARRIVAL(7)

static void trace(unsigned hart)
{
    uint32_t count = trace_count_read();
    uint32_t before = CSR(mcycle);
    *word_at(TRACE_WINDOW_BASE + 4 * (700 + hart)) = 0xabcd0000 + hart;
    FENCE();
    uint32_t after = CSR(mcycle);
    CHECK(trace_count_read() == count + 1);
    CHECK(*word_at(TRACE_BUFFER_BASE + TRACE_RECORDS_SOURCE_AT(count)) ==
          ((700 + hart) << TRACE_RECORDS_SOURCE_EVENT_SHIFT | hart << TRACE_RECORDS_SOURCE_HART_SHIFT));
    CHECK(*word_at(TRACE_BUFFER_BASE + TRACE_RECORDS_ARGUMENT_AT(count)) == 0xabcd0000 + hart);
    uint32_t cycle = *word_at(TRACE_BUFFER_BASE + TRACE_RECORDS_CYCLE_LOW_AT(count));
    CHECK(cycle - before < after - before);
    CHECK(*word_at(TRACE_BUFFER_BASE + TRACE_RECORDS_CYCLE_HIGH_AT(count)) == 0);
}

/* mcycle, the CLINT's time and the trace port's count the same cycles. */
static void one_time(void)
{
    for (unsigned i = 0; i < 4; i++) {
        uint32_t before = CSR(mcycle);
        uint32_t clint = *word_at(CLINT_BASE + 0xbff8);
        uint32_t between = CSR(mcycle);
        uint32_t port = *word_at(TRACE_WINDOW_BASE + TRACE_CYCLE);
        uint32_t after = CSR(mcycle);
        CHECK(clint - before <= between - before);
        CHECK(port - between <= after - between);
    }
}

static void cost(const char *what, uint32_t cycles)
{
    print(what);
    print_number(cycles);
}

/*
 * Cycles of an access: from 16 pairs of the access and an instruction that waits for it, less one for that
 * instruction. `address` and `other` share a place in the caches, so that a load of one evicts the other.
 */
#define MEASURE(what, access)                                                                           \
    do {                                                                                                \
        uint32_t best = 0xffffffff;                                                                     \
        for (unsigned i = 0; i < 4; i++) {                                                              \
            FENCE();                                                                                    \
            uint32_t start = CSR(mcycle);                                                               \
            __asm__ volatile(".rept 8\n " access("%0") access("%1") " .endr" ::"r"(address), "r"(other) \
                             : "memory", "t0");                                                         \
            uint32_t took = CSR(mcycle) - start;                                                        \
            best = took < best ? took : best;                                                           \
        }                                                                                               \
        cost(what, (best + 8) / 16 - 1);                                                                \
    } while (0)
#define LOAD(register) "lw t0, 0(" register ")\n add t0, t0, t0\n"
#define STORE(register) "sw zero, 0(" register ")\n nop\n"

static void costs(void)
{
    static const struct {
        const char *name;
        uint32_t address;
    } places[] = {
        {"main_ram", MAIN_RAM_BASE + MAIN_RAM_SIZE - 0x2000},
        {"sram", SRAM_BASE},
        {"csr", CSR_RAM_SEED_ADDR},
        {"clint", CLINT_BASE},
        {"uart1", UART1_BASE + SERIAL_SCR},
        {"pic_counters", PIC_COUNTERS_BASE},
        {"trace_buffer", TRACE_BUFFER_BASE},
        {"pic_window", PIC_WINDOW_BASE + PIC_CLEAR},
        {"trace_window", TRACE_WINDOW_BASE},
    };
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        uint32_t address = places[i].address, other = address;
        print("@cost region=");
        print(places[i].name);
        MEASURE(" load=", LOAD);
        MEASURE(" store=", STORE);
        if (address < 0x80000000) {
            other = address + 0x1000;
            MEASURE(" miss=", LOAD);
        }
        print("\n");
    }
}

static void as_hart(unsigned hart)
{
    rom();
    memories();
    coherent_copy();
    bus_error();
    narrow_accesses();
    hart_window(hart);
    one_time();
    timer_down(hart);
    source(hart, hart, timer_up, timer_down);
    trace(hart);
}

void hart_main(unsigned hart)
{
    CHECK(CSR(mhartid) == hart);
    if (hart == 0) {
        console_open();
        identity();
        source(16, hart, UART0_up, UART0_down);
        source(17, hart, UART1_up, UART1_down);
        source(18, hart, arrival0_up, arrival0_down);
        source(25, hart, arrival7_up, arrival7_down);
    }
    barrier(0);
    for (unsigned turn = 0; turn < CONFIG_HARTS; turn++) {
        if (hart == turn) {
            as_hart(hart);
            for (unsigned i = 0; i < 64; i++)
                to[i] = 0;
        }
        barrier(CONFIG_HARTS * (turn + 1));
    }
    if (hart)
        return;
    costs();
    print("@done harts=");
    print_number(CONFIG_HARTS);
    print("\n");
    console_close();
    host_exit_write(failures);
}
