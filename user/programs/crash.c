/*
 * crash HOW: does one thing that user mode must not do, for which the kernel has to end it. If it does not, the exit
 * status is 0.
 */
#include <generated/mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/lib/system.h"

#define KERNEL MAIN_RAM_BASE /* the kernel's physical address */
#define CLINT CLINT_BASE

static const uint32_t in_rodata = 0x00008067; /* ret */
static uint32_t in_data = 0x00008067;

static void load_from(uint32_t address)
{
    printf("%lx\n", (unsigned long)*(volatile uint32_t *)address);
}

static void store_to(uint32_t address)
{
    *(volatile uint32_t *)address = 0;
}

static void jump_to(uint32_t address)
{
    ((void (*)(void))address)();
}

static int __attribute__((noinline)) recurse(volatile int *above)
{
    volatile int here[64] = {*above + 1};
    return here[0] > 0 ? recurse(here) + here[0] : 0;
}

static void run_out_of_stack(void)
{
    volatile int zero = 0;
    recurse(&zero);
}

static void execute_illegal(void)
{
    __asm__ volatile(".word 0");
}

static void read_machine_csr(void)
{
    __asm__ volatile("csrr t0, mstatus" ::: "t0");
}

static void write_satp(void)
{
    __asm__ volatile("csrw satp, zero");
}

static void return_from_trap(void)
{
    __asm__ volatile("mret");
}

static void wait_for_interrupt(void)
{
    __asm__ volatile("wfi");
}

static void drop_translations(void)
{
    __asm__ volatile("sfence.vma");
}

static void execute_break(void)
{
    __asm__ volatile("ebreak");
}

/* A second thread does it; the process ends with both. */
static void in_thread(void *arg)
{
    (void)arg;
    store_to(0);
}

static void in_second_thread(void)
{
    static uint8_t stack[1024];
    thread_start(in_thread, 0, stack, sizeof stack);
    for (;;)
        ;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *how;
        void (*with)(uint32_t);
        void (*without)(void);
        uint32_t address;
    } ways[] = {
        {"load-null", load_from, 0, 0},
        {"load-kernel", load_from, 0, KERNEL},
        {"load-device", load_from, 0, CLINT},
        {"load-misaligned", load_from, 0, (uint32_t)&in_data + 1},
        {"store-null", store_to, 0, 0},
        {"store-kernel", store_to, 0, KERNEL},
        {"store-device", store_to, 0, CLINT},
        {"store-text", store_to, 0, (uint32_t)main},
        {"store-rodata", store_to, 0, (uint32_t)&in_rodata},
        {"store-behind-stack", store_to, 0, USER_STACK_TOP},
        {"jump-null", jump_to, 0, 0},
        {"jump-kernel", jump_to, 0, KERNEL},
        {"jump-data", jump_to, 0, (uint32_t)&in_data},
        {"jump-rodata", jump_to, 0, (uint32_t)&in_rodata},
        {"stack", 0, run_out_of_stack, 0},
        {"illegal", 0, execute_illegal, 0},
        {"csr", 0, read_machine_csr, 0},
        {"satp", 0, write_satp, 0},
        {"mret", 0, return_from_trap, 0},
        {"wfi", 0, wait_for_interrupt, 0},
        {"sfence", 0, drop_translations, 0},
        {"break", 0, execute_break, 0},
        {"thread", 0, in_second_thread, 0},
    };
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (argc < 2)
            printf("%s\n", ways[i].how);
        else if (!strcmp(argv[1], ways[i].how)) {
            if (ways[i].with)
                ways[i].with(ways[i].address);
            else
                ways[i].without();
        }
    }
    return 0;
}
