/* Runs the tests of one program (host.h), and defines what the kernel's sources need besides on the host. */
#include "test/host/host.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/hart.h"
#include "dev/console.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lib/symbols.h"

void (*host_before_lock)(void);
void (*host_before_write)(void);
unsigned host_locks_held;
void (*host_lock_waits)(void);
void (*host_others_run)(void);
void (*host_section_begins)(void);

uint32_t layout_seed; /* lib/layout.h */

void host_layout(uint32_t seed)
{
    layout_seed = seed;
}

void host_folder(char folder[HOST_PATH], const char *name)
{
    const char *in = getenv("TMPDIR");
    int length = snprintf(folder, HOST_PATH, "%s/%s-XXXXXX", in && *in ? in : "/tmp", name);
    CHECK(length < HOST_PATH && mkdtemp(folder));
}

struct hart harts[MAX_HARTS];
unsigned hart_count = 1;
struct hart *curhart = &harts[0];

jmp_buf *host_panic_to;
__attribute__((weak)) void (*kprintf_sink)(const char *text, unsigned n); /* in programs without lib/printf.c */

/* For sources that ask for the place of a call: it is unknown here. */
__attribute__((weak)) const char *symbol_of(uint32_t pc, uint32_t *offset)
{
    (void)pc, (void)offset;
    return 0;
}

static struct host_test *first, **last = &first;
static char panic_message[512];
static char output[65536];
static size_t output_used;

void host_register(struct host_test *test)
{
    *last = test;
    last = &test->next;
}

_Noreturn void host_failed(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%s:%d: ", file, line);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    fflush(stdout);
    _exit(1);
}

void host_check_text(const char *file, int line, const char *what, const char *is, const char *should)
{
    if (!is || strcmp(is, should))
        host_failed(file, line, "%s is \"%s\", not \"%s\"", what, is ? is : "(null)", should);
}

void host_check_equal(const char *file, int line, const char *what, long long is, long long should)
{
    if (is != should)
        host_failed(file, line, "%s is %lld (0x%llx), not %lld (0x%llx)", what, is, is, should, should);
}

void host_check_panic(const char *file, int line, bool panicked, const char *part)
{
    if (!panicked)
        host_failed(file, line, "no panic; one with \"%s\" was expected", part);
    if (!strstr(panic_message, part))
        host_failed(file, line, "the panic says \"%s\", not \"%s\"", panic_message, part);
}

_Noreturn void panic(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(panic_message, sizeof panic_message, format, args);
    va_end(args);
    if (host_panic_to)
        longjmp(*host_panic_to, 1);
    host_failed("panic", 0, "%s", panic_message);
}

int panicking(void)
{
    return 0;
}

void console_write(const char *text, unsigned n)
{
    if (n >= sizeof output - output_used)
        host_failed(__FILE__, __LINE__, "more than %zu characters of output: clear it", sizeof output - 1);
    memcpy(output + output_used, text, n);
    output_used += n;
    output[output_used] = 0;
}

const char *host_output(void)
{
    return output;
}

void host_output_clear(void)
{
    output_used = 0;
    output[0] = 0;
}

static bool passes(const struct host_test *test)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        host_failed(__FILE__, __LINE__, "no process for the test %s", test->name);
    if (!child) {
        test->fn();
        exit(0); /* and not _exit: leaked memory is looked for now */
    }
    int status;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        printf("%s: its limit of processor time is over\n", test->name);
    return WIFEXITED(status) && !WEXITSTATUS(status);
}

unsigned host_times(void)
{
    const char *times = getenv("HOST_TIMES");
    int n = times ? atoi(times) : 1;
    return n > 1 ? (unsigned)n : 1;
}

/* Runs the tests named on the command line, or all. */
int main(int count, char **names)
{
    kprintf_sink = console_write;
    unsigned run = 0, failed = 0;
    for (const struct host_test *test = first; test; test = test->next) {
        bool wanted = count == 1;
        for (int i = 1; i < count; i++)
            wanted |= !strcmp(test->name, names[i]);
        if (!wanted)
            continue;
        run++;
        if (!passes(test)) {
            printf("FAILED %s\n", test->name);
            failed++;
        }
    }
    printf("%u tests, %u failed\n", run, failed);
    return failed || !run;
}
