#include "bench.h"

static void put_text(int hart, const char *text)
{
    while (*text)
        CONSOLE(hart) = *text++;
}

static void put_number(int hart, uint32_t value)
{
    char digits[11];
    int i = 10;
    digits[10] = 0;
    do
        digits[--i] = '0' + value % 10;
    while (value /= 10);
    put_text(hart, digits + i);
}

void print(int hart, const char *key, uint32_t value)
{
    put_text(hart, key);
    put_text(hart, "=");
    put_number(hart, value);
    put_text(hart, "\n");
}

void failed(const char *file, int line, uint32_t got, uint32_t wanted)
{
    int hart = hartid();
    put_text(hart, "FAILED ");
    put_text(hart, file);
    put_text(hart, ":");
    put_number(hart, line);
    put_text(hart, " got ");
    put_number(hart, got);
    put_text(hart, " wanted ");
    put_number(hart, wanted);
    put_text(hart, "\n");
    EXIT = 1;
    for (;;)
        continue;
}

__attribute__((weak)) void trap(struct frame *frame)
{
    int hart = hartid();
    print(hart, "unexpected trap: cause", frame->mcause);
    print(hart, "mepc", frame->mepc);
    print(hart, "mtval", frame->mtval);
    EXIT = 2;
    for (;;)
        continue;
}

static volatile uint32_t arrived, generation;

void barrier(void)
{
    fence();
    uint32_t mine = generation;
    if (amoadd(&arrived, 1) == HARTS - 1) {
        arrived = 0;
        fence();
        generation = mine + 1;
    } else {
        while (generation == mine)
            continue;
    }
    fence();
}

void run_hart(int hart)
{
    hart_main(hart);
    barrier();
    if (hart == 0)
        EXIT = 0;
}
