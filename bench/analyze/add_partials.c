/* add_partials FILE…: gives reports that make_events made what `tacho profile` gives to those of a rank, the partial
 * results of the default reports, and prints what that took. */
#include <stdio.h>
#include <time.h>

#include "cmd/keep_partials.h"

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int add(const char *path, struct error *err)
{
    struct report *report;
    int code = report_open(path, &report, err);

    if (code != 0)
        return code;
    code = keep_partials(path, report, err);
    report_close(report);
    return code;
}

int main(int argc, char **argv)
{
    struct error err = { 0 };
    double begin = now_s();

    for (int i = 1; i < argc; i++)
        if (add(argv[i], &err) != 0) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
    printf("%.4f s\n", now_s() - begin);
    return 0;
}
