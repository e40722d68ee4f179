/* Arrays that grow by realloc(), some by half, some by a step; two of them are lost. */
#include "account.h"

enum { DOUBLING = 12, STEPPING = 12, STEP = 16384 };

__attribute__((noinline)) static void *grow_by_half(size_t most, size_t *bytes)
{
    char *block = TAKE(*bytes = 64);
    while (*bytes < most) {
        size_t next = *bytes + *bytes / 2;
        block = RESIZE(block, *bytes, next);
        block[next - 1] = 1;
        *bytes = next;
    }
    return block;
}

__attribute__((noinline)) static void *grow_by_step(size_t most, size_t *bytes)
{
    char *block = TAKE(*bytes = STEP);
    while (*bytes < most) {
        block = RESIZE(block, *bytes, *bytes + STEP);
        block[*bytes] = 1;
        *bytes += STEP;
    }
    return block;
}

__attribute__((noinline)) static void grow_all(void)
{
    void *blocks[DOUBLING + STEPPING];
    size_t bytes[DOUBLING + STEPPING];
    for (size_t i = 0; i < DOUBLING + STEPPING; i++)
        blocks[i] = i < DOUBLING ? grow_by_half(200000 * (i + 1), &bytes[i]) : grow_by_step(100000 * i, &bytes[i]);
    for (size_t i = 0; i < DOUBLING + STEPPING; i++)
        if (i != 3 && i != DOUBLING + 3)
            GIVE(blocks[i], bytes[i]);
}

int main(int argc, char **argv)
{
    for (int i = account_rounds(argc, argv); i > 0; i--)
        grow_all();
    account_scrub();
    account_print(account_most, account_alive);
    return 0;
}
