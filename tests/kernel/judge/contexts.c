/* User contexts: getcontext, setcontext, swapcontext, makecontext, and the mask of signals that goes with each. */
#include <ucontext.h>

#include "say.h"

#define STACK 16384
#define COROUTINES 3
#define ROUNDS 4

static ucontext_t caller, routine[COROUTINES], ended;
static char stack[COROUTINES + 1][STACK] __attribute__((aligned(16)));
static int handled;

static bool masked(int signal)
{
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    return sigismember(&set, signal);
}

static void made(ucontext_t *context, int place, void (*code)(void), ucontext_t *link, int a, int b)
{
    getcontext(context);
    context->uc_stack.ss_sp = stack[place];
    context->uc_stack.ss_size = STACK;
    context->uc_link = link;
    makecontext(context, code, 2, a, b);
}

static void coroutine(int self, int other)
{
    volatile double product = self + 1.5;
    for (int i = 0; i < ROUNDS; i++) {
        printf("coroutine %d, round %d, then %d\n", self, i, other);
        product *= 1.5;
        swapcontext(&routine[self], &routine[other]);
    }
    printf("coroutine %d ends with %d\n", self, (int)(product * 1000));
}

static void count(int signal)
{
    handled += signal == SIGUSR1;
}

static void under_a_mask(int a, int b)
{
    printf("arguments %d %d, SIGUSR1 masked %d\n", a, b, masked(SIGUSR1));
    kill(getpid(), SIGUSR1);
    printf("handled %d\n", handled);
}

int main(void)
{
    /* One after the other; the first one that ends returns. */
    for (int i = 0; i < COROUTINES; i++)
        made(&routine[i], i, (void (*)(void))coroutine, &caller, i, (i + 1) % COROUTINES);
    swapcontext(&caller, &routine[0]);
    printf("back\n");

    /* A context is returned to again and again. */
    volatile int times = 0;
    getcontext(&ended);
    if (times++ < 3)
        setcontext(&ended);
    printf("times %d\n", times);

    /* The mask is the context's. */
    signal(SIGUSR1, count);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    made(&routine[0], COROUTINES, (void (*)(void))under_a_mask, &caller, 7, -7);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    printf("masked before %d\n", masked(SIGUSR1));
    swapcontext(&caller, &routine[0]);
    printf("masked after %d, handled %d\n", masked(SIGUSR1), handled);
    return 0;
}
