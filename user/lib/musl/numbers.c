/* Conversions of numbers that musl lacks: those of C23, and by locale, of which there is one. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int strfromd(char *restrict to, size_t size, const char *restrict format, double value)
{
    return snprintf(to, size, format, value);
}

int strfromf(char *restrict to, size_t size, const char *restrict format, float value)
{
    return snprintf(to, size, format, (double)value);
}

int strfroml(char *restrict to, size_t size, const char *restrict format, long double value)
{
    char longer[32]; /* '%', a precision, and a letter */
    size_t length = strlen(format);
    if (!length || length > sizeof longer - 2)
        return -1;
    memcpy(longer, format, length - 1);
    longer[length - 1] = 'L';
    longer[length] = format[length - 1];
    longer[length + 1] = 0;
    return snprintf(to, size, longer, value);
}

#define OF_FLOATS(type, name)                                                      \
    type name##_l(const char *restrict text, char **restrict end, locale_t locale) \
    {                                                                              \
        (void)locale;                                                              \
        return name(text, end);                                                    \
    }
OF_FLOATS(float, strtof)
OF_FLOATS(double, strtod)
OF_FLOATS(long double, strtold)

#define OF_WHOLE_NUMBERS(type, name)                                                         \
    type name##_l(const char *restrict text, char **restrict end, int base, locale_t locale) \
    {                                                                                        \
        (void)locale;                                                                        \
        return name(text, end, base);                                                        \
    }
OF_WHOLE_NUMBERS(long, strtol)
OF_WHOLE_NUMBERS(long long, strtoll)
OF_WHOLE_NUMBERS(unsigned long, strtoul)
OF_WHOLE_NUMBERS(unsigned long long, strtoull)
