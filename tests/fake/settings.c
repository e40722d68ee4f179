/* The settings of the stand-ins, kept in libcuda, where all of them and the program under test find them. */
#include <ctype.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu.h"

static const struct {
    const char *name;
    int64_t value;
} settings[] = {
#define SETTING(name, value) { #name, value },
    FAKE_SETTINGS(SETTING)
#undef SETTING
};
#define SETTING_COUNT (sizeof settings / sizeof settings[0])

static _Atomic int64_t own_values[SETTING_COUNT];
static _Atomic int64_t *values = own_values;

/* The file that TACHO_FAKE_VALUES names holds the values, so that they can be read when the process is dead. */
static void map_values(void)
{
    const char *path = getenv("TACHO_FAKE_VALUES");
    int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file < 0)
        return;
    void *mapped = ftruncate(file, sizeof own_values) == 0
                       ? mmap(NULL, sizeof own_values, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                       : MAP_FAILED;
    if (mapped != MAP_FAILED)
        values = mapped;
    close(file);
}

__attribute__((constructor)) static void read_environment(void)
{
    map_values();
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char variable[64] = "TACHO_FAKE_";
        size_t length = strlen(variable);
        for (const char *c = settings[i].name; *c; c++)
            variable[length++] = (char)toupper((unsigned char)*c);
        variable[length] = 0;
        const char *value = getenv(variable);
        values[i] = value ? strtoll(value, NULL, 10) : settings[i].value;
    }
}

static _Atomic int64_t *find(const char *name)
{
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (strcmp(settings[i].name, name) == 0)
            return &values[i];
    fprintf(stderr, "fake: there is no setting %s\n", name);
    abort();
}

EXPORT void fake_set(const char *name, int64_t value)
{
    atomic_store(find(name), value);
}

EXPORT int64_t fake_get(const char *name)
{
    return atomic_load(find(name));
}

EXPORT int64_t fake_add(const char *name, int64_t more)
{
    return atomic_fetch_add(find(name), more);
}

EXPORT int64_t fake_take(const char *name)
{
    _Atomic int64_t *value = find(name);
    int64_t now = atomic_load(value);
    while (now > 0)
        if (atomic_compare_exchange_weak(value, &now, now - 1))
            return 1;
    return 0;
}
