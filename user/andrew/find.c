/*
 * find [PATH...] [-type f|d|l] [-name PATTERN] [-print] [-exec COMMAND [WORD...] ;]: each path and all below it, a
 * folder before its contents, in its order. Conditions and actions are evaluated from left to right, until one is
 * false; {} stands for the path; a command is true if it exits with 0. Without an action the path is printed.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_SIZE 512
#define MOST_WORDS 64
#define WRONG 2

static char **expression, **end;
static int status;

static int failed(const char *path)
{
    fprintf(stderr, "find: %s: %s\n", path, strerror(errno));
    return status = 1;
}

static _Noreturn void wrong(const char *what)
{
    fprintf(stderr, "find: %s\n", what);
    exit(WRONG);
}

/* The words between -exec and its semicolon; returns the latter's index. */
static char **command_end(char **at)
{
    char **word = at;
    while (word < end && strcmp(*word, ";"))
        word++;
    if (word == end || word == at || word - at >= MOST_WORDS)
        wrong("-exec wants a command, and a ; behind it");
    return word;
}

static bool execute(char **from, char **to, const char *path)
{
    char *words[MOST_WORDS];
    int n = 0, its = 1;
    for (; from < to; from++)
        words[n++] = strcmp(*from, "{}") ? *from : (char *)path;
    words[n] = 0;
    fflush(stdout);
    pid_t id = vfork();
    if (!id) {
        execvp(words[0], words);
        _exit(127);
    }
    if (id < 0 || waitpid(id, &its, 0) < 0) {
        failed(words[0]);
        return false;
    }
    return !its;
}

static bool is_type(char type, mode_t mode)
{
    switch (type) {
    case 'f': return S_ISREG(mode);
    case 'd': return S_ISDIR(mode);
    case 'l': return S_ISLNK(mode);
    default: wrong("-type is f, d or l");
    }
}

static void apply(const char *path, mode_t mode)
{
    const char *slash = strrchr(path, '/');
    bool acted = false;
    for (char **at = expression; at < end; at++) {
        if (!strcmp(*at, "-print")) {
            puts(path);
            acted = true;
        } else if (!strcmp(*at, "-exec")) {
            char **last = command_end(++at);
            if (!execute(at, last, path))
                return;
            at = last;
            acted = true;
        } else if (at + 1 < end && !strcmp(*at, "-type")) {
            if (!is_type(**++at, mode))
                return;
        } else if (at + 1 < end && !strcmp(*at, "-name")) {
            if (fnmatch(*++at, slash && slash[1] ? slash + 1 : path, 0))
                return;
        } else {
            wrong("conditions are -type and -name, each with a word; actions -print and -exec");
        }
    }
    if (!acted)
        puts(path);
}

static void walk(const char *path)
{
    struct stat s;
    char below[PATH_SIZE];
    if (lstat(path, &s)) {
        failed(path);
        return;
    }
    apply(path, s.st_mode);
    if (!S_ISDIR(s.st_mode))
        return;
    DIR *d = opendir(path);
    if (!d) {
        failed(path);
        return;
    }
    for (struct dirent *e; (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        walk(below);
    }
    closedir(d);
}

int main(int argc, char **argv)
{
    int paths = 1;
    while (paths < argc && argv[paths][0] != '-')
        paths++;
    expression = argv + paths;
    end = argv + argc;
    if (paths == 1)
        walk(".");
    for (int i = 1; i < paths; i++)
        walk(argv[i]);
    return fflush(stdout) ? 1 : status;
}
