#include "console.h"

#include "line.h"

/* The characters' destination: a buffer, or the line if there is none. */
struct sink {
    char *next, *end;
};

static void put(struct sink *sink, char c)
{
    if (sink->next) {
        if (sink->next < sink->end)
            *sink->next++ = c;
        return;
    }
    if (c == '\n')
        line_put('\r');
    line_put((uint8_t)c);
}

static void pad(struct sink *sink, char c, int count)
{
    while (count-- > 0)
        put(sink, c);
}

static void put_text(struct sink *sink, const char *text, int length, int width, int left)
{
    if (!left)
        pad(sink, ' ', width - length);
    for (int i = 0; i < length; i++)
        put(sink, text[i]);
    if (left)
        pad(sink, ' ', width - length);
}

static void put_number(struct sink *sink, uint32_t value, uint32_t base, int negative, int width, int zeros, int left)
{
    char digits[12];
    char *first = digits + sizeof digits;
    do
        *--first = "0123456789abcdef"[value % base];
    while (value /= base);
    if (negative)
        *--first = '-';
    int length = digits + sizeof digits - first;
    if (zeros && !left && !negative)
        pad(sink, '0', width - length), width = 0;
    put_text(sink, first, length, width, left);
}

static void format_to(struct sink *sink, const char *format, va_list arguments)
{
    for (; *format; format++) {
        if (*format != '%') {
            put(sink, *format);
            continue;
        }
        int left = 0, zeros = 0, width = 0;
        format++;
        for (; *format == '-' || *format == '0'; format++)
            *format == '-' ? (left = 1) : (zeros = 1);
        for (; *format >= '0' && *format <= '9'; format++)
            width = 10 * width + *format - '0';
        if (*format == 'l')
            format++;
        if (*format == 's') {
            const char *text = va_arg(arguments, const char *), *end = text;
            while (*end)
                end++;
            put_text(sink, text, end - text, width, left);
        } else if (*format == 'c' || *format == '%') {
            put(sink, *format == 'c' ? (char)va_arg(arguments, int) : '%');
        } else {
            uint32_t value = va_arg(arguments, uint32_t);
            int negative = *format == 'd' && (int32_t)value < 0;
            put_number(sink, negative ? -value : value, *format == 'x' ? 16 : 10, negative, width, zeros, left);
        }
    }
}

void print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    format_to(&(struct sink){0}, format, arguments);
    va_end(arguments);
}

void print_into(char *buffer, uint32_t size, const char *format, va_list arguments)
{
    struct sink sink = {buffer, buffer + size - 1};
    format_to(&sink, format, arguments);
    *sink.next = 0;
}
