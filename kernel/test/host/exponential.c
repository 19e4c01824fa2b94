/* Exponential numbers. Sources: lib/exponential.c */
#include "lib/exponential.h"

#include <math.h>

#include "test/host/host.h"

HOST_TEST(minus_ln_is_right_to_2_13)
{
    struct random r = random_from(1, 0);
    for (unsigned i = 0; i < 100000; i++) {
        uint32_t u = random_next(&r) >> (i % 32);
        if (!u)
            u = 1;
        double is = minus_ln(u) / 65536.0, should = -log(u / 4294967296.0);
        CHECK(fabs(is - should) <= 1.0 / 8192);
    }
    CHECK_EQUAL(minus_ln(1) >> 16, EXPONENTIAL_MOST);
    CHECK(minus_ln(0xffffffff) <= 4);
    CHECK_EQUAL(minus_ln(1u << 31), 45426);
}

HOST_TEST(the_distribution_is_exponential)
{
    enum { N = 200000, MEAN = 1000 };
    struct random r = random_from(7, 3);
    double sum = 0, squares = 0;
    unsigned above[8] = {0};
    for (unsigned i = 0; i < N; i++) {
        uint32_t x = exponential(&r, MEAN);
        sum += x;
        squares += (double)x * x;
        for (unsigned k = 0; k < 8 && x > k * MEAN; k++)
            above[k]++;
    }
    double mean = sum / N, deviation = sqrt(squares / N - mean * mean);
    CHECK(fabs(mean - MEAN) < 0.01 * MEAN);
    CHECK(fabs(deviation - MEAN) < 0.015 * MEAN); /* that of an exponential distribution is its mean */
    for (unsigned k = 1; k < 8; k++)
        CHECK(fabs(above[k] - N * exp(-(double)k)) < 5 * sqrt(N * exp(-(double)k)));
}

HOST_TEST(the_greatest_mean_does_not_overflow)
{
    struct random r = {1};
    CHECK(exponential(&r, 1u << 27) <= (uint64_t)EXPONENTIAL_MOST << 27);
    CHECK_EQUAL((uint64_t)minus_ln(1) * (1u << 27) >> 16 >> 32, 0);
}
