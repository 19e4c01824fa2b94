/* Memory for GDB (memory.h). Uses no library. */
#include "debug/memory.h"

#include <generated/mem.h>

#include "debug/harts.h"
#include "sched/sched.h"
#include "proc/process.h"
#include "vm/pmap.h"

#define PTE_V 1u
#define PTE_LEAF 0xeu /* R, W or X */
#define SATP_MODE (1u << 31)

static const struct {
    uint32_t base, size;
    bool writable;
} regions[] = {
    {ROM_BASE, ROM_SIZE, false},
    {SRAM_BASE, SRAM_SIZE, true},
    {MAIN_RAM_BASE, MAIN_RAM_SIZE, true},
    {PIC_WINDOW_BASE, PIC_WINDOW_SIZE, true},
    {TRACE_WINDOW_BASE, TRACE_WINDOW_SIZE, true},
    {CSR_BASE, CSR_SIZE, true},
    {CLINT_BASE, CLINT_SIZE, true},
    {UART0_BASE, UART0_SIZE, true},
    {UART1_BASE, UART1_SIZE, true},
    {PIC_COUNTERS_BASE, PIC_COUNTERS_SIZE, false},
    {TRACE_BUFFER_BASE, TRACE_BUFFER_SIZE, false},
};

static bool is_there(uint32_t address, bool to_write)
{
    for (unsigned i = 0; i < sizeof regions / sizeof *regions; i++)
        if (address - regions[i].base < regions[i].size)
            return regions[i].writable || !to_write;
    return false;
}

static bool is_ram(uint32_t address)
{
    return address - MAIN_RAM_BASE < MAIN_RAM_SIZE;
}

/* Translates by Sv32's two levels of tables (privileged specification 4.3.2), from `table` on; they are in main RAM. */
static bool mapped(uint32_t table, uint32_t address, uint32_t *physical)
{
    for (unsigned shift = 22; is_ram(table); shift -= 10) {
        uint32_t entry = *(volatile uint32_t *)(table + (address >> shift & 0x3ff) * 4);
        uint32_t low = (1u << shift) - 1;
        if (!(entry & PTE_V))
            return false;
        if (entry & PTE_LEAF) {
            *physical = (entry >> 10 << 12 & ~low) | (address & low);
            return true;
        }
        if (shift == 12)
            return false;
        table = entry >> 10 << 12;
    }
    return false;
}

/* The tables of the process whose thread the hart runs in the kernel; 0: none. */
static uint32_t table_of_process(const struct debug_hart *h)
{
    const struct user_thread *t = harts[h - debug_harts].thread->user;
    struct vm_map *map = t ? t->process->map : 0;
    return map ? vm_map_pmap(map)->root : 0;
}

/* `known`: the hart's frame and CSRs are current. */
static bool debug_memory_address_of(const struct debug_hart *h, bool known, uint32_t address, uint32_t *physical)
{
    *physical = address;
    if (known && debug_in_user(h)) {
        uint32_t satp = h->csr[DEBUG_CSR_satp];
        return (satp & SATP_MODE && mapped(satp << 12, address, physical)) || address >= MAIN_RAM_BASE;
    }
    if (known && !is_there(address, false))
        return mapped(table_of_process(h), address, physical);
    return true;
}

static bool machine_address(const struct debug_hart *h, uint32_t address, uint32_t *physical)
{
    return debug_memory_address_of(h, h->stopped, address, physical);
}

/* The widest aligned access at `address` of at most n bytes. */
static uint32_t debug_memory_width(uint32_t address, uint32_t n)
{
    return !(address & 3) && n >= 4 ? 4 : !(address & 1) && n >= 2 ? 2 : 1;
}

static void debug_memory_load(uint32_t address, uint8_t *to, uint32_t n)
{
    uint32_t value = n == 4   ? *(volatile uint32_t *)address
                     : n == 2 ? *(volatile uint16_t *)address
                              : *(volatile uint8_t *)address;
    for (uint32_t i = 0; i < n; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static void store(uint32_t address, const uint8_t *from, uint32_t n)
{
    uint32_t value = 0;
    for (uint32_t i = 0; i < n; i++)
        value |= (uint32_t)from[i] << 8 * i;
    if (n == 4)
        *(volatile uint32_t *)address = value;
    else if (n == 2)
        *(volatile uint16_t *)address = (uint16_t)value;
    else
        *(volatile uint8_t *)address = (uint8_t)value;
}

bool memory_read(const struct debug_hart *h, uint32_t address, uint8_t *to, uint32_t n)
{
    for (uint32_t part, physical; n; address += part, to += part, n -= part) {
        part = debug_memory_width(address, n);
        if (!machine_address(h, address, &physical) || !is_there(physical, false))
            return false;
        debug_memory_load(physical, to, part);
    }
    return true;
}

bool memory_write(const struct debug_hart *h, uint32_t address, const uint8_t *from, uint32_t n)
{
    uint32_t physical;
    for (uint32_t i = 0; i < n; i++)
        if (!machine_address(h, address + i, &physical) || !is_there(physical, true))
            return false;
    for (uint32_t part; n; address += part, from += part, n -= part) {
        part = debug_memory_width(address, n);
        machine_address(h, address, &physical);
        store(physical, from, part);
    }
    return true;
}

bool memory_code(const struct debug_hart *h, uint32_t address, uint32_t *physical)
{
    return machine_address(h, address, physical) && is_ram(*physical);
}

bool memory_pc(const struct debug_hart *h, uint32_t *physical)
{
    return debug_memory_address_of(h, true, h->frame->mepc, physical) && is_ram(*physical);
}
