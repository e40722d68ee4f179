/* A unit is a word, or two words with a '/'. Words for times have a size in ns; others may have a prefix. */
#include "counter_units.h"

#include <math.h>
#include <string.h>

/* The first name of each size is the one that is printed. */
static const struct time_unit {
    const char *name, *old_name;
    double ns;
} times[] = { { "ns", "nsecond", 1 }, { "us", "usecond", 1e3 }, { "ms", "msecond", 1e6 }, { "s", "second", 1e9 } };
#define TIMES COUNT_OF(times)

static const struct prefix {
    char letter;
    double size;
} prefixes[] = { { 'K', 1e3 }, { 'M', 1e6 }, { 'G', 1e9 }, { 'T', 1e12 }, { 'P', 1e15 } };
#define PREFIXES COUNT_OF(prefixes)

/* Words that may have a prefix, and the greatest size that ncu scales them to by itself; 0: none. */
static const struct prefixed {
    const char *name;
    double most;
} prefixed[] = { { "byte", 1e15 }, { "hz", 1e9 }, { "inst", 0 },  { "sector", 0 },
                 { "cycle", 0 },   { "warp", 0 }, { "thread", 0 } };
#define PREFIXED COUNT_OF(prefixed)

struct word {
    const char *bytes;
    size_t length;
};

static int word_is(struct word word, const char *name)
{
    return word.length == strlen(name) && strncasecmp(word.bytes, name, word.length) == 0;
}

static const struct time_unit *counter_units_time_of(struct word word)
{
    for (size_t i = 0; i < TIMES; i++)
        if (word_is(word, times[i].name) || word_is(word, times[i].old_name))
            return &times[i];
    return NULL;
}

/* The word without its prefix. */
static const char *prefixed_of(struct word word, double *size)
{
    for (size_t i = 0; i < PREFIXED; i++)
        if (word_is(word, prefixed[i].name)) {
            *size = 1;
            return prefixed[i].name;
        }
    for (size_t p = 0; p < PREFIXES && word.length; p++)
        for (size_t i = 0; i < PREFIXED; i++)
            if (word.bytes[0] == prefixes[p].letter &&
                word_is((struct word){ word.bytes + 1, word.length - 1 }, prefixed[i].name)) {
                *size = prefixes[p].size;
                return prefixed[i].name;
            }
    return NULL;
}

double counter_unit_base(struct text *base, const char *unit, size_t length)
{
    const char *bar = memchr(unit, '/', length);
    struct word top = { unit, bar ? (size_t)(bar - unit) : length };
    struct word bottom = { bar ? bar + 1 : "", bar ? length - top.length - 1 : 0 };
    const struct time_unit *per = bar ? counter_units_time_of(bottom) : NULL,
                           *time = bar ? NULL : counter_units_time_of(top);
    double size = 1, below_size = 1;
    const char *name = time ? times[0].name : prefixed_of(top, &size);

    if (time)
        size = time->ns;
    if (per && name && strcmp(name, "cycle") == 0) {
        text_add(base, "hz");
        return size * times[TIMES - 1].ns / per->ns;
    }
    if (name)
        text_add(base, name);
    else
        text_add_bytes(base, top.bytes, top.length);
    const char *below = bar && !per ? prefixed_of(bottom, &below_size) : NULL;
    if (per)
        text_addf(base, "/%s", times[TIMES - 1].name);
    else if (below)
        text_addf(base, "/%s", below);
    else if (bar)
        text_add_bytes(base, bar, length - top.length);
    return per ? size * times[TIMES - 1].ns / per->ns : size * below_size;
}

static double scaled_time(struct text *out, double value)
{
    size_t i = TIMES - 1;

    while (i > 0 && value < times[i].ns)
        i--;
    text_add(out, times[i].name);
    return times[i].ns;
}

/* Rates that have no prefix of their own: sector/ns. */
static double scaled_rate(struct text *out, const char *base, size_t length, double value)
{
    size_t i = TIMES - 1;

    while (i > 0 && value >= times[TIMES - 1].ns / times[i - 1].ns)
        i--;
    text_addf(out, "%.*s/%s", (int)length, base, times[i].name);
    return times[TIMES - 1].ns / times[i].ns;
}

static double most_of(struct word word)
{
    for (size_t i = 0; i < PREFIXED; i++)
        if (word_is(word, prefixed[i].name))
            return prefixed[i].most;
    return 0;
}

double counter_unit_scaled(struct text *out, const char *base, double value)
{
    const char *bar = strchr(base, '/');
    struct word top = { base, bar ? (size_t)(bar - base) : strlen(base) };
    struct word bottom = { bar ? bar + 1 : "", bar ? strlen(bar + 1) : 0 };
    double most = most_of(top);
    const char *word = most > 0 ? top.bytes : bottom.bytes; /* ncu multiplies also in %/Kbyte */
    size_t p = PREFIXES;

    value = fabs(value);
    if (strcmp(base, times[0].name) == 0)
        return scaled_time(out, value);
    if (!(most > 0) && word_is(bottom, times[TIMES - 1].name))
        return scaled_rate(out, base, top.length, value);
    most = most > 0 ? most : most_of(bottom);
    while (p > 0 && (value < prefixes[p - 1].size || most < prefixes[p - 1].size))
        p--;
    if (!p) {
        text_add(out, base);
        return 1;
    }
    text_addf(out, "%.*s%c%s", (int)(word - base), base, prefixes[p - 1].letter, word);
    return prefixes[p - 1].size;
}
