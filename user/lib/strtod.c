/*
 * strtod, strtof, strtold of hexadecimal numbers: those of picolibc 1.8 take each digit after the point for a bit where
 * no exponent follows ("0x.8" is 4). Decimal ones are left to picolibc (flags.mk: --wrap). A long double gets the first
 * 64 bits.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define MOST_EXPONENT 100000 /* beyond all that a type has, far below what overflows */

struct hexadecimal {
    uint64_t mantissa; /* its last bit is sticky: set for the bits that found no room */
    int exponent;
    bool negative;
};

static int digit(char c)
{
    return !isxdigit((unsigned char)c) ? -1
           : isdigit((unsigned char)c) ? c - '0'
                                       : tolower((unsigned char)c) - 'a' + 10;
}

/* The end of the exponent that begins at `text`, or `text` if there is none. */
static const char *exponent(const char *text, int *e)
{
    const char *at = text + 1;
    if (tolower((unsigned char)*text) != 'p')
        return text;
    bool negative = *at == '-';
    at += *at == '-' || *at == '+';
    if (!isdigit((unsigned char)*at))
        return text;
    int value = 0;
    for (; isdigit((unsigned char)*at); at++)
        value = value < MOST_EXPONENT ? value * 10 + (*at - '0') : value;
    *e += negative ? -value : value;
    return at;
}

/* The end of the number, or 0 if `text` has no hexadecimal one. */
static const char *parse(const char *text, struct hexadecimal *h)
{
    while (isspace((unsigned char)*text))
        text++;
    h->negative = *text == '-';
    text += *text == '-' || *text == '+';
    if (text[0] != '0' || tolower((unsigned char)text[1]) != 'x')
        return 0;
    if (digit(text[2] == '.' ? text[3] : text[2]) < 0)
        return text + 1; /* a 0, and something else */
    bool behind_point = false;
    for (text += 2; digit(*text) >= 0 || (*text == '.' && !behind_point); text++) {
        if (*text == '.') {
            behind_point = true;
            continue;
        }
        bool fits = !(h->mantissa >> 60);
        h->mantissa = fits ? h->mantissa << 4 | (unsigned)digit(*text) : h->mantissa | (digit(*text) != 0);
        if (fits == behind_point && h->exponent > -MOST_EXPONENT && h->exponent < MOST_EXPONENT)
            h->exponent += fits ? -4 : 4;
    }
    return exponent(text, &h->exponent);
}

/* A denormal number is rounded only once: all lost bits are in the last one kept. */
static uint64_t shortened(struct hexadecimal *h, int least)
{
    int lost = least - h->exponent;
    if (!h->mantissa || lost <= 0)
        return h->mantissa;
    h->exponent = least;
    if (lost > 63)
        return 1;
    return h->mantissa >> lost | !!(h->mantissa << (64 - lost));
}

/* Rounded to `type`; its denormals keep two extra bits. */
#define DEFINE(name, type, scale, huge, least)                          \
    type __real_##name(const char *restrict text, char **restrict end); \
    type __wrap_##name(const char *restrict text, char **restrict end); \
    type __wrap_##name(const char *restrict text, char **restrict end)  \
    {                                                                   \
        struct hexadecimal h = {0};                                     \
        const char *behind = parse(text, &h);                           \
        if (!behind)                                                    \
            return __real_##name(text, end);                            \
        if (end)                                                        \
            *end = (char *)behind;                                      \
        type value = (type)shortened(&h, least);                        \
        value = scale(value, h.exponent);                               \
        if (h.mantissa && (value == 0 || value == (type)huge))          \
            errno = ERANGE;                                             \
        return h.negative ? -value : value;                             \
    }
DEFINE(strtod, double, ldexp, HUGE_VAL, -1076)
DEFINE(strtof, float, ldexpf, HUGE_VALF, -151)
DEFINE(strtold, long double, scalbnl, HUGE_VALL, INT_MIN + 64)
