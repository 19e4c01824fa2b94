/* hog: allocates all memory, page by page, then tries to start a program. Prints @hog pages=... spawn=... */
#include <errno.h>
#include <stdio.h>

#include "user/lib/system.h"

#define PAGE 4096

int main(void)
{
    static const char *const argv[] = {"hello", 0};
    unsigned pages = 0;
    while (sbrk(PAGE) != (void *)-1)
        pages++;
    int refused = errno, id = spawn("hello", argv);
    printf("@hog pages=%u spawn=%d\n", pages, id);
    return refused != ENOMEM;
}
