/* mkdir [-p] FOLDER...: -p makes missing parents, too, and accepts existing folders. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int make(char *path, int parents)
{
    for (char *slash = path; parents && (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    if (!mkdir(path, 0777) || (parents && errno == EEXIST))
        return 0;
    fprintf(stderr, "mkdir: %s: %s\n", path, strerror(errno));
    return 1;
}

int main(int argc, char **argv)
{
    int parents = argc > 1 && !strcmp(argv[1], "-p"), status = 0;
    for (int i = 1 + parents; i < argc; i++)
        status |= make(argv[i], parents);
    return status;
}
