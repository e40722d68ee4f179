/* Four threads compute pages, and write them to a slow printer, which is a child process here. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, PAGES = 50, SIZE = 1 << 16 };

static pthread_mutex_t printer_lock = PTHREAD_MUTEX_INITIALIZER;
static int printer;
static long written;

static void run_printer(int input)
{
    static char page[SIZE];
    long sum = 0, bytes;
    while ((bytes = read(input, page, sizeof page)) > 0) {
        sum += bytes;
        usleep(20000 * bytes / SIZE);
    }
    exit(sum != (long) THREADS * PAGES * SIZE);
}

static void compute_page(char *page, int thread, int number)
{
    unsigned x = thread * 1000 + number;
    for (int i = 0; i < SIZE; i++) {
        x = x * 1664525 + 1013904223;
        page[i] = 'a' + (x >> 24) % 26;
    }
}

static void print_page(int thread, int number)
{
    static char page[SIZE];

    pthread_mutex_lock(&printer_lock);
    compute_page(page, thread, number);
    written += write(printer, page, sizeof page);
    pthread_mutex_unlock(&printer_lock);
}

static long prepare(int thread, int number)
{
    long x = thread + number;
    for (int i = 0; i < 500000; i++)
        x = x * 48271 % 2147483647;
    return x;
}

static void *work(void *argument)
{
    long sum = 0;
    for (int number = 0; number < PAGES; number++) {
        sum += prepare((long) argument, number);
        print_page((long) argument, number);
    }
    return (void *) sum;
}

int main(void)
{
    pthread_t threads[THREADS];
    int ends[2], status;

    if (pipe(ends))
        return 1;
    if (fork() == 0) {
        close(ends[1]);
        run_printer(ends[0]);
    }
    close(ends[0]);
    printer = ends[1];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *) i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    close(printer);
    wait(&status);
    printf("%ld bytes, printer ended with %d\n", written, WEXITSTATUS(status));
    return 0;
}
