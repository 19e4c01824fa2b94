/* echo [-n] WORD...: the words with blanks between them. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int first = argc > 1 && !strcmp(argv[1], "-n") ? 2 : 1;
    for (int i = first; i < argc; i++)
        printf("%s%s", i > first ? " " : "", argv[i]);
    if (first == 1)
        putchar('\n');
    return fflush(stdout) ? 1 : 0;
}
