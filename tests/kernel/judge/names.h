/* A tree with one of each kind of name, and all ways to write these: arguments for calls by path. */
#ifndef JUDGE_NAMES_H
#define JUDGE_NAMES_H

#include <dirent.h>

#include "judge.h"

/* f, g: files; d: a folder with a file x and a folder y; e: an empty one; l*: symbolic links; m: nothing. */
static const char *const judge_names[] = {"m", "f", "e", "d", "lf", "le", "ld", "lm", "ll"};
#define NAMES (sizeof judge_names / sizeof judge_names[0])
static const char *const judge_odd[] = {"",     ".",    "..",     "/",    "./f",     "f/x",     "m/x",  "d/x",
                                        "d/x/", "d/..", "d/../f", "d/.",  "e/.",     "f/.",     "f/..", "m/.",
                                        "ld/x", "lf/x", "ll/x",   "d//x", "lm/../f", "e/../d/x"};
#define ODD (sizeof judge_odd / sizeof judge_odd[0])

static inline void judge_file(const char *name)
{
    int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    if (fd < 0 || write(fd, name, strlen(name)) != (ssize_t)strlen(name))
        perror(name);
    close(fd);
}

/* A folder's names, and their contents, in one word each. */
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

#define JUDGE_MOST 128 /* names of a folder */

/* Removes a folder's names, and all below them, except the first `kept` of the names in `but`. */
static inline void judge_remove_but(const char *at, const char *const but[], unsigned kept)
{
    static char names[JUDGE_MOST][256];
    unsigned n = 0;
    DIR *d = opendir(at);
    for (struct dirent *e; d && n < JUDGE_MOST && (e = readdir(d));) {
        unsigned i = 0;
        while (i < kept && strcmp(e->d_name, but[i]))
            i++;
        if (i == kept && strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            strcpy(names[n++], e->d_name);
    }
    if (d)
        closedir(d);
    while (n--) {
        char path[512];
        struct stat s;
        snprintf(path, sizeof path, "%s/%s", at, names[n]);
        if (unlink(path) && !lstat(path, &s) && S_ISDIR(s.st_mode)) {
            judge_remove_but(path, 0, 0);
            if (rmdir(path))
                perror(path);
            judge_remove_but(at, but, kept); /* the recursion has overwritten the names */
            return;
        }
    }
}

/* Empties the family's own folder, and makes it the current one. */
static inline void judge_clean(void)
{
    judge_home();
    judge_remove_but(".", 0, 0);
}

static inline int judge_is(const char *path, mode_t type, off_t size)
{
    struct stat s;
    return !lstat(path, &s) && (s.st_mode & S_IFMT) == type &&
           (type == S_IFDIR || (s.st_nlink == 1 && s.st_size == size));
}

/* Makes the tree there, whatever was there: correct parts stay, as they take long to make. */
static inline void judge_tree(void)
{
    static const char *const top[] = {"f", "g", "d", "e", "lf", "le", "ld", "lm", "ll"}, *const in_d[] = {"x", "y"};
    static const char *const texts[] = {"f", "e", "d", "m", "ll"};
    judge_home();
    judge_remove_but(".", top, 9);
    for (unsigned i = 0; i < 9; i++) {
        int link = i >= 4, folder = i == 2 || i == 3;
        const char *text = texts[link ? i - 4 : 0];
        if (judge_is(top[i], link ? S_IFLNK : folder ? S_IFDIR : S_IFREG, link ? (off_t)strlen(text) : 1))
            continue;
        if (unlink(top[i]) && errno == EISDIR) {
            judge_remove_but(top[i], 0, 0);
            rmdir(top[i]);
        }
        if (link ? symlink(text, top[i]) : folder && mkdir(top[i], 0755))
            perror(top[i]);
        if (!link && !folder)
            judge_file(top[i]);
    }
    judge_remove_but("e", 0, 0);
    judge_remove_but("d", in_d, 2);
    if (!judge_is("d/x", S_IFREG, 3)) {
        unlink("d/x");
        judge_file("d/x");
    }
    if (judge_is("d/y", S_IFDIR, 0))
        judge_remove_but("d/y", 0, 0);
    else if (mkdir("d/y", 0755))
        perror("d/y");
}

static inline void judge_show_tree(const char *function, const char *what)
{
    char text[1024] = "";
    judge_below(".", text, sizeof text, 3);
    judge_say(function, what, "%s", text);
}
#define SHOW_TREE(what) judge_show_tree(__func__, what)
#endif
