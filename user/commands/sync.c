/* sync: what has been written is on the disks when it ends. */
#include <unistd.h>

int main(void)
{
    sync();
    return 0;
}
