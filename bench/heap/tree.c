/* A process with three children, which all hold memory at the same time. Each child loses some of its own. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "account.h"

enum { CHILDREN = 3, BLOCKS = 2000, OWN = 6 << 20, LOST = 40 };

static char *blocks[BLOCKS];
static char *volatile own; /* of the parent */

__attribute__((noinline)) static void work(int child)
{
    size_t bytes = 1500 + (size_t)child * 300;
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = memset(TAKE(bytes), i, bytes);
}

__attribute__((noinline)) static void rest(int child)
{
    for (int i = LOST; i < BLOCKS; i++)
        GIVE(blocks[i], 1500 + (size_t)child * 300);
    memset(blocks, 0, sizeof blocks);
    account_scrub();
}

/* Holds its blocks until the parent closes the pipe `wait`. */
static int run_child(int child, int tell, int wait)
{
    long account[2];
    char byte;
    account_alive = account_most = 0;
    work(child);
    account[0] = account_most;
    account[1] = LOST * (1500 + child * 300);
    if (write(tell, account, sizeof account) != sizeof account)
        return 1;
    while (read(wait, &byte, 1) > 0)
        continue;
    rest(child);
    return 0;
}

/* What they lose together; `most`: what they hold together. -1: a call has failed. */
static long run_tree(long *most)
{
    int tell[2], wait_for[2], status = 0;
    long account[2], lost = 0;
    own = memset(TAKE(OWN), 1, OWN);
    if (pipe(tell) != 0 || pipe(wait_for) != 0)
        return -1;
    for (int child = 0; child < CHILDREN; child++)
        if (fork() == 0) {
            close(wait_for[1]);
            exit(run_child(child, tell[1], wait_for[0]));
        }
    *most = OWN;
    for (int child = 0; child < CHILDREN; child++) {
        if (read(tell[0], account, sizeof account) != sizeof account)
            return -1;
        *most += account[0];
        lost += account[1];
    }
    close(wait_for[1]);
    while (wait(&status) > 0)
        continue;
    close(tell[0]);
    close(tell[1]);
    close(wait_for[0]);
    GIVE(own, OWN);
    return lost;
}

int main(int argc, char **argv)
{
    long most = 0, lost = 0;
    for (int i = account_rounds(argc, argv); i > 0; i--)
        lost += run_tree(&most);
    account_print(most, lost);
    return 0;
}
