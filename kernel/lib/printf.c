/* Formatted output (printf.h): formatted first, so that the sink's lock is held for the copying only. */
#include "lib/printf.h"

#include <stdarg.h>
#include <stdio.h>

void (*kprintf_sink)(const char *text, unsigned n);

void kprintf(const char *format, ...)
{
    char text[KPRINTF_MAX];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (kprintf_sink)
        kprintf_sink(text, n < KPRINTF_MAX ? (unsigned)n : KPRINTF_MAX - 1);
}
