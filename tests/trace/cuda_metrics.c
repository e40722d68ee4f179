/* Uses CUDA while GPUs are read: cuda_metrics LOG COUNT [ranges|child]. It goes on until the stand-in of NVML has been
 * asked for power so many times, as its log says. ranges: recording is on for the second of three such times. child: a
 * child of its own uses CUDA, too. */
#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_truth.h"

static int count_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[256];
    int count = 0;
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, "DeviceGetPowerUsage 0 ") == line;
    if (file)
        fclose(file);
    return count;
}

static void wait_for(const char *path, int count)
{
    int until = count_lines(path) + count;
    while (count_lines(path) < until)
        usleep(2000);
}

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

int main(int argc, char **argv)
{
    const char *how = argc > 3 ? argv[3] : "";
    int count = atoi(argv[2]);
    pid_t child = strcmp(how, "child") == 0 ? fork() : -1;
    launch("first", NULL);
    MUST(cudaDeviceSynchronize());
    if (strcmp(how, "ranges") == 0) {
        wait_for(argv[1], count);
        MUST(cudaProfilerStart());
        long long start = now_ns();
        launch("inside", NULL);
        MUST(cudaDeviceSynchronize());
        wait_for(argv[1], count);
        printf("{\"what\": \"range\", \"from\": %lld, \"to\": %lld}\n", start, now_ns());
        MUST(cudaProfilerStop());
    }
    wait_for(argv[1], count);
    if (child == 0)
        _exit(0);
    if (child > 0)
        waitpid(child, NULL, 0);
    printf("{\"what\": \"end\", \"time\": %lld}\n", now_ns());
    return 0;
}
