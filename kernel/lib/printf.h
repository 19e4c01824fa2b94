/* Formatted output to the console, from any level (dev/console.h); picolibc does the formatting. */
#ifndef LIB_PRINTF_H
#define LIB_PRINTF_H

#define KPRINTF_MAX 512 /* characters of one call; what is longer is cut */

void kprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif
