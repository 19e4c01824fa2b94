/* cksum: POSIX's checksum and size of what it is given. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define POLYNOMIAL 0x04c11db7u

static uint32_t table[256];

static uint32_t add(uint32_t sum, unsigned byte)
{
    return sum << 8 ^ table[sum >> 24 ^ byte];
}

int main(void)
{
    static unsigned char buffer[4096];
    uint32_t sum = 0;
    unsigned long size = 0;
    for (unsigned i = 0; i < 256; i++) {
        table[i] = i << 24;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] << 1 ^ (table[i] >> 31 ? POLYNOMIAL : 0);
    }
    ssize_t n;
    for (; (n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0; size += (unsigned long)n)
        for (ssize_t i = 0; i < n; i++)
            sum = add(sum, buffer[i]);
    for (unsigned long rest = size; rest; rest >>= 8)
        sum = add(sum, rest & 0xff);
    printf("%lu %lu\n", (unsigned long)(uint32_t)~sum, size);
    return n < 0 || fflush(stdout) ? 1 : 0;
}
