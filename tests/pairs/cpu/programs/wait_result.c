/* A producer thread computes twelve blocks; the consumer looks every 300 ms whether one is there. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { BLOCKS = 12 };

static _Atomic int ready;
static _Atomic int taken;
static unsigned long block[BLOCKS];

static unsigned long compute(int i)
{
    unsigned long x = i + 1;
    for (int k = 0; k < 8000000; k++)
        x = x * 6364136223846793005UL + 1442695040888963407UL;
    return x;
}

static void *produce(void *unused)
{
    for (int i = 0; i < BLOCKS; i++) {
        while (atomic_load(&taken) < i)
            usleep(1000);
        block[i] = compute(i);
        atomic_store(&ready, i + 1);
    }
    return unused;
}

static void wait_for_block(int i)
{
    while (atomic_load(&ready) <= i)
        usleep(300000);
}

int main(void)
{
    pthread_t producer;
    unsigned long sum = 0;

    pthread_create(&producer, NULL, produce, NULL);
    for (int i = 0; i < BLOCKS; i++) {
        wait_for_block(i);
        sum ^= block[i];
        atomic_store(&taken, i + 1);
    }
    pthread_join(producer, NULL);
    printf("%d blocks, %016lx\n", BLOCKS, sum);
    return 0;
}
