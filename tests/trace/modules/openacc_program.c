/* Directives of OpenACC, each with the events that the runtime of GCC reports for it on the CPU: "// EVENT xTIMES". The
 * test reads these lines. Without a device there are no launches, no transfers and no waits. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1000 };
static float a[N], b[N];

static void in_a_function(int times)
{
    for (int i = 0; i < times; i++) {
#pragma acc parallel loop copyin(a) copyout(b) // Compute Construct x3
        for (int j = 0; j < N; j++)
            b[j] = a[j] + 1;
    }
}

static void constructs(void)
{
#pragma acc enter data copyin(a)   // Enter Data x1
#pragma acc kernels present(a)     // Compute Construct x1
    for (int j = 0; j < N; j++)
        a[j] += 2;
#pragma acc update host(a)         // Update x1
#pragma acc serial                 // Compute Construct x1
    a[0] += 1;
#pragma acc parallel loop async(1) // Compute Construct x1
    for (int j = 0; j < N; j++)
        a[j] += 1;
#pragma acc wait(1)
#pragma acc exit data delete (a) // Exit Data x1
    in_a_function(3);
}

/* A construct that nobody leaves. */
static void die_inside(void)
{
#pragma acc serial // of a killed program
    {
        kill(getpid(), SIGKILL);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "fork") == 0) {
        in_a_function(1);
        pid_t child = fork();
        constructs();
        if (child == 0)
            return 0;
        waitpid(child, NULL, 0);
    } else if (strcmp(how, "kill") == 0) {
        in_a_function(1);
        die_inside();
    } else if (strcmp(how, "none") != 0)
        constructs();
    printf("%g %g\n", (double)a[0], (double)b[1]);
    return 0;
}
