/* test EXPRESSION: 0 if it is true, 1 if not, 2 if it is none; as POSIX has it, with -a, -o, ! and parentheses. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRONG 2

static char **at, **end;

static bool either(void);

static _Noreturn void wrong(const char *what)
{
    fprintf(stderr, "test: %s\n", what);
    exit(WRONG);
}

static bool is(const char *word)
{
    return at < end && !strcmp(*at, word);
}

static const char *next(void)
{
    if (at == end)
        wrong("an argument is missing");
    return *at++;
}

static long long number(const char *text)
{
    char *rest;
    long long n = strtoll(text, &rest, 10);
    if (*rest || rest == text) {
        fprintf(stderr, "test: %s is no number\n", text);
        exit(WRONG);
    }
    return n;
}

static bool of_file(char what, const char *path)
{
    struct stat s;
    if (what == 'r' || what == 'w' || what == 'x')
        return !access(path, what == 'r' ? R_OK : what == 'w' ? W_OK : X_OK);
    if (what == 'h' || what == 'L')
        return !lstat(path, &s) && S_ISLNK(s.st_mode);
    if (stat(path, &s))
        return false;
    switch (what) {
    case 'b': return S_ISBLK(s.st_mode);
    case 'c': return S_ISCHR(s.st_mode);
    case 'd': return S_ISDIR(s.st_mode);
    case 'f': return S_ISREG(s.st_mode);
    case 'p': return S_ISFIFO(s.st_mode);
    case 's': return s.st_size > 0;
    default: /* e */ return true;
    }
}

enum { EQ, NE, GT, GE, LT, LE, SAME, DIFFERENT, BINARY };
static const char *const binary[BINARY] = {"-eq", "-ne", "-gt", "-ge", "-lt", "-le", "=", "!="};

static int operator_at(char **word)
{
    int n = 0;
    while (n < BINARY && (word >= end || strcmp(*word, binary[n])))
        n++;
    return n;
}

static bool compare(const char *left, int how, const char *right)
{
    if (how == SAME || how == DIFFERENT)
        return !strcmp(left, right) == (how == SAME);
    long long a = number(left), b = number(right);
    return how == EQ   ? a == b
           : how == NE ? a != b
           : how == GT ? a > b
           : how == GE ? a >= b
           : how == LT ? a < b
                       : a <= b;
}

static bool primary(void)
{
    int how = operator_at(at + 1);
    if (how < BINARY) { /* first: its operands may look like operators */
        const char *left = next();
        at++;
        return compare(left, how, next());
    }
    if (is("!") && at + 1 < end) {
        at++;
        return !primary();
    }
    if (is("(") && at + 1 < end) {
        at++;
        bool result = either();
        if (!is(")"))
            wrong("a closing parenthesis is missing");
        at++;
        return result;
    }
    const char *word = next();
    if (at == end || word[0] != '-' || !word[1] || word[2])
        return *word != 0;
    if (word[1] == 'z' || word[1] == 'n')
        return !**at++ == (word[1] == 'z');
    if (word[1] == 't')
        return isatty((int)number(next()));
    if (strchr("bcdefhLprswx", word[1]))
        return of_file(word[1], next());
    return true;
}

static bool both(void)
{
    bool result = primary();
    while (is("-a")) {
        at++;
        result &= primary();
    }
    return result;
}

static bool either(void)
{
    bool result = both();
    while (is("-o")) {
        at++;
        result |= both();
    }
    return result;
}

int main(int argc, char **argv)
{
    at = argv + 1;
    end = argv + argc;
    if (at == end)
        return 1;
    bool result = either();
    if (at < end) {
        fprintf(stderr, "test: %s is too much\n", *at);
        return WRONG;
    }
    return !result;
}
