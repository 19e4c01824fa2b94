/*
 * rename: every kind of name to every other, with and without a slash at its end; below itself; over open files; in
 * loops.
 */
#include "names.h"

static void rename_one(const char *from, const char *to)
{
    char what[160];
    snprintf(what, sizeof what, "rename(\"%s\", \"%s\")", from, to);
    if (SHOW_AS(what, rename(from, to)) == 0) {
        SHOW_TREE("left");
        judge_tree();
    }
}

static void every_kind(void)
{
    char from[16], to[16];
    judge_tree();
    for (unsigned i = 0; i < 2 * NAMES; i++)
        for (unsigned j = 0; j < 2 * NAMES; j++) {
            snprintf(from, sizeof from, "%s%s", judge_names[i / 2], i % 2 ? "/" : "");
            snprintf(to, sizeof to, "%s%s", judge_names[j / 2], j % 2 ? "/" : "");
            if (TAKEN)
                rename_one(from, to);
        }
    SHOW_TREE("nothing else");
}

static void odd_names(void)
{
    judge_tree();
    for (unsigned i = 0; i < ODD; i++) {
        if (TAKEN)
            rename_one(judge_odd[i], "new");
        if (TAKEN)
            rename_one("f", judge_odd[i]);
        if (TAKEN)
            rename_one("e", judge_odd[i]);
    }
    for (unsigned i = 0; i < ODD && judge_part == 1; i++)
        for (unsigned j = 0; j < ODD; j++)
            rename_one(judge_odd[i], judge_odd[j]);
    SHOW_TREE("nothing else");
}

/* Folders within folders: a folder may not move below itself. */
static void folders(void)
{
    static const char *const all[] = {"a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e", "a/n",   "a/b/n",     "a/b/../n",
                                      "p", "p/q", "p/n",   "p/q/n",   "a/b/c/",    "a/./b", "a/b/c/../", "p/../a"};
    unsigned n = sizeof all / sizeof all[0];
    struct stat before, after;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < n; j++) {
            char what[96];
            if (!TAKEN)
                continue;
            judge_clean();
            if (mkdir("a", 0755) || mkdir("a/b", 0755) || mkdir("a/b/c", 0755) || mkdir("a/b/c/d", 0755) ||
                mkdir("p", 0755) || mkdir("p/q", 0755))
                perror("folders");
            int there = !stat(all[i], &before);
            snprintf(what, sizeof what, "rename(\"%s\", \"%s\")", all[i], all[j]);
            if (SHOW_AS(what, rename(all[i], all[j])))
                continue;
            SHOW_TREE("left");
            char up[64];
            snprintf(up, sizeof up, "%s/..", all[j]);
            SHOW_IF(there && !stat(all[j], &after) && before.st_ino == after.st_ino);
            SHOW_AS("from there up", stat(up, &after));
        }
}

/* An open file stays the same; the file that had the name is gone, or not. */
static void open_files(void)
{
    char back[8];
    struct stat s;
    judge_clean();
    judge_file("old");
    judge_file("new");
    int old = open("old", O_RDWR), new = open("new", O_RDWR);
    SHOW(rename("old", "new"));
    SHOW(fstat(new, &s));
    SAY("links of what was new", "%u", (unsigned)s.st_nlink);
    SHOW(fstat(old, &s));
    SAY("links of what was old", "%u", (unsigned)s.st_nlink);
    SHOW(pread(new, back, 3, 0));
    SHOW_BYTES("what was new", back, 3);
    SHOW(pwrite(old, "OLD", 3, 0));
    close(old);
    close(new);
    int fd = open("new", O_RDONLY);
    SHOW(read(fd, back, 8));
    SHOW_BYTES("by its name", back, 3);
    close(fd);
    SHOW(link("new", "other"));
    SHOW(rename("new", "other"));
    SHOW(access("new", F_OK));
    SHOW(access("other", F_OK));
    SHOW(rename("new", "new"));
    SHOW(unlink("new"));
    SHOW(rename("new", "new"));
    SHOW(mkdir("d", 0755));
    int d = open("d", O_RDONLY);
    SHOW(rename("d", "moved"));
    SHOW(fchdir(d));
    judge_file("in it");
    SHOW(rename("in it", "../out"));
    SHOW(rename("../out", "../moved/in"));
    SHOW(rename("../moved", "../moved/x"));
    SHOW(rename(".", "../x"));
    SHOW(rename("../moved", "."));
    SHOW(rename("..", "x"));
    SHOW(chdir(".."));
    close(d);
    SHOW_TREE("left");
    SHOW(rename(0, "x"));
    SHOW(rename("other", NOWHERE));
}

static void links_of_folders(void)
{
    struct stat s;
    judge_clean();
    SHOW(mkdir("a", 0755) | mkdir("b", 0755) | mkdir("a/x", 0755) | mkdir("a/y", 0755) | mkdir("b/y", 0755));
    for (unsigned round = 0; round < 3; round++) {
        static const char *const from[] = {"a/x", "b/x", "a/y"}, *const to[] = {"b/x", "a/x", "b/y"};
        SHOW_AS(from[round], rename(from[round], to[round]));
        stat("a", &s);
        SAY("links of a", "%u", (unsigned)s.st_nlink);
        stat("b", &s);
        SAY("links of b", "%u", (unsigned)s.st_nlink);
        SHOW_TREE("left");
    }
    SHOW(rmdir("b"));
    SHOW(rmdir("b/y"));
    SHOW(rmdir("b"));
    SHOW(rmdir("a/x"));
    SHOW(rmdir("a"));
}

static void many(void)
{
    char from[16], to[16];
    unsigned wrong = 0;
    judge_clean();
    for (unsigned i = 0; i < 24; i++) {
        snprintf(from, sizeof from, "%u", i);
        judge_file(from);
    }
    for (unsigned i = 0; i < 200 / judge_part; i++) { /* over others, and to unused names */
        snprintf(from, sizeof from, "%u", i * 7 % 31);
        snprintf(to, sizeof to, "%u", i * 11 % 31);
        wrong += rename(from, to) && errno != ENOENT;
    }
    SHOW(wrong);
    SHOW_TREE("left");
}

int main(int argc, char **argv)
{
    judge_begin(argc, argv);
    every_kind();
    odd_names();
    folders();
    open_files();
    links_of_folders();
    many();
    return 0;
}
