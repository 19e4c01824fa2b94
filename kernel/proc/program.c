/* Programs in their map (program.h). */
#include "proc/program.h"

#include <errno.h>
#include <string.h>

#include "lib/layout.h"
#include "lib/minmax.h"
#include "proc/elf.h"

#define WORDS 32
#define STACK_STEP 16 /* bytes between possible beginnings of a stack, or a heap */
#define HEAP_STEP 16

/* Words that are copied to user mode in pieces. */
struct words {
    struct vm_map *map;
    uint32_t to;
    unsigned count;
    uint32_t word[WORDS];
};

static int program_flush(struct words *w)
{
    uint32_t n = w->count * sizeof w->word[0];
    int error = copyout(w->map, w->to, w->word, n);
    w->to += n;
    w->count = 0;
    return error;
}

static int program_put(struct words *w, uint32_t word)
{
    w->word[w->count++] = word;
    return w->count == WORDS ? program_flush(w) : 0;
}

/* Pointers to `count` strings, the first of which begins at byte *at, and a 0; the bytes are at `text`. */
static int put_vector(struct words *w, unsigned count, uint32_t text, const struct arguments *a, uint32_t *at)
{
    int error = 0;
    for (; count && !error; count--) {
        error = program_put(w, text + *at);
        while (arguments_byte(a, (*at)++))
            ;
    }
    return error ? error : program_put(w, 0);
}

/* argc, argv, envp and their strings on the stack (abi.h). */
static int push_arguments(struct vm_map *map, const struct arguments *arguments, struct user_start *start)
{
    uint32_t below = layout_choice(LAYOUT_OF_USER_STACK, 0, PAGE_SIZE / STACK_STEP) * STACK_STEP;
    uint32_t text = (USER_STACK_TOP - below - arguments->size) & ~3u;
    uint32_t size = (3 + arguments->count + arguments->environment) * sizeof(uint32_t);
    if (size + arguments->size > USER_STACK_SIZE / 2)
        return -E2BIG;
    uint32_t at = 0;
    int error = 0;
    for (uint32_t done = 0, n; done < arguments->size && !error; done += n) {
        n = MIN(arguments->size - done, ARGUMENTS_PIECE);
        error = copyout(map, text + done, arguments->piece[done / ARGUMENTS_PIECE], n);
    }
    start->sp = (text - size) & ~15u;
    start->a0 = arguments->count;
    start->a1 = start->sp + 4;
    start->a2 = start->a1 + (arguments->count + 1) * sizeof(uint32_t);
    struct words w = {.map = map, .to = start->sp};
    if (!error)
        error = program_put(&w, arguments->count);
    if (!error)
        error = put_vector(&w, arguments->count, text, arguments, &at);
    if (!error)
        error = put_vector(&w, arguments->environment, text, arguments, &at);
    return error ? error : program_flush(&w);
}

static uint32_t program_rounded(uint32_t address)
{
    return (address + PAGE_MASK) & ~PAGE_MASK;
}

int program_load(struct vm_map *map, const struct elf_file *file, const struct arguments *arguments,
                 struct user_start *start, struct user_break *brk)
{
    struct elf_program program;
    int error = elf_load(map, file, &program);
    if (!error)
        vm_map_set_room(map, USER_MAP_BEGIN, USER_MAP_END);
    if (!error)
        error = vm_allocate_stack(map, USER_STACK_TOP, USER_STACK_SIZE, USER_STACK_STEP);
    if (error)
        return error == -ENOMEM || error == -EIO ? error : -ENOEXEC;
    uint32_t left = program_rounded(program.end) - program.end; /* of the program's last page */
    uint32_t begin = program.end + layout_choice(LAYOUT_OF_HEAP, 0, left / HEAP_STEP + 1) * HEAP_STEP;
    *brk = (struct user_break){begin, begin};
    start->pc = program.entry;
    return push_arguments(map, arguments, start);
}

static int raise_break(struct vm_map *map, struct user_break *brk, uint32_t bytes)
{
    if (brk->now > USER_BREAK_LIMIT || bytes > USER_BREAK_LIMIT - brk->now)
        return -ENOMEM;
    uint32_t from = program_rounded(brk->now), to = program_rounded(brk->now + bytes);
    return to > from && vm_allocate(map, &from, to - from, VM_FIXED) ? -ENOMEM : 0; /* or it is mapped already */
}

static int lower_break(struct vm_map *map, struct user_break *brk, uint32_t bytes)
{
    if (bytes > brk->now - brk->begin)
        return -EINVAL;
    uint32_t from = program_rounded(brk->now - bytes), to = program_rounded(brk->now);
    return to > from ? vm_deallocate(map, from, to - from) : 0;
}

int program_move_break(struct vm_map *map, struct user_break *brk, int32_t bytes)
{
    uint32_t old = brk->now;
    if (!bytes)
        return (int)old;
    int error = bytes < 0 ? lower_break(map, brk, -(uint32_t)bytes) : raise_break(map, brk, (uint32_t)bytes);
    if (error)
        return error;
    brk->now = old + (uint32_t)bytes;
    return (int)old;
}
