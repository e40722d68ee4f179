/* Uses CUDA while GPUs are read: cuda_metrics LOG COUNT [ranges] [child] [counters]. It goes on until the stand-in of
 * NVML has been asked for power so many times, as its log says. ranges: recording is on for the second of three such
 * times. child: a child of its own uses CUDA, too. counters: all that begins when counters are sampled. */
#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_truth.h"

static int count_lines(const char *path, const char *begin)
{
    FILE *file = fopen(path, "r");
    char line[256];
    int count = 0;
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, begin) == line;
    if (file)
        fclose(file);
    return count;
}

static void wait_for(const char *path, int count)
{
    static const char asked[] = "DeviceGetPowerUsage 0 ";
    int until = count_lines(path, asked) + count;
    while (count_lines(path, asked) < until)
        usleep(2000);
}

static int is_given(char **words, const char *word)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

int main(int argc, char **argv)
{
    (void)argc;
    int count = atoi(argv[2]);
    pid_t child = is_given(argv, "child") ? fork() : -1;
    launch("first", NULL);
    MUST(cudaDeviceSynchronize());
    while (is_given(argv, "counters") && count_lines(argv[1], "PmSamplingStart ") == 0)
        usleep(2000);
    if (is_given(argv, "ranges")) {
        wait_for(argv[1], count);
        long long before = now_ns();
        MUST(cudaProfilerStart());
        long long start = now_ns();
        launch("inside", NULL);
        MUST(cudaDeviceSynchronize());
        wait_for(argv[1], count);
        long long end = now_ns();
        MUST(cudaProfilerStop());
        printf("{\"what\": \"range\", \"before\": %lld, \"from\": %lld, \"to\": %lld, \"after\": %lld}\n", before,
               start, end, now_ns());
    }
    wait_for(argv[1], count);
    if (child == 0)
        _exit(0);
    if (child > 0)
        waitpid(child, NULL, 0);
    printf("{\"what\": \"end\", \"time\": %lld}\n", now_ns());
    return 0;
}
