/* Directories: what reads return while they change, folders that are removed, where the current one is. */
#include <sys/wait.h>

#include "names.h"

#define MOST 64

/* Names that the stream has from here on, sorted. */
static void show_rest(const char *what, DIR *d)
{
    char names[MOST][16], text[MOST * 17] = "";
    unsigned n = 0;
    for (struct dirent *e; (e = readdir(d)) && n < MOST;)
        snprintf(names[n++], sizeof names[0], "%.15s", e->d_name);
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = i + 1; j < n; j++)
            if (strcmp(names[j], names[i]) < 0) {
                char other[16];
                memcpy(other, names[i], sizeof other);
                memcpy(names[i], names[j], sizeof other);
                memcpy(names[j], other, sizeof other);
            }
    for (unsigned i = 0; i < n; i++) {
        strcat(text, i ? " " : "");
        strcat(text, names[i]);
    }
    SAY(what, "%s", text);
}

static void streams(void)
{
    judge_tree();
    DIR *d = opendir(".");
    SHOW_IF(d != 0);
    SHOW(fcntl(dirfd(d), F_GETFD));
    SHOW(fcntl(dirfd(d), F_GETFL) & O_ACCMODE);
    show_rest("all", d);
    SHOW_POINTER(readdir(d));
    rewinddir(d);
    show_rest("again", d);
    judge_file("later");
    SHOW(unlink("g"));
    rewinddir(d);
    show_rest("changed", d);
    SHOW(closedir(d));
    d = opendir(".");
    for (struct dirent *e; (e = readdir(d));) {
        struct stat s;
        lstat(e->d_name, &s);
        if (strcmp(e->d_name, "..")) /* its number, and its type twice */
            SHOW_AS("what is right of an entry", (s.st_ino == e->d_ino) +
                                                     2 * (S_ISDIR(s.st_mode) == (e->d_type == DT_DIR)) +
                                                     4 * (S_ISLNK(s.st_mode) == (e->d_type == DT_LNK)));
    }
    SHOW(closedir(d));
    SHOW_POINTER(opendir("f"));
    SHOW_POINTER(opendir("f/"));
    SHOW_POINTER(opendir("m"));
    SHOW_POINTER(opendir(""));
    SHOW_POINTER(opendir("ll"));
    SHOW_POINTER(opendir("lm"));
    d = opendir("ld");
    show_rest("by a link", d);
    SHOW(closedir(d));
    int fd = open("d", O_RDONLY);
    d = fdopendir(fd);
    SHOW_IF(dirfd(d) == fd);
    show_rest("of a descriptor", d);
    SHOW(closedir(d));
    SHOW(close(fd));
    fd = open("f", O_RDONLY);
    SHOW_POINTER(fdopendir(fd));
    SHOW(close(fd));
    SHOW_POINTER(fdopendir(fd));
    SHOW_POINTER(fdopendir(-1));
}

/* Each name that exists all the time is read once, whatever others are made and removed meanwhile. */
static void changed_while_read(void)
{
    for (unsigned way = 0; way < 4; way++) {
        char name[24];
        unsigned seen[12] = {0}, wrong = 0, first = 0;
        judge_clean();
        for (unsigned i = 0; i < 12; i++) {
            snprintf(name, sizeof name, "stays-%u", i);
            judge_file(name);
            snprintf(name, sizeof name, "goes-%u", i);
            judge_file(name);
        }
        DIR *d = opendir(".");
        for (struct dirent *e; (e = readdir(d));) {
            unsigned i;
            if (sscanf(e->d_name, "stays-%u", &i) == 1 && i < 12)
                seen[i]++;
            snprintf(name, sizeof name, "goes-%u", first);
            if (way == 1)
                unlink(name);
            snprintf(name, sizeof name, "comes-%u", first % 50);
            if (way == 2)
                judge_file(name);
            if (way == 3) {
                char from[24];
                snprintf(from, sizeof from, "goes-%u", first);
                rename(from, name);
            }
            first++;
        }
        closedir(d);
        for (unsigned i = 0; i < 12; i++)
            wrong += seen[i] != 1;
        char what[24];
        snprintf(what, sizeof what, "way %u", way);
        SHOW_AS(what, wrong);
    }
    DIR *d = opendir("."); /* removes all names that it reads */
    unsigned left = 0;
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.')
            unlink(e->d_name);
    rewinddir(d);
    while (readdir(d))
        left++;
    SHOW(left);
    closedir(d);
}

static void removed_folders(void)
{
    struct stat s;
    char text[64];
    int home = open(".", O_RDONLY);
    judge_clean();
    SHOW(mkdir("d", 0755));
    DIR *d = opendir("d");
    int fd = open("d", O_RDONLY);
    SHOW(rmdir("d"));
    show_rest("a removed one", d);
    rewinddir(d);
    show_rest("from its beginning", d);
    SHOW(closedir(d));
    SHOW(fstat(fd, &s));
    SAY("links", "%u", (unsigned)s.st_nlink);
    SHOW(fchdir(fd));
    SHOW_POINTER(getcwd(text, sizeof text));
    SHOW(access(".", F_OK));
    SHOW(access("..", F_OK));
    SHOW(open("f", O_CREAT | O_WRONLY, 0644));
    SHOW(mkdir("x", 0755));
    SHOW(link("/", "x"));
    SHOW(symlink("a", "x"));
    SHOW(open("f", O_RDONLY));
    SHOW(rename("f", "g"));
    SHOW(rmdir("../d"));
    SHOW(rmdir("."));
    SHOW(chdir("."));
    SHOW(fchdir(home));
    SHOW(close(fd));
    close(home);
    SHOW(mkdir("d", 0755) | mkdir("d/e", 0755));
    SHOW(chdir("d/e"));
    SHOW(rmdir("../e"));
    SHOW(chdir(".."));
    SHOW(access("../d", F_OK));
}

static void places(void)
{
    char text[256], all[256];
    judge_clean();
    SHOW_IF(getcwd(all, sizeof all) == all);
    const char *end = strrchr(all, '/');
    SAY("the end of the way", "%s", end);
    SHOW(mkdir("d", 0755) | mkdir("d/e", 0755) | symlink("d/e", "l"));
    SHOW(chdir("l"));
    SHOW_IF(getcwd(text, sizeof text) == text);
    SAY("behind", "%s", text + strlen(all));
    SHOW(chdir("../.."));
    SHOW_IF(getcwd(text, sizeof text) && !strcmp(text, all));
    SHOW_POINTER(getcwd(text, 0));
    SHOW_POINTER(getcwd(text, 2));
    SHOW_POINTER(getcwd(text, strlen(all)));
    SHOW_POINTER(getcwd(text, strlen(all) + 1));
    judge_file("f");
    SHOW(chdir("f"));
    SHOW(chdir("m"));
    SHOW(chdir(""));
    SHOW(chdir("f/"));
    SHOW(chdir(NOWHERE));
    int fd = open("f", O_RDONLY);
    SHOW(fchdir(fd));
    SHOW(close(fd));
    SHOW(fchdir(fd));
    SHOW(fchdir(-1));
    fd = open("d", O_RDONLY);
    int status;
    fflush(stdout);
    if (!fork()) {
        SHOW(fchdir(fd));
        SHOW(access("e", F_OK));
        fflush(stdout);
        _exit(0);
    }
    SHOW_IF(wait(&status) > 0);
    SHOW_STATUS("child", status);
    SHOW(access("e", F_OK));
    SHOW(close(fd));
    SHOW(chdir("/"));
    SHOW_IF(getcwd(text, sizeof text) && !strcmp(text, "/"));
    SHOW(chdir(".."));
    SHOW_IF(getcwd(text, sizeof text) && !strcmp(text, "/"));
    SHOW(chdir(all));
}

static void as_files(void)
{
    char back[16];
    struct stat s;
    judge_clean();
    SHOW(mkdir("d", 0755));
    int fd = (int)SHOW(open("d", O_RDONLY));
    SHOW(read(fd, back, 1));
    SHOW(read(fd, back, 0));
    SHOW(pread(fd, back, 1, 0));
    SHOW(write(fd, back, 1));
    SHOW(ftruncate(fd, 0));
    SHOW(truncate("d", 0));
    SHOW(fsync(fd));
    SHOW(fchmod(fd, 0700));
    SHOW(fstat(fd, &s));
    SAY("mode", "%#o", (unsigned)s.st_mode);
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(close(fd));
    SHOW(open("d", O_WRONLY));
    SHOW(open("d", O_RDWR));
    SHOW(open("d", O_RDONLY | O_TRUNC));
    SHOW(open("d", O_RDONLY | O_CREAT, 0644));
    SHOW(open("d", O_RDONLY | O_CREAT | O_EXCL, 0644));
    SHOW(open("d/", O_RDONLY | O_CREAT, 0644));
    SHOW(open(".", O_RDONLY | O_CREAT, 0644));
    SHOW(open("..", O_WRONLY | O_CREAT, 0644));
    SHOW(unlink("d"));
    SHOW(rmdir("d"));
}

static void counts(void)
{
    struct stat s;
    char name[16];
    judge_clean();
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "d%u", i);
        SHOW_AS(name, mkdir(name, 0755));
        judge_file(name + 1);
    }
    stat(".", &s);
    SAY("links", "%u", (unsigned)s.st_nlink);
    for (unsigned i = 0; i < 20; i += 3) {
        snprintf(name, sizeof name, "d%u", i);
        SHOW_AS(name, rmdir(name));
    }
    stat(".", &s);
    SAY("links", "%u", (unsigned)s.st_nlink);
    SHOW(rmdir("d1/."));
    SHOW(rmdir("d1/.."));
    SHOW(rmdir("."));
    SHOW(rmdir("d1//"));
    SHOW(rmdir("1"));
    SHOW(rmdir("1/"));
    SHOW(rmdir("m"));
    SHOW(mkdir("d2/", 0755));
    SHOW(mkdir("new//", 0755));
    SHOW(mkdir("m/n", 0755));
    SHOW(mkdir("2/n", 0755));
    SHOW(mkdir("2/", 0755));
    SHOW(mkdir("", 0755));
    SHOW(mkdir(".", 0755));
    SHOW(mkdir("/", 0755));
    SHOW(rmdir("/"));
    SHOW(mkdir(NOWHERE, 0755));
}

int main(int argc, char **argv)
{
    judge_begin(argc, argv);
    streams();
    changed_while_read();
    removed_folders();
    places();
    as_files();
    counts();
    return 0;
}
