/* A tree with one of each kind of name, and all ways to write these: what calls by path are made with. */
#ifndef JUDGE_NAMES_H
#define JUDGE_NAMES_H

#include <dirent.h>
#include <fcntl.h>

#include "judge.h"

/* f, g: files; d: a folder with a file x and a folder y; e: an empty one; l*: symbolic links; m: nothing. */
static const char *const judge_names[] = {"m", "f", "e", "d", "lf", "le", "ld", "lm", "ll"};
#define NAMES (sizeof judge_names / sizeof judge_names[0])
static const char *const judge_odd[] = {"",    ".",   "..",  "/",    "./f", "f/x",  "m/x",  "d/x",  "d/x/", "d/..",   "d/../f",
                                        "d/.", "e/.", "f/.", "f/..", "m/.", "ld/x", "lf/x", "ll/x", "d//x", "lm/../f", "e/../d/x"};
#define ODD (sizeof judge_odd / sizeof judge_odd[0])

static inline void judge_file(const char *name)
{
    int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    if (fd < 0 || write(fd, name, strlen(name)) != (ssize_t)strlen(name))
        perror(name);
    close(fd);
}

/* What a folder has, and what is in that, in one word each. */
static inline void judge_below(const char *at, char *to, unsigned size, int levels)
{
    char names[24][32];
    unsigned n = 0;
    DIR *d = opendir(at);
    for (struct dirent *e; d && (e = readdir(d)) && n < 24;)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            snprintf(names[n++], sizeof names[0], "%.31s", e->d_name);
    if (d)
        closedir(d);
    for (unsigned i = 0; i < n; i++) /* sorted */
        for (unsigned j = i + 1; j < n; j++)
            if (strcmp(names[j], names[i]) < 0) {
                char other[32];
                strcpy(other, names[i]);
                strcpy(names[i], names[j]);
                strcpy(names[j], other);
            }
    for (unsigned i = 0; i < n; i++) {
        char path[300];
        struct stat s;
        unsigned length = (unsigned)strlen(to);
        snprintf(path, sizeof path, "%.200s/%s", at, names[i]);
        if (lstat(path, &s))
            snprintf(to + length, size - length, " %s:%s", names[i], judge_error(errno));
        else if (S_ISREG(s.st_mode))
            snprintf(to + length, size - length, " %s:%ld,%u", names[i], (long)s.st_size, (unsigned)s.st_nlink);
        else if (S_ISLNK(s.st_mode))
            snprintf(to + length, size - length, " %s@%ld", names[i], (long)s.st_size);
        else
            snprintf(to + length, size - length, " %s/%u", names[i], (unsigned)s.st_nlink);
        if (S_ISDIR(s.st_mode) && levels) {
            length = (unsigned)strlen(to);
            snprintf(to + length, size - length, "(");
            judge_below(path, to, size, levels - 1);
            length = (unsigned)strlen(to);
            snprintf(to + length, size - length, ")");
        }
    }
}

static inline void judge_remove(const char *at)
{
    for (;;) { /* what is removed changes what comes next: from the beginning again */
        char path[512];
        struct stat s;
        path[0] = 0;
        DIR *d = opendir(at);
        for (struct dirent *e; d && (e = readdir(d));)
            if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
                snprintf(path, sizeof path, "%.250s/%.255s", at, e->d_name);
                break;
            }
        if (d)
            closedir(d);
        if (!path[0] || lstat(path, &s))
            return;
        if (S_ISDIR(s.st_mode))
            judge_remove(path);
        if (S_ISDIR(s.st_mode) ? rmdir(path) : unlink(path)) {
            perror(path);
            return;
        }
    }
}

/* In the current folder, whatever was there. */
static inline void judge_tree(void)
{
    judge_remove(".");
    judge_file("f");
    judge_file("g");
    if (mkdir("d", 0755) || mkdir("d/y", 0755) || mkdir("e", 0755) || symlink("f", "lf") || symlink("e", "le") ||
        symlink("d", "ld") || symlink("m", "lm") || symlink("ll", "ll"))
        perror("tree");
    judge_file("d/x");
}

static inline void judge_show_tree(const char *function, const char *what)
{
    char text[1024] = "";
    judge_below(".", text, sizeof text, 3);
    judge_say(function, what, "%s", text);
}
#define SHOW_TREE(what) judge_show_tree(__func__, what)
#endif
