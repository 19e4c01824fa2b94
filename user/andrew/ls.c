/*
 * ls [-l] [PATH...]: the names in a folder, with their sizes, in the folder's order, or the path itself if it is no
 * folder; -l: also modes, links and owners.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int is_long;

static void print(const struct stat *s, const char *name)
{
    static const char rights[] = "rwxrwxrwx";
    char mode[] = "----------";
    mode[0] = S_ISDIR(s->st_mode) ? 'd' : S_ISREG(s->st_mode) ? '-' : S_ISLNK(s->st_mode) ? 'l' : 'c';
    for (int i = 0; i < 9; i++)
        if (s->st_mode >> (8 - i) & 1)
            mode[i + 1] = rights[i];
    if (is_long)
        printf("%s %3u %5u %5u %8ld %10lld %s\n", mode, (unsigned)s->st_nlink, (unsigned)s->st_uid, (unsigned)s->st_gid,
               (long)s->st_size, (long long)s->st_mtime, name);
    else
        printf("%c %8ld %s\n", mode[0], (long)s->st_size, name);
}

static int failed(const char *path)
{
    fprintf(stderr, "ls: %s: %s\n", path, strerror(errno));
    return 1;
}

static int list(const char *path)
{
    struct stat s;
    if (lstat(path, &s))
        return failed(path);
    DIR *d = opendir(path);
    if (!d && errno == ENOTDIR) {
        print(&s, path);
        return 0;
    }
    if (!d)
        return failed(path);
    for (struct dirent *e; (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        char below[512];
        snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        if (!lstat(below, &s))
            print(&s, e->d_name);
    }
    closedir(d);
    return 0;
}

int main(int argc, char **argv)
{
    int status = 0, first = 1;
    if (argc > 1 && !strcmp(argv[1], "-l"))
        is_long = first = 2;
    if (first == argc)
        status = list(".");
    for (int i = first; i < argc; i++)
        status |= list(argv[i]);
    return fflush(stdout) ? 1 : status;
}
