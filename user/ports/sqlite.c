/*
 * sqlite DATABASE TRANSACTIONS: carries out transactions with SQLite, and prints the cycles in which each began and was
 * committed, so that tests/kernel/power_cuts.py knows what must be there after a power cut in between:
 *
 *   op BEGIN END commit N
 *
 * Transaction N puts rows N * 7 + 3 * i modulo 40 for i from 0 to 5, each with N * 100 + i and as many zeros as (37 * N
 * + 101 * i) modulo 700, deletes row N modulo 40, and writes N into the table `last`.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sqlite3.h"

static sqlite3 *database;
static char text[60000];
static unsigned used;

static uint32_t cycles(void)
{
    uint32_t v;
    __asm__ volatile("rdcycle %0" : "=r"(v));
    return v;
}

static void run(const char *format, ...)
{
    va_list values;
    char *error;
    va_start(values, format);
    char *sql = sqlite3_vmprintf(format, values);
    va_end(values);
    if (sqlite3_exec(database, sql, 0, 0, &error)) {
        printf("%s: %s\n", sql, error);
        exit(1);
    }
    sqlite3_free(sql);
}

static void transaction(int n)
{
    uint32_t begin = cycles();
    run("BEGIN");
    for (int i = 0; i < 6; i++)
        run("REPLACE INTO rows VALUES (%d, %d, zeroblob(%d))", (n * 7 + 3 * i) % 40, n * 100 + i,
            (37 * n + 101 * i) % 700);
    run("DELETE FROM rows WHERE k = %d", n % 40);
    run("UPDATE last SET n = %d", n);
    run("COMMIT");
    used += (unsigned)sprintf(text + used, "op %lu %lu commit %d\n", (unsigned long)begin, (unsigned long)cycles(), n);
}

int main(int count, char **words)
{
    if (count != 3)
        return fprintf(stderr, "sqlite DATABASE TRANSACTIONS\n"), 2;
    if (sqlite3_open(words[1], &database)) {
        printf("%s: %s\n", words[1], sqlite3_errmsg(database));
        return 1;
    }
    run("PRAGMA synchronous = EXTRA");
    run("CREATE TABLE rows (k INTEGER PRIMARY KEY, v INTEGER, filler BLOB); CREATE TABLE last (n INTEGER); "
        "INSERT INTO last VALUES (0)");
    printf("begin %lu\n", (unsigned long)cycles());
    for (int n = 1; n <= atoi(words[2]) && used < sizeof text - 60; n++)
        transaction(n);
    printf("%send %lu, 0 failed\n", text, (unsigned long)cycles());
    return sqlite3_close(database);
}
