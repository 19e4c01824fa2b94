/*
 * Calls of the C library with values by seed, for a comparison of two libraries: each call's result is a line, and a
 * block of calls prints the hash of its lines, or the lines themselves.
 *
 *   libc_sweep FAMILY FIRST COUNT BLOCK [lines FILE]
 *
 * Call n depends on n alone. Only types that have the same size everywhere are used: int, long long, double.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define MIN(a, b) ((a) < (b) ? (a) : (b))

static uint64_t state;
static uint64_t hash;
static bool shows;
static const char *file;
static char text[2048];

static uint32_t rnd(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint32_t x = (uint32_t)(((state >> 18) ^ state) >> 27);
    unsigned turn = state >> 59;
    return x >> turn | x << (-turn & 31);
}

static unsigned below(unsigned n)
{
    return rnd() % n;
}

static uint64_t rnd64(void)
{
    uint64_t high = rnd();
    return high << 32 | rnd();
}

static void add(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ p[i]) * 1099511628211u;
    if (shows)
        for (size_t i = 0; i < n; i++)
            if (p[i] >= 32 && p[i] < 127 && p[i] != '\\')
                putchar(p[i]);
            else
                printf("\\%02x", p[i]);
}

static void number(long long n)
{
    /* Not by printf, which is under test here. */
    char digits[24], *p = digits + sizeof digits;
    unsigned long long rest = n < 0 ? -(unsigned long long)n : (unsigned long long)n;
    *--p = ' ';
    do
        *--p = (char)('0' + rest % 10);
    while (rest /= 10);
    if (n < 0)
        *--p = '-';
    add(p, (size_t)(digits + sizeof digits - p));
}

static void real(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    if (d != d)
        bits = 0x7ff8000000000000u;
    number((long long)bits);
}

static void string(const char *s)
{
    add(s ? s : "(null)", s ? strlen(s) : 6);
    add("|", 1);
}

static double some_double(void)
{
    double d;
    uint64_t bits = rnd64();
    switch (below(8)) {
    case 0: return (double)(int)rnd();
    case 1: return below(100) / 8.0;
    case 2: return (int)below(2000001) / 1000.0 - 1000;
    case 3: return below(2) ? 0.0 : -0.0;
    case 4: return below(3) ? (below(2) ? INFINITY : -INFINITY) : (double)NAN;
    case 5: bits &= 0x800fffffffffffffu; break;                                         /* subnormal */
    case 6: bits = (bits & 0x800fffffffffffffu) | (uint64_t)(1000 + below(60)) << 52; break; /* about 1 */
    default:
        if ((bits >> 52 & 2047) == 2047)
            bits &= ~(1ull << 52);
    }
    memcpy(&d, &bits, sizeof d);
    return d;
}

static long long some_integer(void)
{
    uint64_t bits = rnd64();
    switch (below(4)) {
    case 0: return (int)below(200) - 100;
    case 1: return (int)rnd();
    case 2: return (long long)(bits >> below(64));
    default: return (long long)((1ull << (bits & 63)) - below(2));
    }
}

static void some_text(char *to, unsigned most, const char *from)
{
    unsigned n = below(most + 1), kinds = (unsigned)strlen(from);
    for (unsigned i = 0; i < n; i++)
        to[i] = from[below(kinds)];
    to[n] = 0;
}

static void printed(int n, size_t room)
{
    number(n);
    if (room)
        string(text);
}

static void call_printf(void)
{
    char format[64], *p = format, words[40];
    some_text(p, 4, "ab %");
    for (char *q = p; *q; q++)
        if (*q == '%')
            *q = '-';
    p += strlen(p);
    *p++ = '%';
    for (unsigned n = below(3); n; n--)
        *p++ = "-+ #0"[below(5)];
    int width = (int)below(60) - 20, precision = (int)below(40) - 5;
    bool star_width = false, star_precision = false;
    switch (below(4)) {
    case 0:
        *p++ = '*';
        star_width = true;
        break;
    case 1: p += snprintf(p, 8, "%d", (int)below(30) + 1);
    }
    switch (below(4)) {
    case 0:
        *p++ = '.';
        *p++ = '*';
        star_precision = true;
        break;
    case 1: p += snprintf(p, 8, ".%d", (int)below(30)); break;
    case 2: *p++ = '.';
    }
    size_t room = below(3) ? sizeof text : below(20);
    memset(text, 'x', sizeof text);
    if (room < sizeof text)
        text[room] = 0;
    unsigned kind = below(4);
    const char *more = "<%d>";
#define CALL(value)                                                                           \
    (star_width && star_precision ? snprintf(text, room, format, width, precision, value, 77) \
     : star_width                 ? snprintf(text, room, format, width, value, 77)            \
     : star_precision             ? snprintf(text, room, format, precision, value, 77)        \
                                  : snprintf(text, room, format, value, 77))
    if (kind == 0) {
        *p++ = "aAeEfFgG"[below(8)];
        strcpy(p, more);
        double d = some_double();
        string(format);
        printed(CALL(d), room);
    } else if (kind == 1) {
        some_text(words, 30, "xyz \\\n");
        *p++ = 's';
        strcpy(p, more);
        string(format);
        printed(CALL(words), room);
    } else {
        long long value = some_integer();
        unsigned length = below(4);
        const char *const lengths[] = {"hh", "h", "", "ll"};
        strcpy(p, lengths[length]);
        p += strlen(p);
        *p++ = "diuoxXc"[below(length == 2 ? 7 : 6)];
        strcpy(p, more);
        string(format);
        if (p[-1] == 'c' && !(value & 0xff))
            value = 'c';
        if (length == 3)
            printed(CALL(value), room);
        else
            printed(CALL((int)value), room);
    }
}

static void call_strto(void)
{
    static const char *const alphabets[] = {"0123456789",   "0123456789.eE+-", "0x123abcdefpP.-+ ",
                                            "infnaty() 0.", "09 \t\n+-",       "zZ9aA0xX"};
    char *end;
    some_text(text, 40, alphabets[below(6)]);
    if (!below(4)) { /* arguments have no order among themselves */
        int digits = (int)below(17);
        snprintf(text, sizeof text, "%.*e", digits, some_double());
    }
    string(text);
    errno = 0;
    real(strtod(text, &end));
    number(end - text);
    number(errno == ERANGE);
    errno = 0;
    float f = strtof(text, &end);
    real(f);
    number(end - text);
    int base = (int)below(36) + 1;
    if (base == 1)
        base = 0;
    number(base);
    errno = 0;
    number(strtoll(text, &end, base));
    number(end - text);
    number(errno == ERANGE);
    errno = 0;
    number((long long)strtoull(text, &end, base));
    number(end - text);
    number(errno == ERANGE);
}

static void call_scanf(void)
{
    static const char *const formats[] = {"%d",  "%i",     "%x",      "%o",     "%u",     "%lf",  "%f",   "%s",
                                          "%c",  "%[a-c]", "%[^0-9]", "%n",     "%%",     "%lld", "%hhd", "%hd",
                                          "%5d", "%3s",    "%2c",     "%3x",    "%4lf",   "%*d",  "%*s",  " ",
                                          "-",   "e",      "%[]x]",   "%[^]x]", "%3[0-9]"};
    char format[64] = "", input[64];
    some_text(input, 40, below(2) ? "0123456789 -+.eExabc" : "0 1a-eE.\t\nxinf");
    union {
        long long i;
        double d;
        float f;
        char s[64];
    } to[4];
    memset(to, 0, sizeof to);
    unsigned picks[4], n = 1 + below(4);
    for (unsigned i = 0; i < n; i++) {
        picks[i] = below(sizeof formats / sizeof *formats);
        strcat(format, formats[picks[i]]);
    }
    /* Arguments go to those that store, in their order. */
    void *places[4];
    unsigned kinds[4], stores = 0;
    for (unsigned i = 0; i < n; i++) {
        const char *f = formats[picks[i]];
        if (f[0] == '%' && f[1] != '*' && f[1] != '%') {
            places[stores] = &to[stores];
            kinds[stores++] = picks[i];
        }
    }
    for (unsigned i = stores; i < 4; i++)
        places[i] = &to[i];
    int got = sscanf(input, format, places[0], places[1], places[2], places[3]);
    string(format);
    string(input);
    number(got);
    for (unsigned i = 0; i < stores; i++)
        if (strpbrk(formats[kinds[i]], "sc["))
            string(to[i].s);
        else if (strpbrk(formats[kinds[i]], "f"))
            formats[kinds[i]][1] == 'f' ? real(to[i].f) : real(to[i].d);
        else
            number(to[i].i);
}

static int order(const void *a, const void *b)
{
    const unsigned char *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void sign(int n)
{
    number(n < 0 ? -1 : n > 0);
}

static void call_string(void)
{
    char a[96], b[96], c[96];
    const char *letters = below(2) ? "ab" : "abcABC \t,.0\x80\xff";
    unsigned at = below(4), too = below(4), n = below(40);
    memset(a, 'p', sizeof a);
    memset(b, 'q', sizeof b);
    some_text(a + at, 40, letters);
    some_text(b + too, below(2) ? 3 : 40, letters);
    const char *s = a + at, *t = b + too, *found;
    string(s);
    string(t);
    number(n);
#define PLACE(call) (found = (call), number(found ? found - s : -1))
    switch (below(12)) {
    case 0:
        sign(strcmp(s, t));
        sign(strncmp(s, t, n));
        sign(strcasecmp(s, t));
        sign(strncasecmp(s, t, n));
        break;
    case 1:
        sign(memcmp(s, t, n));
        PLACE(memchr(s, letters[0], n));
        PLACE(memrchr(s, letters[0], n));
        break;
    case 2:
        PLACE(strchr(s, letters[below(3)]));
        PLACE(strrchr(s, letters[below(3)]));
        PLACE(strchrnul(s, letters[below(3)]));
        break;
    case 3:
        PLACE(strstr(s, t));
        PLACE(strcasestr(s, t));
        PLACE(memmem(s, strlen(s), t, strlen(t)));
        break;
    case 4:
        number((long long)strspn(s, t));
        number((long long)strcspn(s, t));
        PLACE(strpbrk(s, t));
        break;
    case 5: {
        char *to = a + below(30);
        memmove(to, a + below(30), n);
        add(a, sizeof a);
        break;
    }
    case 6:
        memset(c, 'r', sizeof c);
        strncpy(c + below(4), s, n);
        add(c, sizeof c);
        break;
    case 7: {
        memset(c, 'r', sizeof c);
        strcpy(c, t);
        strncat(c, s, n);
        add(c, sizeof c);
        break;
    }
    case 8: {
        char *rest = a + at, *word;
        bool separated = below(2);
        word = separated ? strsep(&rest, " ,") : strtok_r(rest, ".a", &rest);
        while (word) {
            string(word);
            word = separated ? strsep(&rest, " ,") : strtok_r(0, ".a", &rest);
        }
        break;
    }
    case 9: {
        unsigned char bytes[40];
        unsigned count = below(40);
        for (unsigned i = 0; i < count; i++)
            bytes[i] = (unsigned char)rnd();
        qsort(bytes, count, 1, order);
        add(bytes, count);
        unsigned char key = (unsigned char)rnd();
        unsigned char *hit = bsearch(&key, bytes, count, 1, order);
        number(hit ? *hit : -1);
        break;
    }
    case 10:
        number((long long)strnlen(s, n));
        memset(c, 'r', sizeof c);
        number(stpcpy(c, s) - c);
        number(stpncpy(c, t, n) - c);
        add(c, sizeof c);
        memset(c, 'r', sizeof c);
        found = memccpy(c, s, letters[1], n);
        number(found ? found - c : -1);
        add(c, sizeof c);
        break;
    default: {
        int ch = (int)below(257) - 1;
        if (ch > 127)
            ch = 127;
        number(!!isalpha(ch) | !!isdigit(ch) << 1 | !!isspace(ch) << 2 | !!ispunct(ch) << 3 | !!isxdigit(ch) << 4 |
               !!iscntrl(ch) << 5 | !!isprint(ch) << 6 | !!isgraph(ch) << 7 | !!isupper(ch) << 8 | !!isblank(ch) << 9);
        number(toupper(ch) * 1000 + tolower(ch));
    }
    }
}

static void call_time(void)
{
    static const char *const formats[] = {"%Y-%m-%d",    "%H:%M:%S", "%a %A %b %B", "%c",          "%D %F",
                                          "%j %U %w %W", "%I %p",    "%y %C",       "%e|%n|%t|%%", "%G %g %V %u",
                                          "%R %T",       "%x %X",    "%h"};
    time_t t = (time_t)((long long)(rnd64() >> (below(2) ? 28 : 34)));
    struct tm tm, back;
    gmtime_r(&t, &tm);
    number(t);
    number(tm.tm_year), number(tm.tm_mon), number(tm.tm_mday), number(tm.tm_hour), number(tm.tm_min), number(tm.tm_sec);
    number(tm.tm_wday), number(tm.tm_yday);
    back = tm;
    back.tm_mday += (int)below(100) - 50;
    back.tm_hour += (int)below(200) - 100;
    back.tm_mon += (int)below(40) - 20;
    back.tm_isdst = 0;
    number(mktime(&back));
    number(back.tm_wday), number(back.tm_yday);
    const char *format = formats[below(13)];
    string(format);
    size_t n = strftime(text, below(2) ? sizeof text : below(20), format, &tm);
    number((long long)n);
    if (n)
        string(text);
}

/* A stream that is read in all ways at once. */
static void call_stream(void)
{
    static FILE *in;
    static unsigned calls;
    char line[80];
    if (!in || !(calls++ % 40)) {
        in = in ? freopen(file, "r", in) : fopen(file, "r");
        if (!in) {
            string("no file");
            return;
        }
        if (below(2))
            setvbuf(in, 0, below(2) ? _IOFBF : _IONBF, 64);
    }
    switch (below(9)) {
    case 0: {
        unsigned room = 1 + below(60);
        number(room);
        string(fgets(line, (int)room, in));
        break;
    }
    case 1: number(fgetc(in)); break;
    case 2: {
        int c = fgetc(in);
        number(c);
        if (c != EOF)
            number(ungetc(c, in));
        number(ftell(in));
        break;
    }
    case 3: {
        memset(line, 0, sizeof line);
        unsigned size = 1 + below(8), n = below(9);
        number((long long)fread(line, size, n, in));
        add(line, sizeof line);
        break;
    }
    case 4: {
        static const int ways[] = {SEEK_SET, SEEK_CUR, SEEK_END};
        int way = ways[below(3)];
        number(fseek(in, (int)below(400) - (way == SEEK_SET ? 50 : way == SEEK_END ? 300 : 200), way));
        break;
    }
    case 5: number(ftell(in)); break;
    case 6: {
        int i = -1;
        char word[20] = "";
        number(fscanf(in, below(2) ? "%d%19s" : "%d %19[a-z]", &i, word));
        number(i);
        string(word);
        break;
    }
    case 7: {
        char *got = 0;
        size_t room = 0;
        long n = (long)getline(&got, &room, in);
        number(n);
        string(n > 0 ? got : "");
        free(got);
        break;
    }
    default:
        if (!below(3))
            rewind(in);
        else if (!below(2))
            clearerr(in);
    }
    number(feof(in));
    number(ferror(in));
    number(ftell(in));
}

static const struct family {
    const char *name;
    void (*call)(void);
    bool depends; /* on the calls before it */
} families[] = {{"printf", call_printf, false}, {"strto", call_strto, false}, {"scanf", call_scanf, false},
                {"string", call_string, false}, {"time", call_time, false},   {"stream", call_stream, true}};

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    unsigned first = (unsigned)atoi(argv[2]), count = (unsigned)atoi(argv[3]), block = (unsigned)atoi(argv[4]);
    shows = argc > 5 && !strcmp(argv[5], "lines");
    file = argc > 6 ? argv[6] : "/input";
    const struct family *f = families;
    while (strcmp(f->name, argv[1]))
        if (++f == families + sizeof families / sizeof *families)
            return 2;
    for (unsigned n = f->depends ? 0 : first; n < first + count; n++) {
        if (!f->depends || n == 0)
            state = n * 7919u + 12345;
        bool loud = shows;
        if (n < first)
            shows = false;
        hash = n % block ? hash : 14695981039346656037u;
        f->call();
        shows = loud;
        if (shows && n >= first)
            putchar('\n');
        else if (!shows && n >= first && n % block == block - 1)
            printf("%s %u %08x%08x\n", f->name, n / block, (unsigned)(hash >> 32), (unsigned)hash);
    }
    return 0;
}
