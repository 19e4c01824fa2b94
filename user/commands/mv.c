/* mv FROM TO, or FROM... FOLDER: within one file system. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_SIZE 512

int main(int argc, char **argv)
{
    struct stat s;
    int status = 0;
    if (argc < 3) {
        fprintf(stderr, "mv: give FROM TO, or FROM... FOLDER\n");
        return 2;
    }
    const char *to = argv[argc - 1];
    int into = !stat(to, &s) && S_ISDIR(s.st_mode);
    for (int i = 1; i < argc - 1; i++) {
        char path[PATH_SIZE];
        const char *slash = strrchr(argv[i], '/');
        snprintf(path, sizeof path, "%s/%s", to, slash ? slash + 1 : argv[i]);
        if (rename(argv[i], into ? path : to)) {
            fprintf(stderr, "mv: %s: %s\n", argv[i], strerror(errno));
            status = 1;
        }
    }
    return status;
}
