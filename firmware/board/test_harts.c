/* Every hart that was built answers a call. */
#include <generated/soc.h>

#include "hart.h"
#include "harts.h"
#include "selftest.h"

static void answer(unsigned hart)
{
    (void)hart;
}

void test_harts(int whole)
{
    (void)whole;
    uint32_t missing = harts_call(answer, CYCLES_PER_MS);
    for (unsigned hart = 0; hart < CONFIG_HARTS; hart++)
        if (missing >> hart & 1)
            failed("hart %d does not answer", hart);
    passed("%d", CONFIG_HARTS);
}
