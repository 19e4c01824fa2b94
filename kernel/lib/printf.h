/*
 * Formatted output, from any level; picolibc does the formatting. The output goes to the sink, which the console sets
 * at start (dev/console.h); output from before is lost.
 */
#ifndef LIB_PRINTF_H
#define LIB_PRINTF_H

#define KPRINTF_MAX 512 /* characters of one call; longer output is cut */

extern void (*kprintf_sink)(const char *text, unsigned n);

void kprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif
