/* sh FILE: what execvp needs of a shell for a file that is no program: `exit N` in the file's first line. */
#include <stdio.h>

int main(int argc, char **argv)
{
    int status = 0;
    FILE *f = argc > 1 ? fopen(argv[1], "r") : 0;
    if (!f)
        return 127;
    if (fscanf(f, "exit %d", &status) != 1)
        status = 0;
    fclose(f);
    return status;
}
