/*
 * mount DEVICE FOLDER: mounts an ext2 file system; mount ADDRESS:/PATH FOLDER: another node's, by NFS; mount -u FOLDER:
 * unmounts it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "mount: give DEVICE FOLDER, ADDRESS:/PATH FOLDER, or -u FOLDER\n");
        return 2;
    }
    const char *type = strstr(argv[1], ":/") ? "nfs" : "ext2";
    int error = strcmp(argv[1], "-u") ? mount(type, argv[2], 0, argv[1]) : unmount(argv[2], 0);
    if (!error)
        return 0;
    fprintf(stderr, "mount: %s: %s\n", argv[2], strerror(errno));
    return 1;
}
