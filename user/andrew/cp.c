/* cp [-r] FROM TO, or FROM... FOLDER: with the mode; -r: folders with their contents, symbolic links as such. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 512

static int recursive;

static int failed(const char *what)
{
    fprintf(stderr, "cp: %s: %s\n", what, strerror(errno));
    return 1;
}

static int copy_file(const char *from, const char *to, mode_t mode)
{
    static char buffer[8192];
    int in = open(from, O_RDONLY);
    if (in < 0)
        return failed(from);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, mode & 07777);
    int status = out < 0 ? failed(to) : 0;
    ssize_t n = 0;
    while (!status && (n = read(in, buffer, sizeof buffer)) > 0)
        for (ssize_t at = 0, more; at < n && !status; at += more)
            if ((more = write(out, buffer + at, (size_t)(n - at))) <= 0) {
                status = failed(to);
                more = 0;
            }
    if (n < 0)
        status = failed(from);
    close(in);
    if (out >= 0)
        close(out);
    return status;
}

static int copy(const char *from, const char *to);

static int copy_folder(const char *from, const char *to, mode_t mode)
{
    char a[PATH_SIZE], b[PATH_SIZE];
    if (mkdir(to, mode & 07777) && errno != EEXIST)
        return failed(to);
    DIR *d = opendir(from);
    if (!d)
        return failed(from);
    int status = 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(a, sizeof a, "%s/%s", from, e->d_name);
        snprintf(b, sizeof b, "%s/%s", to, e->d_name);
        status |= copy(a, b);
    }
    closedir(d);
    return status;
}

static int copy(const char *from, const char *to)
{
    struct stat s;
    char text[PATH_SIZE];
    if (recursive ? lstat(from, &s) : stat(from, &s))
        return failed(from);
    if (S_ISDIR(s.st_mode) && recursive)
        return copy_folder(from, to, s.st_mode);
    if (S_ISLNK(s.st_mode)) {
        ssize_t n = readlink(from, text, sizeof text - 1);
        if (n < 0)
            return failed(from);
        text[n] = 0;
        return symlink(text, to) ? failed(to) : 0;
    }
    return copy_file(from, to, s.st_mode);
}

int main(int argc, char **argv)
{
    struct stat s;
    int first = 1, status = 0;
    if (argc > 1 && !strcmp(argv[1], "-r"))
        recursive = first = 2;
    if (argc - first < 2) {
        fprintf(stderr, "cp: give FROM TO, or FROM... FOLDER\n");
        return 2;
    }
    const char *to = argv[argc - 1];
    int into = !stat(to, &s) && S_ISDIR(s.st_mode);
    if (argc - first > 2 && !into) {
        fprintf(stderr, "cp: %s is no folder\n", to);
        return 2;
    }
    for (int i = first; i < argc - 1; i++) {
        char path[PATH_SIZE];
        const char *slash = strrchr(argv[i], '/');
        snprintf(path, sizeof path, "%s/%s", to, slash ? slash + 1 : argv[i]);
        status |= copy(argv[i], into ? path : to);
    }
    return status;
}
