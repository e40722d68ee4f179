/* A cache in which some answers take the place of others, which nobody frees. */
#include <string.h>

#include "account.h"

enum { KEYS = 4000, REQUESTS = 12000, PARSED = 16384 };

static char *answers[KEYS];

static size_t size_of(unsigned key)
{
    return 1000 + key * 2654435761u % 6000;
}

__attribute__((noinline)) static void parse(unsigned request)
{
    char *words = TAKE(PARSED);
    memset(words, (int)request, PARSED);
    GIVE(words, PARSED);
}

__attribute__((noinline)) static void answer(unsigned key)
{
    if (!answers[key])
        answers[key] = memset(TAKE(size_of(key)), 1, size_of(key));
}

__attribute__((noinline)) static void renew(unsigned key)
{
    answers[key] = memset(TAKE(size_of(key)), 2, size_of(key));
}

__attribute__((noinline)) static void serve(void)
{
    for (unsigned request = 0; request < REQUESTS; request++) {
        unsigned key = request * 40503u % KEYS;
        parse(request);
        answer(key);
        if (request % 11 == 0)
            renew(key);
    }
    for (unsigned key = 0; key < KEYS; key++)
        if (answers[key])
            GIVE(answers[key], size_of(key));
    memset(answers, 0, sizeof answers);
}

int main(int argc, char **argv)
{
    for (int i = account_rounds(argc, argv); i > 0; i--)
        serve();
    account_scrub();
    account_print(account_most, account_alive);
    return 0;
}
