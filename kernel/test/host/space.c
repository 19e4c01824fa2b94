/* Address spaces. Sources: vm/space.c mem/page.c lock/simple_lock.c. */
#include "vm/space.h"

#include <errno.h>
#include <string.h>

#include "test/host/host.h"

#define PAGES 40
#define BASE 0x40000000u
#define AT 0x00012000u

static uint8_t memory[PAGES * PAGE_SIZE] __attribute__((aligned(4096)));

void *page_pointer(uint32_t address)
{
    CHECK(address >= BASE && address < BASE + sizeof memory);
    return memory + (address - BASE);
}

static struct space made(unsigned pages)
{
    struct space space;
    memset(memory, 0xff, sizeof memory);
    pages_init(BASE, BASE + pages * PAGE_SIZE);
    CHECK(space_init(&space));
    return space;
}

HOST_TEST(a_page_is_where_it_was_mapped_and_nowhere_else)
{
    struct space space = made(PAGES);
    CHECK_EQUAL(space_grow(&space, AT, AT + PAGE_SIZE, PAGE_READ), 0);
    uint32_t page = space_lookup(&space, AT, PAGE_READ);
    CHECK(page && page % PAGE_SIZE == 0);
    CHECK_EQUAL(space_lookup(&space, AT + 123, PAGE_READ), page + 123);
    CHECK_EQUAL(space_lookup(&space, AT - 1, PAGE_READ), 0);
    CHECK_EQUAL(space_lookup(&space, AT + PAGE_SIZE, PAGE_READ), 0);
    CHECK_EQUAL(space_lookup(&space, AT + (1u << 22), PAGE_READ), 0);
    CHECK_EQUAL(space_lookup(&space, AT | 0x80000000u, PAGE_READ), 0);
}

HOST_TEST(rights_are_those_of_the_page)
{
    struct space space = made(PAGES);
    space_grow(&space, AT, AT + 1, PAGE_READ);
    space_grow(&space, AT + PAGE_SIZE, AT + PAGE_SIZE + 1, PAGE_READ | PAGE_WRITE);
    space_grow(&space, AT + 2 * PAGE_SIZE, AT + 2 * PAGE_SIZE + 1, PAGE_READ | PAGE_EXECUTE);
    const struct {
        unsigned page, rights;
        bool has;
    } cases[] = {
        {0, PAGE_READ, true},     {0, PAGE_WRITE, false},  {0, PAGE_EXECUTE, false},          {1, PAGE_WRITE, true},
        {1, PAGE_EXECUTE, false}, {2, PAGE_EXECUTE, true}, {2, PAGE_READ | PAGE_WRITE, false}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_EQUAL(space_lookup(&space, AT + cases[i].page * PAGE_SIZE, cases[i].rights) != 0, cases[i].has);
}

HOST_TEST(copies_cross_pages_that_do_not_lie_together)
{
    struct space space = made(PAGES);
    uint8_t out[3 * PAGE_SIZE], in[3 * PAGE_SIZE];
    /* The pages are not in order. */
    space_grow(&space, AT + PAGE_SIZE, AT + 2 * PAGE_SIZE, PAGE_READ | PAGE_WRITE);
    space_grow(&space, AT, AT + PAGE_SIZE, PAGE_READ | PAGE_WRITE);
    space_grow(&space, AT + 2 * PAGE_SIZE, AT + 4 * PAGE_SIZE, PAGE_READ | PAGE_WRITE);
    for (unsigned i = 0; i < sizeof out; i++)
        out[i] = (uint8_t)(i * 7 + i / 256);
    CHECK_EQUAL(space_copy_out(&space, AT + 100, out, sizeof out), 0);
    CHECK_EQUAL(space_copy_in(&space, in, AT + 100, sizeof in), 0);
    CHECK(!memcmp(in, out, sizeof in));
    uint8_t before;
    CHECK_EQUAL(space_copy_in(&space, &before, AT + 99, 1), 0);
    CHECK_EQUAL(before, 0);
}

HOST_TEST(what_user_mode_may_not_do_is_a_fault)
{
    struct space space = made(PAGES);
    char text[16] = "text";
    space_grow(&space, AT, AT + PAGE_SIZE, PAGE_READ);
    CHECK_EQUAL(space_copy_out(&space, AT, text, 4), -EFAULT);
    CHECK_EQUAL(space_fill(&space, AT + PAGE_SIZE - 4, text, 4), 0);
    CHECK_EQUAL(space_fill(&space, AT + PAGE_SIZE - 4, text, 5), -EFAULT);
    CHECK_EQUAL(space_copy_in(&space, text, AT + PAGE_SIZE - 8, 8), 0);
    CHECK_EQUAL(space_copy_in(&space, text, AT + PAGE_SIZE - 8, 9), -EFAULT);
    CHECK_EQUAL(space_copy_in(&space, text, 0, 1), -EFAULT);
    CHECK_EQUAL(space_copy_in(&space, text, 0xffffffff, 2), -EFAULT);
    CHECK_EQUAL(space_copy_in(&space, text, 0, 0), 0);
}

HOST_TEST(strings_end_in_time_or_are_refused)
{
    struct space space = made(PAGES);
    char text[16];
    space_grow(&space, AT, AT + 2 * PAGE_SIZE, PAGE_READ | PAGE_WRITE);
    space_copy_out(&space, AT + PAGE_SIZE - 3, "across", 7);
    memset(text, 'x', sizeof text); /* the string's end must come from the user's memory */
    CHECK_EQUAL(space_copy_in_string(&space, text, AT + PAGE_SIZE - 3, sizeof text), 0);
    CHECK_TEXT(text, "across");
    CHECK_EQUAL(space_copy_in_string(&space, text, AT + PAGE_SIZE - 3, 7), 0);
    CHECK_EQUAL(space_copy_in_string(&space, text, AT + PAGE_SIZE - 3, 6), -E2BIG);
    space_copy_out(&space, AT + 2 * PAGE_SIZE - 3, "end", 3);
    CHECK_EQUAL(space_copy_in_string(&space, text, AT + 2 * PAGE_SIZE - 3, sizeof text), -EFAULT);
}

HOST_TEST(a_page_is_mapped_once)
{
    struct space space = made(PAGES);
    CHECK_EQUAL(space_grow(&space, AT, AT + PAGE_SIZE, PAGE_READ), 0);
    uint32_t page = space_lookup(&space, AT, PAGE_READ);
    CHECK_EQUAL(space_grow(&space, AT, AT + 2 * PAGE_SIZE, PAGE_READ | PAGE_WRITE), -EEXIST);
    CHECK_EQUAL(space_lookup(&space, AT, PAGE_READ), page);
    CHECK_EQUAL(space_lookup(&space, AT, PAGE_WRITE), 0);
}

HOST_TEST(all_pages_come_back_however_far_it_got)
{
    for (unsigned pages = 1; pages < 12; pages++) {
        struct space space = made(pages);
        int error = space_grow(&space, AT, AT + 9 * PAGE_SIZE, PAGE_READ);
        CHECK_EQUAL(error, pages < 11 ? -ENOMEM : 0); /* two of them are tables */
        CHECK_EQUAL(pages_free(), 0);
        space_destroy(&space);
        CHECK_EQUAL(pages_free(), pages);
    }
}

HOST_TEST(a_page_that_was_used_is_clear_again)
{
    struct space space = made(4);
    uint32_t word = 0xa5a5a5a5;
    space_grow(&space, AT, AT + 4, PAGE_READ | PAGE_WRITE);
    space_copy_out(&space, AT, &word, sizeof word);
    space_destroy(&space);
    CHECK(space_init(&space));
    for (unsigned i = 0; i < 2; i++)
        CHECK_EQUAL(space_grow(&space, AT + i * PAGE_SIZE, AT + (i + 1) * PAGE_SIZE, PAGE_READ), 0);
    for (unsigned i = 0; i < 2; i++) {
        CHECK_EQUAL(space_copy_in(&space, &word, AT + i * PAGE_SIZE, sizeof word), 0);
        CHECK_EQUAL(word, 0);
    }
}

HOST_TEST(wrong_use_panics)
{
    struct space space = made(PAGES);
    CHECK_PANICS("space_grow", space_grow(&space, 0, 4, PAGE_READ));
    CHECK_PANICS("space_grow", space_grow(&space, SPACE_END - 4, SPACE_END + 4, PAGE_READ));
    CHECK_PANICS("page_free", page_free(BASE + 1));
    CHECK_PANICS("page_free", page_free(0));
}
