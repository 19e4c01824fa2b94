/* Times of files: which call changes which, and what utime and utimes take. */
#include <sys/mman.h>
#include <sys/time.h>
#include <utime.h>

#include "names.h"

#define OLD_A 1000
#define OLD_M 2000

static int fd, other;
static char back[64];

static int reads(void)
{
    return (int)read(fd, back, 3);
}
static int reads_nothing(void)
{
    return (int)read(fd, back, 0);
}
static int reads_at_the_end(void)
{
    return (int)pread(fd, back, 3, 5000);
}
static int reads_at(void)
{
    return (int)pread(fd, back, 3, 0);
}
static int writes(void)
{
    return (int)write(fd, "xyz", 3);
}
static int writes_nothing(void)
{
    return (int)write(fd, "", 0);
}
static int writes_from_nowhere(void)
{
    return (int)write(fd, NOWHERE, 3);
}
static int reads_to_nowhere(void)
{
    return (int)read(fd, NOWHERE, 3);
}
static int writes_at(void)
{
    return (int)pwrite(fd, "xyz", 3, 0);
}
static int cuts(void)
{
    return ftruncate(fd, 2);
}
static int cuts_to_the_same(void)
{
    struct stat s;
    fstat(fd, &s);
    return ftruncate(fd, s.st_size);
}
static int grows(void)
{
    return ftruncate(fd, 3000);
}
static int opens(void)
{
    return close(open("f", O_RDWR));
}
static int opens_and_cuts(void)
{
    return close(open("f", O_RDWR | O_TRUNC));
}
static int changes_mode(void)
{
    return chmod("f", 0600);
}
static int changes_mode_by_descriptor(void)
{
    return fchmod(fd, 0600);
}
static int gives_away(void)
{
    return chown("f", (uid_t)-1, (gid_t)-1);
}
static int links_it(void)
{
    return link("f", "l");
}
static int unlinks_one(void)
{
    link("f", "l");
    return unlink("l");
}
static int renames(void)
{
    return rename("f", "f2") | rename("f2", "f");
}
static int seeks(void)
{
    return (int)lseek(fd, 1, SEEK_SET);
}
static int duplicates(void)
{
    return dup2(fd, other);
}
static int syncs(void)
{
    return fsync(fd);
}
static int looks(void)
{
    struct stat s;
    return stat("f", &s) | access("f", R_OK);
}

static const struct {
    const char *name;
    int (*call)(void);
} of_files[] = {
#define C(name) {#name, name}
    C(reads),
    C(reads_nothing),
    C(reads_at_the_end),
    C(reads_at),
    C(writes),
    C(writes_nothing),
    C(writes_from_nowhere),
    C(reads_to_nowhere),
    C(writes_at),
    C(cuts),
    C(cuts_to_the_same),
    C(grows),
    C(opens),
    C(opens_and_cuts),
    C(changes_mode),
    C(changes_mode_by_descriptor),
    C(gives_away),
    C(links_it),
    C(unlinks_one),
    C(renames),
    C(seeks),
    C(duplicates),
    C(syncs),
    C(looks),
};

static void set_old(const char *path)
{
    struct timeval old[2] = {{.tv_sec = OLD_A}, {.tv_sec = OLD_M}};
    if (utimes(path, old))
        perror("utimes");
}

/* Which of a file's times have changed. */
static void show_changes(const char *function, const char *what, const char *path, time_t changed)
{
    struct stat s;
    stat(path, &s);
    judge_say(function, what, "%s%s%s", s.st_atime == OLD_A ? "" : "a", s.st_mtime == OLD_M ? "" : "m",
              s.st_ctime == changed ? "" : "c");
}

/* All of them after one sleep, as only the clock shows a change of status: each has its own file. */
static void files(void)
{
    enum { CALLS = sizeof of_files / sizeof of_files[0] };
    struct stat s[CALLS];
    int results[CALLS];
    char name[32];
    judge_clean();
    for (unsigned i = 0; i < CALLS; i++) {
        snprintf(name, sizeof name, "%u", i);
        SHOW_AS(of_files[i].name, mkdir(name, 0755) | chdir(name));
        judge_file("f");
        set_old("f");
        if (stat("f", &s[i]) || chdir(".."))
            perror(name);
    }
    sleep(1);
    usleep(100000); /* a system's clock for file times may be late by its tick */
    for (unsigned i = 0; i < CALLS; i++) {
        snprintf(name, sizeof name, "%u", i);
        if (chdir(name))
            perror(name);
        fd = open("f", O_RDWR);
        other = fd + 5;
        results[i] = of_files[i].call();
        close(fd);
        close(other);
        SAY(of_files[i].name, "%d", results[i] > 0 && of_files[i].call == duplicates ? 0 : results[i]);
        show_changes(__func__, of_files[i].name, "f", s[i].st_ctime);
        if (chdir(".."))
            perror("..");
    }
}

static int makes_a_file(void)
{
    return close(open("d/new", O_CREAT | O_WRONLY, 0644));
}
static int opens_a_file(void)
{
    return close(open("d/f", O_CREAT | O_WRONLY, 0644));
}
static int writes_a_file(void)
{
    int to = open("d/f", O_WRONLY), n = (int)write(to, "x", 1);
    close(to);
    return n;
}
static int removes_a_file(void)
{
    return unlink("d/f");
}
static int removes_none(void)
{
    return unlink("d/m");
}
static int makes_a_folder(void)
{
    return mkdir("d/new", 0755);
}
static int makes_one_that_is_there(void)
{
    return mkdir("d/f", 0755);
}
static int makes_a_link(void)
{
    return symlink("x", "d/new");
}
static int links_into_it(void)
{
    return link("g", "d/new");
}
static int renames_in_it(void)
{
    return rename("d/f", "d/new");
}
static int renames_out_of_it(void)
{
    return rename("d/f", "new");
}
static int renames_into_it(void)
{
    return rename("g", "d/g");
}
static int renames_over(void)
{
    return rename("g", "d/f");
}
static int renames_it(void)
{
    return rename("d", "d2") | rename("d2", "d");
}
static int looks_through_it(void)
{
    return access("d/f", F_OK);
}
static int lists_it(void)
{
    int n = 0;
    DIR *d = opendir("d");
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void folders(void)
{
    static const struct {
        const char *name;
        int (*call)(void);
    } calls[] = {C(makes_a_file),  C(opens_a_file),   C(writes_a_file),           C(removes_a_file),
                 C(removes_none),  C(makes_a_folder), C(makes_one_that_is_there), C(makes_a_link),
                 C(links_into_it), C(renames_in_it),  C(renames_out_of_it),       C(renames_into_it),
                 C(renames_over),  C(renames_it),     C(looks_through_it),        C(lists_it)};
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct stat s;
        judge_clean();
        if (mkdir("d", 0755))
            perror("d");
        judge_file("d/f");
        judge_file("g");
        set_old("d");
        int result = calls[i].call();
        SAY(calls[i].name, "%d", result);
        stat("d", &s);
        char what[64];
        snprintf(what, sizeof what, "the folder, %s", calls[i].name);
        SAY(what, "%s%s", s.st_atime == OLD_A ? "" : "a", s.st_mtime == OLD_M ? "" : "m");
    }
}

static void set_times(void)
{
    static const struct {
        long seconds, microseconds;
    } all[] = {{0, 0},          {1, 0},       {1, 999999},          {1, 1000000},
               {1, -1},         {1, 1000001}, {1000000000, 5},      {2000000000, 0},
               {2147483647, 0}, {-1, 0},      {-2147483647 - 1, 0}, {1, -1000000},
               {86400, 999999}};
    struct stat s;
    judge_tree();
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        for (unsigned which = 0; which < 2; which++) {
            struct timeval to[2] = {{.tv_sec = 5}, {.tv_sec = 6}};
            char what[64];
            to[which].tv_sec = all[i].seconds;
            to[which].tv_usec = all[i].microseconds;
            snprintf(what, sizeof what, "%ld, %ld as number %u", all[i].seconds, all[i].microseconds, which);
            SHOW_AS(what, utimes("f", to));
            SHOW_AS("stat", stat("f", &s));
            SAY("times", "%lld %lld", (long long)s.st_atime, (long long)s.st_mtime);
        }
    struct utimbuf both = {.actime = 77, .modtime = 88};
    SHOW(utime("f", &both));
    SHOW(stat("f", &s));
    SAY("times", "%lld %lld", (long long)s.st_atime, (long long)s.st_mtime);
    SHOW(utimes("f", 0));
    SHOW(stat("f", &s));
    SHOW_IF(s.st_atime != 77 && s.st_mtime != 88 && s.st_atime == s.st_mtime);
    SHOW(utime("f", 0));
    struct timeval good[2] = {{.tv_sec = 5}, {.tv_sec = 6}};
    for (unsigned n = 0; n < 2 * NAMES + ODD; n++) {
        char path[64], what[96];
        if (n < 2 * NAMES)
            snprintf(path, sizeof path, "%s%s", judge_names[n / 2], n % 2 ? "/" : "");
        else
            strcpy(path, judge_odd[n - 2 * NAMES]);
        if (!strcmp(path, "/") || !strcmp(path, "..") || !TAKEN)
            continue; /* they are others' */
        snprintf(what, sizeof what, "utimes(\"%s\")", path);
        SHOW_AS(what, utimes(path, good));
    }
    SHOW(lstat("lf", &s));
    SHOW_IF(s.st_mtime == 6);
}

/* Stores through a mapping. */
static void mapped(void)
{
    struct stat s;
    judge_clean();
    judge_file("f");
    fd = open("f", O_RDWR);
    char *at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    SHOW_IF(at != MAP_FAILED);
    set_old("f");
    at[0] = 'm';
    SHOW(msync(at, 4096, MS_SYNC));
    stat("f", &s);
    SHOW_IF(s.st_mtime != OLD_M);
    SHOW(munmap(at, 4096));
    SHOW(close(fd));
    SHOW(pread(open("f", O_RDONLY), back, 2, 0));
    SHOW_BYTES("what is in it", back, 1);
}

int main(int argc, char **argv)
{
    judge_begin(argc, argv);
    files();
    folders();
    set_times();
    mapped();
    return 0;
}
