/*
 * store ADDRESS: stores there, on a page that it maps first if none is mapped; exits with 0 if the store is
 * visible.
 */
#include <stdlib.h>

#include "user/lib/system.h"

int main(int argc, char **argv)
{
    uint32_t address = argc > 1 ? strtoul(argv[1], 0, 0) : 0, end = (uint32_t)sbrk(0);
    if (address < end || (int)sbrk((ptrdiff_t)(address + sizeof address - end)) != -1)
        *(volatile uint32_t *)address = 0x5a5a5a5a;
    return *(volatile uint32_t *)address != 0x5a5a5a5a;
}
