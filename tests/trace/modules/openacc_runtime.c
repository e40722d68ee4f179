/* A stand-in for an OpenACC runtime with a device, such as NVIDIA's: loads the library that ACC_PROFLIB names and
 * reports events of every kind, with source lines. It also does what no runtime should: ends without begins, structs of
 * which nothing is valid, events without end. Prints how many well-formed events it has reported. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As chapter 5 of the specification has them. */
typedef struct {
    int event_type, valid_bytes, version, device_type, device_number, thread_id;
    ssize_t async, async_queue;
    const char *src_file, *func_name;
    int line_no, end_line_no, func_line_no, func_end_line_no;
} prof_info;
typedef struct {
    int event_type, valid_bytes, parent_construct, implicit;
    void *tool_info;
    const char *name; /* variable or kernel */
    size_t numbers[3];
} event_info;
typedef struct {
    int device_api, valid_bytes, device_type, vendor;
    const void *device_handle, *context_handle, *async_handle;
} api_info;
typedef void callback(prof_info *, event_info *, api_info *);

static callback *callbacks[64];
static int reported;

static void register_callback(int event, callback *called, int how)
{
    if (event < 0 || event >= 64 || how != 0)
        abort();
    callbacks[event] = called;
}

static void fire(int event, int line, const char *name, size_t number, int implicit)
{
    prof_info info = { event, sizeof info, 201711, 4, 1, 0, -2, -2, "/src/solver.f90", "solve", line, line, 1, 99 };
    event_info what = { event, 24, 0, implicit, NULL, name, { number, number + 1, number + 2 } };
    api_info api = { 1, sizeof api, 4, 1, NULL, NULL, NULL };
    if (name)
        what.valid_bytes = sizeof what;
    if (callbacks[event])
        callbacks[event](&info, &what, &api);
}

static void span(int event, int line, const char *name, size_t number)
{
    fire(event, line, name, number, event == 24);
    fire(event + 1, line, name, number, event == 24);
    reported++;
}

static void point(int event, int line, const char *name, size_t number)
{
    fire(event, line, name, number, 0);
    reported++;
}

static void directive(void)
{
    fire(16, 12, NULL, 0, 0);
    point(8, 12, "x", 4000);
    point(6, 12, "x", 4000);
    span(20, 12, "x", 4000);
    span(18, 12, "solve_12_gpu", 32);
    span(22, 12, "x", 4000);
    span(24, 12, NULL, 0);
    point(7, 12, "x", 4000);
    point(9, 12, "x", 4000);
    fire(17, 12, NULL, 0, 0);
    reported++;
}

/* What a broken runtime could do. */
static void misbehave(void)
{
    prof_info info = { .event_type = 16, .valid_bytes = 4 };
    event_info what = { .event_type = 16, .valid_bytes = 4 };
    api_info api = { .valid_bytes = 0 };
    fire(17, 1, NULL, 0, 0); /* an end without its begin */
    if (callbacks[16]) {
        callbacks[16](&info, &what, &api);
        callbacks[16](NULL, NULL, NULL);
        info.valid_bytes = sizeof info;
        info.event_type = 4711;
        callbacks[16](&info, &what, &api);
    }
    fire(10, 20, NULL, 0, 0); /* left by an exception: no end */
    span(14, 21, NULL, 0);
    fire(13, 1, NULL, 0, 0);
}

static void deeper(int levels)
{
    fire(16, 30, NULL, 0, 0);
    if (levels > 1)
        deeper(levels - 1);
    fire(17, 30, NULL, 0, 0);
}

int main(int argc, char **argv)
{
    const char *path = getenv("ACC_PROFLIB");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    void (*enter)(void *, void *,
                  void *) = library ? (void (*)(void *, void *, void *))dlsym(library, "acc_register_library") : NULL;
    if (enter)
        enter((void *)register_callback, NULL, NULL);
    span(1, 3, NULL, 0);
    directive();
    if (argc > 1 && strcmp(argv[1], "broken") == 0)
        misbehave();
    if (argc > 1 && strcmp(argv[1], "deep") == 0)
        deeper(20);
    span(3, 40, NULL, 0);
    point(5, 40, NULL, 0);
    printf("%d\n", reported);
    return 0;
}
