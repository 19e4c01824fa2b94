/*
 * grep [-c] [-l] [-n] [-q] [-v] EXPRESSION [FILE...]: lines with a match of the basic regular expression; -c: how many,
 * -l: in which files, -n: with their numbers, -q: nothing, -v: those without. Exits with 0 if there was one, 1 if not,
 * 2 for errors.
 */
#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRONG 2

static bool flag[128];
static regex_t expression;
static const char *text; /* a pattern without special characters, searched literally: many times as fast */

static bool matches(const char *line)
{
    return text ? strstr(line, text) != 0 : !regexec(&expression, line, 0, 0, 0);
}

/* Whether a line of the file was selected. */
static bool search(FILE *file, const char *name, bool named)
{
    static char *line;
    static size_t room;
    unsigned long number = 0, found = 0;
    ssize_t n;
    while ((n = getline(&line, &room, file)) > 0) {
        number++;
        if (line[n - 1] == '\n')
            line[n - 1] = 0;
        if (matches(line) == flag['v'])
            continue;
        found++;
        if (flag['q'] || flag['l'])
            break;
        if (flag['c'])
            continue;
        if (named)
            printf("%s:", name);
        if (flag['n'])
            printf("%lu:", number);
        puts(line);
    }
    if (flag['l'] && found)
        puts(name);
    else if (flag['c'] && named)
        printf("%s:%lu\n", name, found);
    else if (flag['c'])
        printf("%lu\n", found);
    return found;
}

int main(int argc, char **argv)
{
    int first = 1;
    for (; first < argc && argv[first][0] == '-' && argv[first][1]; first++)
        for (const char *c = argv[first] + 1; *c; c++) {
            if (!strchr("clnqv", *c)) {
                fprintf(stderr, "grep: there is no -%c; give -c, -l, -n, -q, -v\n", *c);
                return WRONG;
            }
            flag[(unsigned char)*c] = true;
        }
    if (first == argc) {
        fputs("usage: grep [-clnqv] EXPRESSION [FILE...]\n", stderr);
        return WRONG;
    }
    int error = 0;
    if (!argv[first][strcspn(argv[first], "\\[]*.^$")])
        text = argv[first];
    else
        error = regcomp(&expression, argv[first], REG_NOSUB);
    if (error) {
        char why[80];
        regerror(error, &expression, why, sizeof why);
        fprintf(stderr, "grep: %s: %s\n", argv[first], why);
        return WRONG;
    }
    bool found = false, failed = false;
    if (++first == argc)
        found = search(stdin, "(standard input)", false);
    for (int i = first; i < argc; i++) {
        FILE *file = fopen(argv[i], "r");
        if (!file) {
            fprintf(stderr, "grep: %s: %s\n", argv[i], strerror(errno));
            failed = true;
            continue;
        }
        found |= search(file, argv[i], argc - first > 1);
        fclose(file);
    }
    return failed || fflush(stdout) ? WRONG : !found;
}
