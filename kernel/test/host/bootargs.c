/* Boot arguments. Sources: lib/bootargs.c */
#include "lib/bootargs.h"

#include <string.h>

#include "lib/random.h"
#include "test/host/host.h"

char bootargs[64];

static const char *string(const char *key)
{
    static char value[64];
    return bootargs_string(key, "otherwise", value, sizeof value);
}

HOST_TEST(words_are_found_wherever_they_stand)
{
    strcpy(bootargs, "  run=hello  seed=7 hz= last=0x10");
    CHECK_TEXT(string("run"), "hello");
    CHECK_TEXT(string("hz"), "");
    CHECK_TEXT(string("last"), "0x10");
    CHECK_TEXT(string("none"), "otherwise");
    CHECK_EQUAL(bootargs_number("seed", 1, 100), 7);
    CHECK_EQUAL(bootargs_number("last", 1, 16), 16);
    CHECK_EQUAL(bootargs_number("none", 42, 16), 42);
}

HOST_TEST(a_key_is_a_whole_word)
{
    strcpy(bootargs, "pic.reader=1 xpic.read=2 pic.read pic.read=3=4");
    CHECK_TEXT(string("pic.read"), "3=4");
    CHECK_TEXT(string("pic"), "otherwise");
    CHECK_TEXT(string("read"), "otherwise");
}

HOST_TEST(the_first_of_equal_keys_counts)
{
    strcpy(bootargs, "a=1 a=2");
    CHECK_EQUAL(bootargs_number("a", 0, 9), 1);
}

HOST_TEST(a_value_without_room_panics_and_is_not_cut)
{
    strcpy(bootargs, "name=abcdef more=1");
    for (unsigned size = 1; size <= 8; size++) {
        char value[8];
        memset(value, '!', sizeof value);
        if (size <= 6) {
            CHECK_PANICS("boot argument name=: give at most", bootargs_string("name", 0, value, size));
            CHECK(value[0] == '!');
        } else {
            CHECK_TEXT(bootargs_string("name", 0, value, size), "abcdef");
        }
    }
}

HOST_TEST(bad_numbers_panic_and_are_named)
{
    static const char *const bad[] = {"n=", "n=x", "n=1x", "n=-1", "n=11", "n=99999999999999999999999"};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        strcpy(bootargs, bad[i]);
        CHECK_PANICS("boot argument n=", bootargs_number("n", 1, 10));
    }
    CHECK_PANICS("give a number from 0 to 10", bootargs_number("n", 1, 10));
}

/* The same by another way: the line cut into words by strtok. */
static const char *by_words(const char *key)
{
    static char copy[64];
    strcpy(copy, bootargs);
    for (char *word = strtok(copy, " "); word; word = strtok(0, " ")) {
        char *equals = strchr(word, '=');
        if (equals && (size_t)(equals - word) == strlen(key) && !strncmp(word, key, strlen(key)))
            return equals + 1;
    }
    return "otherwise";
}

HOST_TEST(any_line_is_taken_apart_alike)
{
    static const char letters[] = "ab= ";
    static const char *const keys[] = {"a", "b", "ab", "ba"};
    struct random r = random_from(1, 0);
    for (unsigned turn = 0; turn < 20000; turn++) {
        unsigned length = random_below(&r, sizeof bootargs);
        for (unsigned i = 0; i < length; i++)
            bootargs[i] = letters[random_below(&r, 4)];
        bootargs[length] = 0;
        for (unsigned k = 0; k < 4; k++)
            CHECK_TEXT(string(keys[k]), by_words(keys[k]));
    }
}
