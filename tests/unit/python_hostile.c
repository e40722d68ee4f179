/* Memory of Python programs as no Python program has it: random words, small numbers among
 * them that lead back into it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../fuzz/fuzz_python.c"

enum { INPUTS = 1000, INPUT_BYTES = 4096 };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *state >> 16;
}

static void random_memory_is_read_in_safety(void **unused)
{
    static uint64_t words[INPUT_BYTES / 8];
    static const uint64_t numbers[] = { 0x030b00f0, 0x030c00f0, 0x030d00f0, 0x030e00f0 }; /* versions that have one */
    uint64_t state = 1;
    for (int input = 0; input < INPUTS; input++) {
        for (size_t i = 0; i < INPUT_BYTES / 8; i++) {
            uint64_t random = next_random(&state);
            words[i] = random & 3 ? random % INPUT_BYTES & ~UINT64_C(7) : random << 24;
        }
        words[0] = next_random(&state);
        for (size_t i = 1; i < 64 && input & 1; i++) /* where the version is looked for */
            words[i] = numbers[input / 2 % 4];
        LLVMFuzzerTestOneInput((const uint8_t *)words, sizeof words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_memory_is_read_in_safety) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
