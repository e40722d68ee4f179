/* One thread holds a mutex, a lock for readers and writers, and a mutex of C11, one after the other; another waits for
 * each. The holder lets go when it has seen the other asleep. Prints both their ids, and
 * the addresses of the locks. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t mtx;
static _Atomic int turn, waiter;

static void *wait_for_each(void *unused)
{
    atomic_store(&waiter, (int)syscall(SYS_gettid));
    for (int i = 0; i < 3; i++) {
        while (atomic_load(&turn) != 2 * i + 1)
            ;
        atomic_fetch_add(&turn, 1);
        if (i == 0)
            pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex);
        else if (i == 1)
            pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock);
        else
            mtx_lock(&mtx), mtx_unlock(&mtx);
    }
    return NULL;
}

/* By the letter behind the name, which is in parentheses. */
static int sleeps(int tid)
{
    char path[64], line[256] = "";

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    FILE *file = fopen(path, "r");
    if (file) {
        if (!fgets(line, sizeof line, file))
            line[0] = 0;
        fclose(file);
    }
    const char *end = strrchr(line, ')');
    return end && end[1] == ' ' && end[2] == 'S';
}

static void hold(int i)
{
    atomic_store(&turn, 2 * i + 1);
    while (atomic_load(&turn) != 2 * i + 2 || !sleeps(atomic_load(&waiter)))
        ;
}

int main(void)
{
    pthread_t thread;

    mtx_init(&mtx, mtx_plain);
    pthread_create(&thread, NULL, wait_for_each, NULL);
    pthread_mutex_lock(&mutex);
    hold(0);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_wrlock(&rwlock);
    hold(1);
    pthread_rwlock_unlock(&rwlock);
    mtx_lock(&mtx);
    hold(2);
    mtx_unlock(&mtx);
    pthread_join(thread, NULL);
    printf("%d %d %ju %ju %ju\n", (int)getpid(), atomic_load(&waiter), (uintmax_t)(uintptr_t)&mutex,
           (uintmax_t)(uintptr_t)&rwlock, (uintmax_t)(uintptr_t)&mtx);
    return 0;
}
