/* Text on the console, uart0. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdarg.h>
#include <stdint.h>

/* As printf; supports %c %s %d %u %x and %%, with l, a width, and 0 or - before it. "\n" is sent as "\r\n". */
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As vsnprintf, with the same conversions; what does not fit is cut. */
void print_into(char *buffer, uint32_t size, const char *format, va_list arguments);
#endif
