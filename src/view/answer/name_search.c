/* Searches the names of a timeline for substrings, whole names and regular expressions. Each distinct name is matched
 * once.
 *
 * Patterns come from the page and may be hostile. The regex engine bounds the time for each character, LONGEST_NAME
 * bounds the length of a name, and a timeout, which is checked between names, bounds the whole search. */
#include "name_search.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/calls.h"
#include "analyze/model/names/operator_text.h"
#include "base/array.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/regex/regex.h"

enum {
    LONGEST_PATTERN = 1000, /* bytes: the limit for searches, below that of the engine (REGEX_LONGEST) */
    LONGEST_NAME = 4096,    /* bytes of a name that an expression is matched with */
    LIMIT_MS = 3000,
    SHORT_TEXT = 64,        /* up to here, comparing at each place is faster than folding a copy of the name */
    MOST_VERDICTS = 1 << 27 /* greater ids come from damaged reports, or there are too many names to remember */
};

void name_search_free(struct name_search *search)
{
    regex_free(search->regex);
    free(search->text);
    free(search->verdicts[0]);
    free(search->verdicts[1]);
    text_free(&search->folded);
    *search = (struct name_search){ 0 };
}

/* ---- beginning ------------------------------------------------------------------------------------------------- */

static int compile(struct name_search *search, const char *pattern, size_t length, struct error *err)
{
    struct error reason = { 0 };

    if (length > LONGEST_PATTERN)
        return error_set(err, ERR_BAD_ARGUMENT, "a regular expression has at most %d bytes", LONGEST_PATTERN);
    search->regex = regex_compile(pattern, length, search->with_case ? 0 : REGEX_IGNORE_CASE, &reason);
    if (search->regex)
        return 0;
    if (reason.code == ERR_NO_MEMORY)
        return error_no_memory(err);
    return error_set(err, ERR_BAD_ARGUMENT, "the regular expression is not valid: %s", reason.text);
}

static int read_mode(const struct arguments *arguments, enum name_search_mode *mode, struct error *err)
{
    static const char *const modes[] = { "substring", "regex", "exact" };
    const char *given = argument_text(arguments, "mode", NULL);

    *mode = SEARCH_SUBSTRING;
    if (!given)
        return 0;
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        if (strcmp(given, modes[i]) == 0) {
            *mode = (enum name_search_mode)i;
            return 0;
        }
    return error_set(err, ERR_BAD_ARGUMENT, "mode=%.40s: must be substring, regex or exact", given);
}

/* Only letters of ASCII: a byte above is part of a longer character. */
static inline char fold(char c)
{
    return (unsigned char)(c - 'A') < 26 ? (char)(c | 0x20) : c;
}

/* Reads the arguments. A search for a name of an event ignores the text. */
static int read_question(struct name_search *search, const struct arguments *arguments, struct error *err)
{
    int64_t with_case = 0, name = -1;
    size_t length = 0;
    const char *text = argument_text(arguments, "text", &length);
    int code;

    if ((code = argument_int(arguments, "case", 0, 1, &with_case, err)) != 0 ||
        (code = argument_int(arguments, "name", 0, UINT32_MAX, &name, err)) != 0 ||
        (code = read_mode(arguments, &search->mode, err)) != 0)
        return code;
    if (!text && name < 0)
        return error_set(err, ERR_BAD_ARGUMENT, "%s: the argument text (or name) is missing", arguments->request);
    if (name >= 0) {
        *search = (struct name_search){ .mode = SEARCH_NAME, .name = (uint32_t)name };
        text = "";
        length = 0;
    }
    search->with_case = (int)with_case;
    search->length = length;
    search->text = malloc(length + 1);
    if (!search->text)
        return error_no_memory(err);
    if (search->with_case || search->mode == SEARCH_REGEX)
        memcpy(search->text, text, length);
    else
        for (size_t i = 0; i < length; i++)
            search->text[i] = fold(text[i]);
    search->text[length] = 0;
    return 0;
}

static int name_search_is_same(const struct name_search *a, const struct name_search *b)
{
    return a->text && a->mode == b->mode && a->with_case == b->with_case && a->name == b->name &&
           a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

int name_search_begin(struct name_search *search, struct view *view, const struct arguments *arguments,
                      struct error *err)
{
    struct name_search asked = { 0 };
    int code;

    if ((code = read_question(&asked, arguments, err)) != 0)
        goto free_asked;
    if (!name_search_is_same(search, &asked)) {
        if (asked.mode == SEARCH_REGEX && (code = compile(&asked, asked.text, asked.length, err)) != 0)
            goto free_asked;
        name_search_free(search);
        *search = asked;
        asked = (struct name_search){ 0 };
    }
    search->limit = clock_limit_begin(INT64_C(1000000) * LIMIT_MS);
free_asked:
    name_search_free(&asked);
    return code;
}

/* ---- one name -------------------------------------------------------------------------------------------------- */

static int is_equal(const struct name_search *search, const char *name, size_t length)
{
    if (length != search->length)
        return 0;
    if (search->with_case)
        return memcmp(name, search->text, length) == 0;
    for (size_t i = 0; i < length; i++)
        if (fold(name[i]) != search->text[i])
            return 0;
    return 1;
}

/* The tables of analyses show calls without their version, ranges after their domain (":forward" is the range
 * "forward"), and operators of emit_nvtx with their numbers. */
static int name_search_is_exact(const struct name_search *search, const char *name, size_t length)
{
    struct name_search shown = *search;

    shown.length = operator_name_length(search->text, search->length);
    const char *colon = memchr(shown.text, ':', shown.length);
    struct name_search behind = shown;
    if (is_equal(search, name, length) || is_equal(&shown, name, length) ||
        is_equal(&shown, name, call_name_length(name, length)))
        return 1;
    if (!colon)
        return 0;
    behind.text = shown.text + (colon - shown.text) + 1;
    behind.length = shown.length - (size_t)(colon - shown.text) - 1;
    return behind.length && is_equal(&behind, name, length);
}

/* memmem() takes linear time, also for names that repeat themselves; comparing at each place would not. */
static int is_long_inside(struct name_search *search, const char *name, size_t length)
{
    struct text *folded = &search->folded;

    text_clear(folded);
    text_add_bytes(folded, name, length);
    for (size_t i = 0; i < folded->length; i++)
        folded->bytes[i] = fold(folded->bytes[i]);
    return memmem(text_string(folded), folded->length, search->text, search->length) != NULL;
}

static int name_search_is_inside(struct name_search *search, const char *name, size_t length)
{
    const char *text = search->text;

    if (search->length == 0)
        return 1;
    if (search->with_case)
        return memmem(name, length, text, search->length) != NULL;
    if (search->length > SHORT_TEXT)
        return is_long_inside(search, name, length);
    for (size_t i = 0; i + search->length <= length; i++) {
        size_t at = 0;
        while (at < search->length && fold(name[i + at]) == text[at])
            at++;
        if (at == search->length)
            return 1;
    }
    return 0;
}

static int is_like(struct name_search *search, const char *name, size_t length)
{
    return regex_matches(search->regex, name, length < LONGEST_NAME ? length : LONGEST_NAME);
}

static int name_search_is_name(const struct name_search *search, struct view *view, uint32_t name)
{
    size_t length, other_length;

    if (name == search->name)
        return 1;
    if (!report_strings_repeat(view->report))
        return 0;
    const char *text = view_name(view, name, &length), *other = view_name(view, search->name, &other_length);
    return length == other_length && memcmp(text, other, length) == 0;
}

int name_search_matches_slowly(struct name_search *search, struct view *view, uint32_t name, struct error *err)
{
    int is_own = (name & VIEW_OWN_NAME) != 0, matches = 0;
    uint32_t id = name & ~(uint32_t)VIEW_OWN_NAME;
    size_t length;

    /* verdicts are few where names are, and as many as names else; VERDICT_UNKNOWN is 0 */
    if (id < MOST_VERDICTS && array_reserve_zeroed(&search->verdicts[is_own], &search->verdict_room[is_own],
                                                   (size_t)id + 1, sizeof *search->verdicts[is_own]) != 0)
        return error_short_memory(err, "to search");
    if (cancel_is_raised(cancel_flag()))
        return error_set(err, ERR_CANCELLED, "the search was cancelled");
    if (search->mode == SEARCH_REGEX && clock_limit_is_over(&search->limit))
        return error_set(err, ERR_BAD_ARGUMENT,
                         "the search was cancelled after %d seconds of CPU time; use a simpler pattern",
                         LIMIT_MS / 1000);
    const char *text = view_name(view, name, &length);
    switch (search->mode) {
    case SEARCH_SUBSTRING: matches = name_search_is_inside(search, text, length); break;
    case SEARCH_REGEX: matches = is_like(search, text, length); break;
    case SEARCH_EXACT: matches = name_search_is_exact(search, text, length); break;
    default: matches = name_search_is_name(search, view, name);
    }
    if (id < MOST_VERDICTS)
        search->verdicts[is_own][id] = matches ? VERDICT_YES : VERDICT_NO;
    return matches;
}
