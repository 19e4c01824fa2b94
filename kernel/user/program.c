/* Programs in their address space (program.h). */
#include "user/program.h"

#include <errno.h>
#include <string.h>

#include "user/elf.h"

/* argc, argv and its strings on the stack (abi.h). */
static int push_arguments(struct space *space, const struct arguments *arguments, struct user_start *start)
{
    uint32_t text = (USER_STACK_TOP - arguments->size) & ~3u;
    uint32_t vector[USER_ARGUMENT_COUNT + 2] = {arguments->count}; /* ends with a 0 */
    const char *at = arguments->text;
    for (unsigned i = 0; i < arguments->count; i++, at += strlen(at) + 1)
        vector[1 + i] = text + (uint32_t)(at - arguments->text);
    uint32_t size = (arguments->count + 2) * sizeof vector[0];
    start->sp = (text - size) & ~15u;
    start->a0 = arguments->count;
    start->a1 = start->sp + 4;
    int error = space_copy_out(space, text, arguments->text, arguments->size);
    return error ? error : space_copy_out(space, start->sp, vector, size);
}

int program_load(struct space *space, const void *file, uint32_t size, const struct arguments *arguments,
                 struct user_start *start, struct user_break *brk)
{
    struct elf_program program;
    int error = elf_load(space, file, size, &program);
    if (error)
        return error;
    error = space_grow(space, USER_STACK_TOP - USER_STACK_SIZE, USER_STACK_TOP, PAGE_READ | PAGE_WRITE);
    if (error)
        return error == -EEXIST ? -ENOEXEC : error;
    *brk = (struct user_break){program.end, program.end};
    start->pc = program.entry;
    return push_arguments(space, arguments, start);
}

int program_raise_break(struct space *space, struct user_break *brk, int32_t bytes)
{
    uint32_t old = brk->now;
    if (bytes < 0)
        return -EINVAL;
    if (!bytes)
        return (int)old;
    if (old > USER_BREAK_LIMIT || (uint32_t)bytes > USER_BREAK_LIMIT - old)
        return -ENOMEM;
    while (brk->mapped < old + (uint32_t)bytes) {
        int error = space_grow(space, brk->mapped, brk->mapped + PAGE_SIZE, PAGE_READ | PAGE_WRITE);
        if (error)
            return error;
        brk->mapped += PAGE_SIZE;
    }
    brk->now = old + (uint32_t)bytes;
    return (int)old;
}
