/* Look-up of function names (symbols.h). */
#include <stdbool.h>

#include "lib/symbols.h"

extern const char _text[], _etext[]; /* arch/kernel.ld */

static bool symbols_is_code(uint32_t pc)
{
    return pc >= (uint32_t)_text && pc < (uint32_t)_etext;
}

const char *symbol_of(uint32_t pc, uint32_t *offset)
{
    if (!symbols_is_code(pc))
        return 0;
    uint32_t low = 0, high = ksyms_count; /* the last entry at or below pc is in [low - 1, high) */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (ksyms[middle].address <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return 0;
    *offset = pc - ksyms[low - 1].address;
    return ksyms[low - 1].name;
}
