/*
 * Links, symbolic links, and names that come and go: link, symlink, readlink, unlink, mkdir, rmdir, stat on every kind
 * of name.
 */
#include <limits.h>

#include "names.h"

static char target[5000];

static int made_link(const char *path)
{
    return link("f", path);
}

static int linked(const char *path)
{
    return link(path, "new");
}

static int made_symlink(const char *path)
{
    return symlink("to", path);
}

static int made_folder(const char *path)
{
    return mkdir(path, 0755);
}

static int read_to(const char *path)
{
    memset(target, '?', 8);
    int n = (int)readlink(path, target, 8);
    if (n >= 0)
        judge_bytes("read_to", path, target, n);
    return n;
}

static int changed(const char *path)
{
    return chmod(path, 0700);
}

static int told(const char *path)
{
    struct stat s;
    int error = stat(path, &s);
    if (!error)
        judge_say("told", path, "%#o, %u", (unsigned)s.st_mode & S_IFMT,
                  S_ISDIR(s.st_mode) ? 0u : (unsigned)s.st_nlink);
    return error;
}

static int told_of_link(const char *path)
{
    struct stat s;
    int error = lstat(path, &s);
    if (!error)
        judge_say("told", path, "%#o, %u", (unsigned)s.st_mode & S_IFMT,
                  S_ISDIR(s.st_mode) ? 0u : (unsigned)s.st_nlink);
    return error;
}

static int entered(const char *path)
{
    int home = open(".", O_RDONLY), error = chdir(path), number = errno;
    if (fchdir(home))
        perror("fchdir");
    close(home);
    errno = number;
    return error;
}

static const struct {
    const char *name;
    int (*call)(const char *path);
    int changes;
} calls[] = {{"link to", made_link, 1}, {"link of", linked, 1}, {"symlink", made_symlink, 1},
             {"mkdir", made_folder, 1}, {"unlink", unlink, 1},  {"rmdir", rmdir, 1},
             {"readlink", read_to, 0},  {"stat", told, 0},      {"lstat", told_of_link, 0},
             {"chmod", changed, 0},     {"chdir", entered, 0}};

static void every_kind(void)
{
    static const char *const behind[] = {"", "/", "//", "/."};
    judge_tree();
    for (unsigned c = 0; c < sizeof calls / sizeof calls[0]; c++)
        for (unsigned n = 0; n < 4 * NAMES + ODD; n++) {
            char path[32], what[64];
            if (n < 4 * NAMES)
                snprintf(path, sizeof path, "%s%s", judge_names[n / 4], behind[n % 4]);
            else
                strcpy(path, judge_odd[n - 4 * NAMES]);
            if (!TAKEN)
                continue;
            if (!strcmp(path, "..") && c != 9)
                continue; /* it is the runner's */
            snprintf(what, sizeof what, "%s \"%s\"", calls[c].name, path);
            if (SHOW_AS(what, calls[c].call(path)) >= 0 && calls[c].changes) {
                SHOW_TREE("left");
                judge_tree();
            }
        }
    SHOW_TREE("nothing else");
}

/* Texts of every length, into buffers of every length. */
static void texts(void)
{
    static const unsigned lengths[] = {1, 59, 60, 61, 200, 254, 255, 256, 300, 1000, 1023, 1024, 4095, 4096};
    static char text[5000];
    struct stat s;
    judge_clean();
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char what[64];
        memset(text, 't', lengths[i]);
        text[lengths[i]] = 0;
        snprintf(what, sizeof what, "a text of %u", lengths[i]);
        int made = !SHOW_AS(what, symlink(text, "l"));
        if (lengths[i] > 255) { /* not all systems allow them */
            if (made)
                unlink("l");
            continue;
        }
        SHOW_AS("lstat", lstat("l", &s));
        SAY("size", "%ld", (long)s.st_size);
        SHOW_AS("readlink", readlink("l", target, sizeof target));
        SHOW_AS("readlink of one less", readlink("l", target, lengths[i] - 1));
        SHOW_AS("readlink of as many", readlink("l", target, lengths[i]));
        SHOW_AS("open", open("l", O_RDONLY));
        SHOW_AS("unlink", unlink("l"));
    }
    SHOW(symlink("", "l"));
    SHOW(symlink("x", "l"));
    SHOW(symlink("y", "l"));
    SHOW(readlink("l", target, 0));
    SHOW(readlink("l", NOWHERE, 1));
    SHOW(readlink("m", target, 1));
    SHOW(readlink(".", target, 1));
    SHOW(symlink(NOWHERE, "l2"));
    SHOW(link("l", "hard"));
    SHOW(lstat("hard", &s));
    SHOW_IF(S_ISLNK(s.st_mode));
    SAY("links", "%u", (unsigned)s.st_nlink);
}

/* How many links a path may go through, and where loops end. */
static void chains(void)
{
    char from[16], to[16];
    judge_clean();
    judge_file("0");
    for (unsigned i = 1; i < 12; i++) {
        snprintf(from, sizeof from, "%u", i);
        snprintf(to, sizeof to, "%u", i - 1);
        if (symlink(to, from))
            perror("chains");
    }
    for (unsigned i = 0; i < 9; i++) {
        snprintf(from, sizeof from, "%u", i);
        SHOW_AS(from, access(from, F_OK));
    }
    SHOW(symlink("b", "a") | symlink("a", "b"));
    SHOW(access("a", F_OK));
    SHOW(access("a/x", F_OK));
    SHOW(open("a", O_CREAT | O_WRONLY, 0644));
    SHOW(open("a", O_CREAT | O_EXCL | O_WRONLY, 0644));
    SHOW(mkdir("a", 0755));
    SHOW(unlink("a"));
    SHOW(access("b", F_OK));
    SHOW(mkdir("d", 0755) | symlink("..", "d/up") | symlink("/", "d/root"));
    SHOW(access("d/up/0", F_OK));
    SHOW(access("d/up/d/up/d/up/0", F_OK));
    SHOW(access("d/root/", F_OK));
    SHOW(symlink("m2", "dangling"));
    int fd = (int)SHOW(open("dangling", O_CREAT | O_WRONLY, 0644));
    close(fd);
    SHOW(access("m2", F_OK));
    SHOW(symlink("m3/", "dangling3"));
    SHOW(open("dangling3", O_CREAT | O_WRONLY, 0644));
    SHOW(mkdir("dangling3", 0755));
    SHOW(symlink("d/", "slash"));
    SHOW(access("slash", F_OK));
    SHOW(access("slash/up", F_OK));
    SHOW(open("slash", O_RDONLY | O_NOFOLLOW));
    SHOW(open("slash/", O_RDONLY | O_NOFOLLOW | O_WRONLY));
    SHOW(symlink("0/", "file with a slash"));
    SHOW(access("file with a slash", F_OK));
}

static void counts(void)
{
    struct stat s, t;
    judge_clean();
    judge_file("f");
    for (unsigned i = 0; i < 5; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%u", i);
        SHOW_AS(name, link(i % 2 ? "n0" : "f", name));
        stat("f", &s);
        SAY("links", "%u", (unsigned)s.st_nlink);
    }
    SHOW(stat("n4", &t));
    SHOW_IF(s.st_ino == t.st_ino && s.st_dev == t.st_dev);
    SHOW(unlink("f"));
    SHOW(stat("n4", &t));
    SAY("links", "%u", (unsigned)t.st_nlink);
    int fd = open("n4", O_RDWR);
    for (unsigned i = 0; i < 5; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%u", i);
        SHOW_AS(name, unlink(name));
        fstat(fd, &s);
        SAY("links", "%u", (unsigned)s.st_nlink);
    }
    SHOW(fchmod(fd, 0600));
    SHOW(write(fd, "x", 1));
    SHOW(close(fd));
    SHOW_TREE("left");
    SHOW(link("m", "n"));
    SHOW(mkdir("d", 0755));
    SHOW(link("d", "n"));
    SHOW(link("d", "d"));
    SHOW(link("d/.", "n"));
    SHOW(mknod("node", S_IFREG | 0644, 0));
    SHOW(mknod("node", S_IFREG | 0644, 0));
    SHOW(mknod("node/", S_IFREG | 0644, 0));
    SHOW(mknod("m/", S_IFREG | 0644, 0));
    SHOW(unlink("node"));
}

int main(int argc, char **argv)
{
    judge_begin(argc, argv);
    every_kind();
    texts();
    chains();
    counts();
    return 0;
}
