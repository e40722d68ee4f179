/* Two threads hand a turn to each other through a mutex and a condition. tests/trace/two_guests.py builds it with TSan,
 * whose hooks must see every one of these calls: what passes them by is reported as a bug of the program. */
#include <pthread.h>
#include <stdio.h>

enum { TURNS = 100 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *take_turns(void *own)
{
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&mutex);
        while (turn % 2 != *(int *)own)
            pthread_cond_wait(&changed, &mutex);
        turn++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int first = 0, second = 1;
    pthread_create(&thread, NULL, take_turns, &second);
    take_turns(&first);
    pthread_join(thread, NULL);
    printf("%d turns\n", turn);
    return 0;
}
