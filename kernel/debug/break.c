/* Breakpoints (break.h). Uses no library. */
#include "debug/break.h"

#include "arch/hart.h"
#include "debug/step.h"

#define BREAKPOINTS 64

static struct {
    uint32_t address;
    uint32_t instruction; /* the replaced one, while `inserted` */
    bool used, once, inserted;
} break_table[BREAKPOINTS];

extern const char trap_entry[], trap_entry_end[], trap_rest[], trap_rest_end[], unbreakable[], _etext[];

static bool within(uint32_t address, const char *begin, const char *end)
{
    return address - (uint32_t)begin < (uint32_t)(end - begin);
}

static int break_find(uint32_t address, bool once)
{
    for (int i = 0; i < BREAKPOINTS; i++)
        if (break_table[i].used && break_table[i].address == address && break_table[i].once == once)
            return i;
    return -1;
}

static bool break_put(uint32_t address, bool once)
{
    if (within(address, trap_entry, trap_entry_end) || within(address, trap_rest, trap_rest_end) ||
        within(address, unbreakable, _etext))
        return false;
    if (break_find(address, once) >= 0)
        return true;
    for (unsigned i = 0; i < BREAKPOINTS; i++)
        if (!break_table[i].used) {
            break_table[i].address = address;
            break_table[i].once = once;
            break_table[i].used = true;
            return true;
        }
    return false;
}

bool break_set(uint32_t address)
{
    return break_put(address, false);
}

bool break_set_once(uint32_t address)
{
    return break_put(address, true);
}

bool break_clear(uint32_t address)
{
    int i = break_find(address, false);
    if (i >= 0)
        break_table[i].used = false;
    return true;
}

bool break_is_set(uint32_t address)
{
    return break_find(address, false) >= 0;
}

void break_clear_all(void)
{
    for (unsigned i = 0; i < BREAKPOINTS; i++)
        break_table[i].used = false;
}

void break_clear_once(void)
{
    for (unsigned i = 0; i < BREAKPOINTS; i++)
        if (break_table[i].once)
            break_table[i].used = false;
}

void break_insert(void)
{
    for (unsigned i = 0; i < BREAKPOINTS; i++)
        if (break_table[i].used) {
            volatile uint32_t *at = (volatile uint32_t *)break_table[i].address;
            break_table[i].instruction = *at;
            break_table[i].inserted = true;
            *at = EBREAK;
        }
}

/*
 * In reverse order: of two at one address the first has saved the code. A program's page may have been reused
 * meanwhile: an address that no longer holds an EBREAK is left alone.
 */
void break_remove(void)
{
    for (unsigned i = BREAKPOINTS; i--;)
        if (break_table[i].inserted) {
            volatile uint32_t *at = (volatile uint32_t *)break_table[i].address;
            if (*at == EBREAK)
                *at = break_table[i].instruction;
            break_table[i].inserted = false;
        }
    break_clear_once();
}
