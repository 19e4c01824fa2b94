/* Arguments of programs (arguments.h). */
#include "proc/arguments.h"

#include <errno.h>
#include <string.h>

#include "mem/page.h"

_Static_assert(ARGUMENTS_PIECE == PAGE_SIZE, "a piece is a page");
_Static_assert(sizeof(struct arguments) <= PAGE_SIZE, "they are in a page");

struct arguments *arguments_create(void)
{
    uint32_t page = page_alloc_raw();
    struct arguments *a = page ? page_pointer(page) : 0;
    if (a)
        memset(a, 0, sizeof *a);
    return a;
}

void arguments_destroy(struct arguments *a)
{
    for (unsigned i = 0; i < ARGUMENTS_PIECES && a->piece[i]; i++)
        page_free(page_address(a->piece[i]));
    page_free(page_address(a));
}

/* Where the next byte goes, and the room there; 0: out of memory. */
static char *arguments_room(struct arguments *a, uint32_t *n)
{
    char **piece = &a->piece[a->size / ARGUMENTS_PIECE];
    if (!*piece) {
        uint32_t page = page_alloc_raw();
        if (!page)
            return 0;
        *piece = page_pointer(page);
    }
    *n = ARGUMENTS_PIECE - a->size % ARGUMENTS_PIECE;
    return *piece + a->size % ARGUMENTS_PIECE;
}

int arguments_copy_in(struct arguments *to, struct vm_map *map, uint32_t from)
{
    while (to->size < USER_ARGUMENTS_MOST) {
        uint32_t n;
        char *at = arguments_room(to, &n);
        int error = at ? copyinstr(map, at, from, n) : -ENOMEM;
        if (!error)
            n = strlen(at) + 1;
        else if (error != -E2BIG)
            return error;
        to->size += n;
        from += n;
        if (!error)
            return 0;
    }
    return -E2BIG;
}

static int arguments_put(struct arguments *to, char c)
{
    uint32_t n;
    char *at = to->size < USER_ARGUMENTS_MOST ? arguments_room(to, &n) : 0;
    if (!at)
        return to->size < USER_ARGUMENTS_MOST ? -ENOMEM : -E2BIG;
    *at = c;
    to->size++;
    return 0;
}

int arguments_append(struct arguments *to, const char *string)
{
    int error;
    do
        error = arguments_put(to, *string);
    while (!error && *string++);
    return error;
}

int arguments_for_script(struct arguments *to, const struct arguments *from, const char *interpreter, const char *word,
                         const char *path)
{
    uint32_t at = 0;
    int error = arguments_append(to, interpreter);
    if (!error && *word)
        error = arguments_append(to, word);
    if (!error)
        error = arguments_append(to, path);
    while (from->count && arguments_byte(from, at++)) /* its own name */
        ;
    for (; at < from->size && !error; at++)
        error = arguments_put(to, arguments_byte(from, at));
    to->count = 2 + !!*word + (from->count ? from->count - 1 : 0);
    to->environment = from->environment;
    return error;
}
