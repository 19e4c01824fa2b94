/*
 * A kernel to begin with: each hart prints that it runs, then each hart's timer interrupts it through the interrupt
 * controller: the hart takes a trap, claims the source, lowers its wire and ends it; the time for that is printed.
 *
 * Addresses: generated/mem.h. Registers: generated/pic_regs.h, serial_regs.h, csr.h. What they do: the README of each
 * core in hw/ of Interlock.
 */
#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/pic_regs.h>
#include <generated/serial_regs.h>
#include <generated/soc.h>
#include <interlock/probe.h>
#include <stdint.h>

#define WORD(address) (*(volatile uint32_t *)(address))
#define PIC(offset) WORD(PIC_WINDOW_BASE + (offset))
#define UART(offset) WORD(UART0_BASE + (offset))
#define SOURCE_TIMER(hart) (hart) /* its number at the controller (hw/pic/README.md) */
#define MTIMECMP(hart) (CLINT_BASE + 0x4000 + 8 * (hart))
#define NEVER 0xffffffff
#define CAUSE_EXTERNAL 0x8000000bu    /* mcause of an interrupt of the controller */
#define MIE_EXTERNAL (1 << 11)
#define MSTATUS_MIE (1 << 3)
#define SERIAL_LCR_8N1 3
#define TRAP_EXIT_CODE 100

#define CSR_READ(name)                                      \
    ({                                                      \
        uint32_t value_;                                    \
        __asm__ volatile("csrr %0, " #name : "=r"(value_)); \
        value_;                                             \
    })
#define CSR_WRITE(name, value) __asm__ volatile("csrw " #name ", %0" ::"r"(value) : "memory")
#define CSR_SET(name, value) __asm__ volatile("csrs " #name ", %0" ::"r"(value) : "memory")

extern volatile uint32_t others_may_run;
extern char bootargs[];
void trap(void);
int main(void);
void other_hart(void);
_Noreturn void end(uint32_t code);

static uint32_t console_lock;
static volatile uint32_t taken[CONFIG_HARTS], taken_at[CONFIG_HARTS];

/* Ends the run: ./interlock sim ends with 0 if the code is 0, else with 1. */
void end(uint32_t code)
{
    while (!(UART(SERIAL_LSR) & SERIAL_LSR_TEMT_MASK)) /* all output has left */
        ;
    host_exit_write(code);
    for (;;)
        ;
}

static void put(char c)
{
    while (!(UART(SERIAL_LSR) & SERIAL_LSR_THRE_MASK))
        ;
    UART(SERIAL_THR) = (uint8_t)c;
}

static void put_number(uint32_t n)
{
    char digits[10];
    int at = 0;
    do
        digits[at++] = (char)('0' + n % 10);
    while (n /= 10);
    while (at)
        put(digits[--at]);
}

/* Each %d of `format` prints the next number. Lines of several harts do not mix. */
static void print(const char *format, uint32_t first, uint32_t second)
{
    while (__atomic_exchange_n(&console_lock, 1, __ATOMIC_ACQUIRE))
        ;
    for (; *format; format++) {
        if (format[0] == '%' && format[1] == 'd') {
            put_number(first);
            first = second;
            format++;
        } else {
            if (*format == '\n')
                put('\r');
            put(*format);
        }
    }
    __atomic_store_n(&console_lock, 0, __ATOMIC_RELEASE);
}

/* The wire of a hart's timer is high from the time whose upper half is `high`. */
static void set_timer(uint32_t hart, uint32_t high)
{
    WORD(MTIMECMP(hart) + 4) = high;
    WORD(MTIMECMP(hart)) = 0;
}

/*
 * Every trap of every hart. The attribute saves and restores all registers, and returns with mret.
 * The marks tell the simulator which source is handled: ./interlock latency then knows how long it took from the wire.
 */
__attribute__((interrupt("machine"), aligned(4))) void trap(void)
{
    uint32_t hart = CSR_READ(mhartid);
    if (CSR_READ(mcause) != CAUSE_EXTERNAL) {
        print("trap: cause %d at %d\n", CSR_READ(mcause), CSR_READ(mepc));
        end(TRAP_EXIT_CODE);
    }
    uint32_t claimed = PIC(PIC_CLAIM);
    if (claimed & PIC_CLAIM_NONE_MASK)
        return; /* another hart has claimed it, or the wire fell */
    uint32_t source = claimed & PIC_CLAIM_SOURCE_MASK;
    PROBE_VALUE(INTR_HANDLER, source);
    taken_at[hart] = CSR_READ(mcycle);
    set_timer(hart, NEVER); /* lowers the wire */
    taken[hart]++;
    PROBE_VALUE(INTR_DONE, source);
    PIC(PIC_EOI) = source;
}

static void take_interrupts(uint32_t hart)
{
    set_timer(hart, NEVER);
    PIC(PIC_SOURCE_AT(SOURCE_TIMER(hart))) = 1 << PIC_SOURCE_PRIORITY_SHIFT | hart << PIC_SOURCE_ROUTE_SHIFT;
    PIC(PIC_LEVEL) = 0; /* sources of higher priority are delivered */
    PIC(PIC_UNMASK) = SOURCE_TIMER(hart);
    CSR_SET(mie, MIE_EXTERNAL);
    CSR_SET(mstatus, MSTATUS_MIE);
}

static volatile uint32_t ready[CONFIG_HARTS];

void other_hart(void)
{
    uint32_t hart = CSR_READ(mhartid);
    print("hart %d runs\n", hart, 0);
    take_interrupts(hart);
    ready[hart] = 1;
    for (;;)
        __asm__ volatile("wfi");
}

int main(void)
{
    uint32_t harts = identity_harts_read();
    UART(SERIAL_LCR) = SERIAL_LCR_8N1; /* at 115,200 bit/s since the reset */
    print("hart 0 runs; harts: %d, MHz: %d\n", harts, CONFIG_CLOCK_FREQUENCY / 1000000);
    if (harts > CONFIG_HARTS) {
        print("made for %d: make run HARTS=%d\n", CONFIG_HARTS, harts);
        return 1;
    }
    take_interrupts(0);
    ready[0] = 1;
    others_may_run = 1;
    for (uint32_t hart = 0; hart < harts; hart++)
        while (!ready[hart])
            ;

    PROBE(WINDOW_BEGIN); /* the counts in run.json begin here */
    for (uint32_t hart = 0; hart < harts; hart++) {
        uint32_t begin = CSR_READ(mcycle); /* the same on all harts */
        set_timer(hart, 0);
        while (!taken[hart])
            ;
        print("hart %d took its timer's interrupt after %d cycles\n", hart, taken_at[hart] - begin);
    }
    PROBE(WINDOW_END);
    return 0;
}
