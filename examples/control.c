/* A program that tells the profiler which part of it matters: nothing is recorded but its main loop, step by step.
 *
 *     cc -o control control.c $(pkg-config --cflags --libs tacho)
 *     tacho profile -c api -o control ./control && tacho stats -r nvtx_pushpop_trace control.tacho
 *
 * Run without tacho it does the same work; the calls then cost next to nothing. */
#include <stdio.h>
#include <tacho/tacho.h>

static double work(int rounds)
{
    double sum = 0;

    tacho_push("work");
    for (int i = 1; i <= rounds; i++)
        sum += 1.0 / i;
    tacho_pop();
    return sum;
}

int main(void)
{
    double sum = work(1000); /* warming up: before tacho_start(), so not in the report */

    tacho_start();
    tacho_step();            /* step 0 begins */
    for (int step = 0; step < 3; step++) {
        sum += work(1000000);
        tacho_step();
    }
    tacho_mark("done");
    tacho_stop();
    printf("%s, libtacho %s, sum %.3f\n", tacho_profiled() ? "profiled" : "not profiled", tacho_version(),
           sum + work(1000));
    return 0;
}
