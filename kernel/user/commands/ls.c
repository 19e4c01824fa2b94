/* ls [FOLDER...]: the names in it, with their sizes, in the folder's order. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int list(const char *folder)
{
    DIR *d = opendir(folder);
    if (!d) {
        fprintf(stderr, "ls: %s: %s\n", folder, strerror(errno));
        return 1;
    }
    for (struct dirent *e; (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        struct stat s;
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (!lstat(path, &s))
            printf("%c %8ld %s\n",
                   S_ISDIR(s.st_mode)   ? 'd'
                   : S_ISREG(s.st_mode) ? '-'
                   : S_ISLNK(s.st_mode) ? 'l'
                                        : 'c',
                   (long)s.st_size, e->d_name);
    }
    closedir(d);
    return 0;
}

int main(int argc, char **argv)
{
    int status = argc < 2 ? list(".") : 0;
    for (int i = 1; i < argc; i++)
        status |= list(argv[i]);
    return status;
}
