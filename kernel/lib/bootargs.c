/* Boot arguments (bootargs.h). */
#include "lib/bootargs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/panic.h"

uint32_t run_seed;

/* Hand-written: a boot looks up some sixty keys, which took a sixth of its time with the library's functions. */
const char *bootargs_string(const char *key, const char *otherwise, char *value, unsigned size)
{
    for (const char *word = bootargs; *word;) {
        const char *k = key;
        while (*k && *word == *k)
            word++, k++;
        if (!*k && *word == '=') {
            unsigned n = strcspn(++word, " ");
            if (n >= size)
                panic("boot argument %s=: give at most %u characters", key, size - 1);
            memcpy(value, word, n);
            value[n] = 0;
            return value;
        }
        while (*word && *word != ' ')
            word++;
        while (*word == ' ')
            word++;
    }
    return otherwise;
}

uint32_t bootargs_number(const char *key, uint32_t otherwise, uint32_t most)
{
    char text[24], *end;
    if (!bootargs_string(key, 0, text, sizeof text))
        return otherwise;
    errno = 0;
    unsigned long v = strtoul(text, &end, 0);
    if (errno || end == text || *end || text[0] == '-' || v > most)
        panic("boot argument %s=%s: give a number from 0 to %lu", key, text, (unsigned long)most);
    return v;
}

void bootargs_init(void)
{
    run_seed = bootargs_number(BOOT(kernel, seed));
}
