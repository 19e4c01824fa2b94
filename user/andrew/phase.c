/* phase NAME: marks the begin of a phase of the Andrew benchmark: @andrew_phase name=... cycles=... (since reset). */
#include <stdint.h>
#include <stdio.h>

static uint32_t high(void)
{
    uint32_t v;
    __asm__ volatile("rdcycleh %0" : "=r"(v)::"memory");
    return v;
}

int main(int argc, char **argv)
{
    uint32_t h, low;
    do {
        h = high();
        __asm__ volatile("rdcycle %0" : "=r"(low)::"memory");
    } while (h != high());
    printf("@andrew_phase name=%s cycles=%llu\n", argc > 1 ? argv[1] : "none", (unsigned long long)h << 32 | low);
    return fflush(stdout) ? 1 : 0;
}
