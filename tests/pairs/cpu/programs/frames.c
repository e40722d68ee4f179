/* Adds up the brightness of many generated frames; each has a buffer of its own. */
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 4096, HEIGHT = 2048, FRAMES = 200 };

static unsigned long brightness(int number)
{
    unsigned char *frame = malloc((size_t)WIDTH * HEIGHT * 4);
    unsigned long sum = 0;

    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT * 4; i += 512)
        frame[i] = number + i;
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT * 4; i += 512)
        sum += frame[i];
    free(frame);
    return sum;
}

int main(void)
{
    unsigned long sum = 0;
    for (int i = 0; i < FRAMES; i++)
        sum += brightness(i);
    printf("%d frames, %lu\n", FRAMES, sum);
    return 0;
}
