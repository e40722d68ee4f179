/* Four threads compute pages, and write them to four slow printers, which are child processes here. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, PAGES = 16, SIZE = 1 << 18, CHUNK = 1 << 16 };

static pthread_mutex_t printer_lock = PTHREAD_MUTEX_INITIALIZER;
static int printers[THREADS];
static long written;

static void run_printer(int input)
{
    static char page[CHUNK];
    long sum = 0, bytes;
    while ((bytes = read(input, page, sizeof page)) > 0) {
        sum += bytes;
        usleep(20000 * bytes / CHUNK);
    }
    exit(sum != (long)PAGES * SIZE);
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
    written += write(printers[thread], page, sizeof page);
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
        sum += prepare((long)argument, number);
        print_page((long)argument, number);
    }
    return (void *)sum;
}

static int start_printer(int number)
{
    int ends[2];

    if (pipe(ends))
        exit(1);
    if (fork() == 0) {
        for (int i = 0; i < number; i++)
            close(printers[i]);
        close(ends[1]);
        run_printer(ends[0]);
    }
    close(ends[0]);
    return ends[1];
}

int main(void)
{
    pthread_t threads[THREADS];
    int failed = 0, status;

    for (int i = 0; i < THREADS; i++)
        printers[i] = start_printer(i);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        close(printers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        wait(&status);
        failed += status != 0;
    }
    printf("%ld bytes, %d printers failed\n", written, failed);
    return 0;
}
