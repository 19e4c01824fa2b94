/* mount DEVICE FOLDER: an ext2 file system; mount -u FOLDER: it is unmounted. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "mount: give DEVICE FOLDER, or -u FOLDER\n");
        return 2;
    }
    int error = strcmp(argv[1], "-u") ? mount("ext2", argv[2], 0, argv[1]) : unmount(argv[2], 0);
    if (!error)
        return 0;
    fprintf(stderr, "mount: %s: %s\n", argv[2], strerror(errno));
    return 1;
}
