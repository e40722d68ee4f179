/* Few huge blocks, of which most pages are never touched. */
#include "account.h"

enum { BLOCKS = 12 };

__attribute__((noinline)) static void hold(void)
{
    char *blocks[BLOCKS];
    size_t bytes[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        bytes[i] = (i * i + 1) << 20;
        blocks[i] = i % 2 ? TAKE(bytes[i]) : calloc(account_add(bytes[i]) / 1024, 1024);
        if (blocks[i])
            blocks[i][0] = 1;
        if (i % 4 == 3)
            GIVE(blocks[i - 1], bytes[i - 1]);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        if (i % 4 != 2)
            GIVE(blocks[i], bytes[i]);
}

int main(int argc, char **argv)
{
    for (int i = account_rounds(argc, argv); i > 0; i--)
        hold();
    account_print(account_most, account_alive);
    return 0;
}
