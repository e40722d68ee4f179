/* The settings of the stand-ins, kept in libcuda, where all of them and the program under test find them. */
#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

static struct { const char *name; _Atomic int64_t value; } settings[] = {
#define SETTING(name, value) { #name, value },
    FAKE_SETTINGS(SETTING)
#undef SETTING
};
#define SETTING_COUNT (sizeof settings / sizeof settings[0])

__attribute__((constructor)) static void read_environment(void)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char variable[64] = "TACHO_FAKE_";
        size_t length = strlen(variable);
        for (const char *c = settings[i].name; *c; c++)
            variable[length++] = (char)toupper((unsigned char)*c);
        variable[length] = 0;
        const char *value = getenv(variable);
        if (value)
            settings[i].value = strtoll(value, NULL, 10);
    }
}

static _Atomic int64_t *find(const char *name)
{
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (strcmp(settings[i].name, name) == 0)
            return &settings[i].value;
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
