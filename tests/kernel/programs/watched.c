/* State of a process for a debugger to inspect. It ends when the debugger sets `done`. */
#include <unistd.h>

volatile int done;
volatile struct {
    int turns;
    char text[16];
} watched = {0, "of user mode"};

static int __attribute__((noinline)) step(int n)
{
    char local[8] = "a local";
    volatile char *at = local;
    watched.turns = n;
    return at[n % 7];
}

int main(void)
{
    int sum = 0;
    for (int n = 0; !done; n++) {
        sum += step(n);
        if (n % 1000 == 999)
            getppid();
    }
    return sum == 0;
}
