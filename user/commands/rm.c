/* rm [-r] [-f] FILE...: -r: folders with what is in them; -f minds none that is not there. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 512

static int recursive, force;

static int failed(const char *path)
{
    fprintf(stderr, "rm: %s: %s\n", path, strerror(errno));
    return 1;
}

static int drop(const char *path);

/* One name at a time, from the beginning: what readdir gives next, while names go, nobody says. */
static int drop_folder(const char *path)
{
    for (;;) {
        char below[PATH_SIZE] = "";
        DIR *d = opendir(path);
        if (!d)
            return failed(path);
        for (struct dirent *e; !*below && (e = readdir(d));)
            if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
                snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        closedir(d);
        if (!*below)
            return rmdir(path) ? failed(path) : 0;
        if (drop(below))
            return 1;
    }
}

static int drop(const char *path)
{
    struct stat s;
    if (lstat(path, &s))
        return force && errno == ENOENT ? 0 : failed(path);
    if (S_ISDIR(s.st_mode) && recursive)
        return drop_folder(path);
    return unlink(path) ? failed(path) : 0;
}

int main(int argc, char **argv)
{
    int first = 1, status = 0;
    for (; first < argc && argv[first][0] == '-'; first++) {
        recursive |= strchr(argv[first], 'r') != 0;
        force |= strchr(argv[first], 'f') != 0;
    }
    for (int i = first; i < argc; i++)
        status |= drop(argv[i]);
    return status;
}
