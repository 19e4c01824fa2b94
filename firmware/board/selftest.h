/* The parts of the self-test, and how they report. */
#ifndef SELFTEST_H
#define SELFTEST_H

/*
 * To be called by a test, once or more often: the first failure stays, then the first absence. `passed` gives the
 * result, and counts if nothing else was reported. One line each, without its end.
 */
void passed(const char *format, ...) __attribute__((format(printf, 1, 2)));
void failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
void absent(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether the memory test found main RAM to work. */
int main_ram_works(void);

/* `whole`: all of it, which takes seconds, instead of the part that takes a tenth of one. */
void test_harts(int whole);
void test_memory(int whole);
void test_caches(int whole);
void test_pic(int whole);
void test_serial(int whole);
void test_sd(int whole);
void test_ethernet(int whole);
#endif
