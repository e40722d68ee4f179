/* A tour: a small program with a bit of everything that Tacho records. A producer reads a file in blocks and hands them
 * to four workers through a queue; the workers compute and write their results; two child processes look at what was
 * written. Named ranges say which part is which.
 *
 *   cc -O2 -pthread -o tour examples/tour.c -ldl && tacho profile --stats=true ./tour */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tests/trace/nvtx_client.h"

enum { WORKERS = 4, BLOCKS = 400, BLOCK_BYTES = 64 * 1024, QUEUE_SLOTS = 8, ROUNDS = 3 };

/* ---- A queue of blocks: one producer, many workers ------------------------------------------------------------- */

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    unsigned char *slots[QUEUE_SLOTS];
    int first, count, closed;
};

static void queue_put(struct queue *queue, unsigned char *block)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == QUEUE_SLOTS)
        pthread_cond_wait(&queue->not_full, &queue->lock);
    queue->slots[(queue->first + queue->count++) % QUEUE_SLOTS] = block;
    pthread_cond_signal(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

static void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = 1;
    pthread_cond_broadcast(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

/* NULL once the queue is closed and empty. */
static unsigned char *queue_take(struct queue *queue)
{
    unsigned char *block = NULL;

    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && !queue->closed)
        pthread_cond_wait(&queue->not_empty, &queue->lock);
    if (queue->count > 0) {
        block = queue->slots[queue->first];
        queue->first = (queue->first + 1) % QUEUE_SLOTS;
        queue->count--;
        pthread_cond_signal(&queue->not_full);
    }
    pthread_mutex_unlock(&queue->lock);
    return block;
}

/* ---- The parts of the program ---------------------------------------------------------------------------------- */

struct tour {
    char input[64], output[64];
    int output_fd;
    struct queue queue;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void make_input(const char *path)
{
    unsigned char *block = malloc(BLOCK_BYTES);
    uint32_t state = 1;
    int fd = mkstemp((char *)path);

    if (fd < 0 || !block)
        fail("tour: cannot make the input");
    for (int i = 0; i < BLOCKS; i++) {
        for (int at = 0; at < BLOCK_BYTES; at++)
            block[at] = (unsigned char)((state = state * 1664525u + 1013904223u) >> 24);
        if (write(fd, block, BLOCK_BYTES) != BLOCK_BYTES)
            fail("tour: cannot write the input");
    }
    fsync(fd);
    close(fd);
    free(block);
}

static uint64_t digest(const unsigned char *block)
{
    uint64_t sum = 0;

    for (int round = 0; round < 10; round++)
        for (int at = 0; at < BLOCK_BYTES; at++)
            sum = (sum ^ block[at]) * 1099511628211u;
    return sum;
}

static void *work(void *argument)
{
    struct tour *tour = argument;
    unsigned char *block;

    pthread_setname_np(pthread_self(), "tour-worker");
    while ((block = queue_take(&tour->queue))) {
        char line[32];
        nvtx_push("digest");
        int length = snprintf(line, sizeof line, "%016llx\n", (unsigned long long)digest(block));
        nvtx_pop();
        if (write(tour->output_fd, line, (size_t)length) != length)
            fail("tour: cannot write a result");
        free(block);
    }
    return NULL;
}

static void feed_workers(struct tour *tour)
{
    int fd = open(tour->input, O_RDONLY);

    if (fd < 0)
        fail("tour: cannot open the input");
    for (int i = 0; i < BLOCKS; i++) {
        unsigned char *block = malloc(BLOCK_BYTES);
        if (!block || read(fd, block, BLOCK_BYTES) != BLOCK_BYTES)
            fail("tour: cannot read the input");
        queue_put(&tour->queue, block);
    }
    close(fd);
    queue_close(&tour->queue);
}

static void run_child(char *const command[])
{
    extern char **environ;
    pid_t child;
    int status;

    int error = posix_spawnp(&child, command[0], NULL, NULL, command, environ);
    if (error) {
        fprintf(stderr, "tour: cannot run %s: %s\n", command[0], strerror(error));
        exit(1);
    }
    if (waitpid(child, &status, 0) < 0 || status != 0)
        fprintf(stderr, "tour: %s failed\n", command[0]);
}

static void round_trip(struct tour *tour)
{
    pthread_t workers[WORKERS];

    nvtx_push("read and digest");
    tour->queue = (struct queue){
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .not_empty = PTHREAD_COND_INITIALIZER,
        .not_full = PTHREAD_COND_INITIALIZER,
    };
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&workers[i], NULL, work, tour) != 0)
            fail("tour: cannot start a thread");
    feed_workers(tour);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    nvtx_pop();

    nvtx_push("sync");
    fsync(tour->output_fd);
    nvtx_pop();
}

int main(void)
{
    struct tour tour = { .input = "/tmp/tour-in-XXXXXX", .output = "/tmp/tour-out-XXXXXX" };

    nvtx_push("make input");
    make_input(tour.input);
    tour.output_fd = mkstemp(tour.output);
    if (tour.output_fd < 0)
        fail("tour: cannot make the output");
    nvtx_pop();

    for (int i = 0; i < ROUNDS; i++) {
        nvtx_push("round");
        round_trip(&tour);
        nvtx_pop();
    }

    nvtx_push("children");
    run_child((char *[]){ "sort", "-o", tour.output, tour.output, NULL });
    run_child((char *[]){ "sh", "-c", "uniq \"$1\" | wc -l", "sh", tour.output, NULL });
    nvtx_pop();

    nvtx_mark("done");
    unlink(tour.input);
    unlink(tour.output);
    return 0;
}
