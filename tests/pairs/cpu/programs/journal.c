/* Four threads take orders and write them to a journal. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, ORDERS = 150, SIZE = 1 << 20 };

static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static int journal;
static long written;

static unsigned price(int thread, int order)
{
    unsigned x = thread * 1000 + order;
    for (int i = 0; i < 400000; i++)
        x = x * 1664525 + 1013904223;
    return x;
}

static void save(int thread, int order, unsigned value)
{
    static char page[SIZE];

    pthread_mutex_lock(&journal_lock);
    memset(page, 'a' + order % 26, sizeof page);
    snprintf(page, sizeof page, "%d %d %u\n", thread, order, value);
    written += pwrite(journal, page, sizeof page, (long) order * SIZE);
    sync_file_range(journal, (long) order * SIZE, SIZE,
            SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    pthread_mutex_unlock(&journal_lock);
}

static void *take_orders(void *argument)
{
    int thread = (int) (long) argument;
    for (int order = 0; order < ORDERS; order++)
        save(thread, order, price(thread, order));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    journal = open(argc > 1 ? argv[1] : "journal.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_orders, (void *) i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld bytes\n", written);
    return 0;
}
