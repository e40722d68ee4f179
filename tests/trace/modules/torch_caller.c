/* A program that uses the stand-ins of PyTorch: torch_caller LIBRARY SCENE [LOADER]. The library is loaded when it is
 * needed, as Python does; by another library, if one is named, which then loads something else. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "torch_standin.h"

enum { FUNCTION = 0, BACKWARD = 1, USER = 7 };

static standin_begin_function *begin;
static standin_end_function *end;
static standin_observe_function *observe;
static standin_allocate_function *allocate;
static standin_free_function *give_back;
static _Atomic uint64_t *deleted, *observations;
static uint64_t *reports;

static void *open_operator(const char *name, int scope, long sequence, uint64_t forward)
{
    return begin(
        &(struct standin_operator){ .name = name, .scope = scope, .sequence = sequence, .forward_thread = forward });
}

static void plain(void)
{
    for (int step = 0; step < 3; step++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        void *whole = open_operator(name, USER, -1, 0), *linear = open_operator("aten::linear", FUNCTION, step, 0);
        end(open_operator("aten::addmm", FUNCTION, step, 0));
        end(linear);
        end(open_operator("AddmmBackward0", BACKWARD, step, 1));
        end(whole);
    }
    printf("%llu contexts deleted\n", (unsigned long long)*deleted);
}

static void hostile(void)
{
    size_t length = 100000;
    char *name = malloc(length + 1);
    memset(name, 'x', length);
    memcpy(name + 32767, "\xc3\xa9", 2); /* a character where it is cut */
    name[length] = 0;
    end(open_operator(name, FUNCTION, -1, 0));
    end(open_operator("", FUNCTION, INT64_MAX, UINT64_MAX));
    end(open_operator("\"quoted\"\n\xff\xc3(", 255, -5, 0));
    end(open_operator(NULL, FUNCTION, -1, 0));
    end(open_operator("ProfilerStep#99999999999999999999", USER, -1, 0));
    free(name);
}

static void *many(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        void *outer = open_operator("outer", FUNCTION, i, 0);
        end(open_operator("inner", FUNCTION, -1, 0));
        end(outer);
    }
    return NULL;
}

static void *end_it(void *function)
{
    end(function);
    return NULL;
}

static void threads(void)
{
    pthread_t list[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&list[i], NULL, many, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(list[i], NULL);
    void *asynchronous = open_operator("asynchronous", FUNCTION, -1, 0);
    pthread_create(&list[0], NULL, end_it, asynchronous);
    pthread_join(list[0], NULL);
}

static void forks(void)
{
    end(open_operator("parent", FUNCTION, -1, 0));
    void *around = open_operator("around the fork", FUNCTION, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        end(around);
        end(open_operator("child", FUNCTION, -1, 0));
        exit(0);
    }
    waitpid(child, NULL, 0);
    end(around);
}

static void dies(void)
{
    open_operator("outer", FUNCTION, -1, 0);
    end(open_operator("inner", FUNCTION, -1, 0));
    open_operator("last", FUNCTION, -1, 0);
    raise(SIGKILL);
}

struct returned {
    void *context, *rest[2];
};
static int own_begins, own_ends;
static struct returned own_begin(const void *function)
{
    own_begins++;
    return (struct returned){ 0 };
}
static void own_end(const void *function, void *context)
{
    own_ends += context == NULL;
}

/* A profiler of the program's own, beside ours. */
static void observed(void)
{
    end(open_operator("before", FUNCTION, -1, 0));
    observe((void *)own_begin, (void *)own_end);
    many(NULL);
    printf("%d begins and %d ends\n", own_begins, own_ends);
}

/* c10::IValue and what it points to, as in 2.1 and 2.2. */
struct value {
    uint64_t word;
    uint32_t tag, reserved;
};
struct tensor {
    char before[72];
    uint64_t dimensions;
    int64_t sizes[5], strides[5];
    int64_t offset, elements;
    uint16_t type;
};
struct deep_tensor {
    char before[72];
    uint64_t dimensions;
    int64_t *storage;
    int64_t unused[9];
    int64_t offset, elements;
    uint16_t type;
};
struct list {
    char before[24];
    struct value *first, *last, *end;
    const void *type;
};
struct list_type {
    const void *virtual_functions;
    int kind;
};

static void inputs(const void *undefined)
{
    static struct tensor matrix = { .dimensions = 2, .sizes = { 2, 3 }, .strides = { 3, 1 }, .elements = 6, .type = 6 };
    static struct tensor number = { .elements = 1, .type = 4 };
    static int64_t deep_storage[] = { 1, 2, 3, 4, 5, 6, 720, 360, 120, 30, 6, 1 };
    static struct deep_tensor deep = { .dimensions = 6, .storage = deep_storage, .elements = 720, .type = 15 };
    static struct list_type of_tensors = { .kind = 3 }, of_numbers = { .kind = 8 };
    double tenth = 0.1;
    uint64_t real;
    memcpy(&real, &tenth, 8);
    struct value tensors[] = { { (uint64_t)&matrix, 1, 0 }, { (uint64_t)&number, 1, 0 } },
                 numbers[] = { { 7, 5, 0 }, { 8, 5, 0 } };
    struct list tensor_list = { .first = tensors, .last = tensors + 2, .end = tensors + 2, .type = &of_tensors };
    struct list number_list = { .first = numbers, .last = numbers + 2, .end = numbers + 2, .type = &of_numbers };
    struct value values[] = { { (uint64_t)&matrix, 1, 0 },
                              { (uint64_t)&deep, 1, 0 },
                              { (uint64_t)undefined, 1, 0 },
                              { (uint64_t)&tensor_list, 13, 0 },
                              { (uint64_t)&number_list, 13, 0 },
                              { 42, 5, 0 },
                              { real, 3, 0 },
                              { 1, 9, 0 },
                              { 0, 0, 0 },
                              { 0xdead, 11, 0 } };
    end(begin(
        &(struct standin_operator){ .name = "aten::given", .sequence = -1, .inputs = values, .input_count = 10 }));
    struct value many_values[400];
    for (int i = 0; i < 400; i++)
        many_values[i] = values[0];
    end(begin(
        &(struct standin_operator){ .name = "aten::much", .sequence = -1, .inputs = many_values, .input_count = 400 }));
}

/* More than a record of inputs has room for, if all of it were told; and a tensor of many dimensions. */
static void lists(void)
{
    static struct tensor matrix = { .dimensions = 2, .sizes = { 2, 3 }, .strides = { 3, 1 }, .elements = 6, .type = 6 };
    static struct list_type of_tensors = { .kind = 3 };
    struct value tensors[150];
    for (int i = 0; i < 150; i++)
        tensors[i] = (struct value){ (uint64_t)&matrix, 1, 0 };
    struct list all = { .first = tensors, .last = tensors + 150, .end = tensors + 150, .type = &of_tensors },
                some = all;
    some.last = tensors + 31;
    struct value values[] = {
        { (uint64_t)&all, 13, 0 }, { (uint64_t)&some, 13, 0 }, { (uint64_t)&all, 13, 0 }, { 42, 5, 0 }
    };
    end(begin(&(struct standin_operator){
        .name = "aten::_foreach_add_", .sequence = -1, .inputs = values, .input_count = 4 }));
    int64_t storage[2 * 20];
    for (int i = 0; i < 2 * 20; i++)
        storage[i] = i < 20 ? i + 1 : 1;
    struct deep_tensor deep = { .dimensions = 20, .storage = storage, .elements = 1, .type = 6 };
    struct value value = { (uint64_t)&deep, 1, 0 };
    end(begin(&(struct standin_operator){ .name = "aten::deep", .sequence = -1, .inputs = &value, .input_count = 1 }));
}

/* Training: a batch, forward, backward, the optimizer. A step takes some milliseconds. Now and then it forks, in
 * whatever phase the capture is. */
/* A worker of a DataLoader, or a child that has steps of its own. */
static void work_in_child(int has_steps)
{
    for (int step = 0; step < (has_steps ? 3 : 1); step++) {
        void *whole = open_operator(has_steps ? "step" : "annotation", USER, -1, 0);
        end(open_operator(has_steps ? "child with steps" : "child", FUNCTION, -1, 0));
        end(whole);
    }
}

static void train(void)
{
    static struct tensor matrix = { .dimensions = 2, .sizes = { 2, 3 }, .strides = { 3, 1 }, .elements = 6, .type = 6 };
    struct value value = { (uint64_t)&matrix, 1, 0 };
    for (int step = 0; step < 60; step++) {
        uint64_t before = *observations;
        end(open_operator("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", USER, -1, 0));
        void *linear = begin(
            &(struct standin_operator){ .name = "aten::linear", .sequence = step, .inputs = &value, .input_count = 1 });
        end(open_operator("aten::addmm", FUNCTION, step, 0));
        end(linear);
        end(open_operator("AddmmBackward0", BACKWARD, step, 1));
        void *optimizer = open_operator("Optimizer.step#SGD.step", USER, -1, 0);
        end(open_operator("aten::add_", FUNCTION, -1, 0));
        usleep(5000);
        pid_t child = step % 8 == 7 ? fork() : -1;
        if (child == 0) {
            work_in_child(step == 55);
            exit(0);
        }
        if (child > 0)
            waitpid(child, NULL, 0);
        end(optimizer);
        printf("%llu ", (unsigned long long)(*observations - before));
        fflush(stdout);
    }
    puts("trained");
}

/* Operators of some microseconds each, until standard input ends; with marks of steps or without any annotation. */
static void work(int has_steps)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    volatile unsigned sum = 0;
    long operators = 0, steps = 0;
    for (; poll(&input, 1, 0) == 0; steps++) {
        for (int i = 0; i < 200; i++, operators++) {
            void *op = open_operator("aten::work", FUNCTION, -1, 0);
            for (int j = 0; j < 8000; j++)
                sum += j;
            end(op);
        }
        if (has_steps)
            end(open_operator("Optimizer.step#SGD.step", USER, -1, 0));
    }
    printf("%ld %ld\n", operators, steps);
}

static void works_in_steps(void)
{
    work(1);
}

static void works(void)
{
    work(0);
}

/* Steps of 4 ms, which take more than twice as long while somebody observes their operators. */
static void is_slow_if_observed(void)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    long steps = 0, observed = 0;
    for (; poll(&input, 1, 0) == 0; steps++) {
        for (int i = 0; i < 4; i++) {
            uint64_t before = *observations;
            end(open_operator("aten::work", FUNCTION, -1, 0));
            usleep(*observations > before ? 2500 : 1000);
            observed += *observations > before;
        }
        end(open_operator("Optimizer.step#SGD.step", USER, -1, 0));
    }
    printf("%ld %ld\n", observed, steps);
}

static void memory(void)
{
    void *op = open_operator("aten::empty", FUNCTION, -1, 0), *taken = allocate(4096);
    end(op);
    give_back(taken, 4096);
    printf("%llu reports\n", (unsigned long long)*reports);
}

/* Whoever observes operators first, which is not the program, stays in torch until it has forked. */
static _Atomic int is_to_wait, is_being_observed, has_forked;

void standin_is_observed(void)
{
    is_being_observed = 1;
    while (is_to_wait && !has_forked)
        sched_yield();
}

static void *load(void *path)
{
    return dlopen(path, RTLD_NOW);
}

static void *fork_amid_the_load(const char *path)
{
    pthread_t thread;
    void *library;
    is_to_wait = 1;
    pthread_create(&thread, NULL, load, (void *)path);
    while (!is_being_observed)
        sched_yield();
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    has_forked = 1;
    pthread_join(thread, &library);
    waitpid(child, NULL, 0);
    return library;
}

static void *load_by(const char *loader, const char *path)
{
    void *library = dlopen(loader, RTLD_NOW);
    void *(*load)(const char *) = library ? (void *(*)(const char *))dlsym(library, "load") : NULL;
    void *loaded = load ? load(path) : NULL;
    if (loaded)
        load(loader);
    return loaded;
}

int main(int argc, char **argv)
{
    setrlimit(RLIMIT_CPU, &(struct rlimit){ 60, 60 }); /* it waits for the agent for ever where there is none */
    static const struct {
        const char *name;
        void (*run)(void);
    } scenes[] = {
        { "plain", plain },     { "hostile", hostile },
        { "threads", threads }, { "forks", forks },
        { "dies", dies },       { "observed", observed },
        { "memory", memory },   { "forks amid the load", plain },
        { "train", train },     { "works in steps", works_in_steps },
        { "works", works },     { "is slow if observed", is_slow_if_observed },
    };
    int is_forked = strcmp(argv[2], "forks amid the load") == 0;
    void *library = is_forked  ? fork_amid_the_load(argv[1])
                    : argc > 3 ? load_by(argv[3], argv[1])
                               : dlopen(argv[1], RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    begin = dlsym(library, "standin_begin");
    end = dlsym(library, "standin_end");
    observe = dlsym(library, "standin_observe");
    deleted = dlsym(library, "standin_contexts_deleted");
    observations = dlsym(library, "standin_observed");
    allocate = dlsym(library, "standin_allocate");
    give_back = dlsym(library, "standin_free");
    reports = dlsym(library, "standin_reports");
    if (strcmp(argv[2], "lists") == 0)
        lists();
    if (strcmp(argv[2], "inputs") == 0)
        inputs(dlsym(library, "_ZN3c1019UndefinedTensorImpl10_singletonE"));
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        if (strcmp(argv[2], scenes[i].name) == 0)
            scenes[i].run();
    return 0;
}
