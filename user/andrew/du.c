/*
 * du [-s] [FOLDER...]: KiB on the disk of each folder with all below, a file of several names once for each; -s: only
 * of the named ones.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_SIZE 512
#define BLOCK 512 /* the unit of st_blocks */

static int sums_only, status;

static unsigned long failed(const char *path)
{
    fprintf(stderr, "du: %s: %s\n", path, strerror(errno));
    status = 1;
    return 0;
}

/* The blocks of a path; prints them for a folder, or if `named`. */
static unsigned long used(const char *path, int named)
{
    struct stat s;
    char below[PATH_SIZE];
    if (lstat(path, &s))
        return failed(path);
    unsigned long blocks = (unsigned long)s.st_blocks;
    if (S_ISDIR(s.st_mode)) {
        DIR *d = opendir(path);
        if (!d)
            return failed(path);
        for (struct dirent *e; (e = readdir(d));) {
            if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
                continue;
            snprintf(below, sizeof below, "%s/%s", path, e->d_name);
            blocks += used(below, 0);
        }
        closedir(d);
        named |= !sums_only;
    }
    if (named)
        printf("%lu\t%s\n", (blocks * BLOCK + 1023) / 1024, path);
    return blocks;
}

int main(int argc, char **argv)
{
    int first = 1;
    if (argc > 1 && !strcmp(argv[1], "-s"))
        sums_only = first = 2;
    if (first == argc)
        used(".", 1);
    for (int i = first; i < argc; i++)
        used(argv[i], 1);
    return fflush(stdout) ? 1 : status;
}
