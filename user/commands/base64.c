/* base64: what it is given as text (RFC 4648, section 4), so that bytes can leave by the console. */
#include <stdio.h>

#define LINE 76

int main(void)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned column = 0;
    for (int c, n; (c = getchar()) != EOF;) {
        unsigned bits = (unsigned)c << 16;
        for (n = 1; n < 3 && (c = getchar()) != EOF; n++)
            bits |= (unsigned)c << (16 - 8 * n);
        for (int i = 0; i < 4; i++)
            putchar(i > n ? '=' : digit[bits >> (18 - 6 * i) & 63]);
        if ((column += 4) == LINE) {
            putchar('\n');
            column = 0;
        }
    }
    if (column)
        putchar('\n');
    return fflush(stdout) || ferror(stdin) ? 1 : 0;
}
