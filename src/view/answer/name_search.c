/* Substrings, whole names and POSIX regular expressions over the names of a timeline.
 *
 * A pattern comes from whoever has the page. Those that an expression's compiler or matcher could lose itself in
 * (back-references, large counts) are refused; what is left has a limit of time, looked at between names, and
 * sees as much of a name as takes a part of that at most, since nothing ends a match that has begun. Only
 * distinct names are ever matched. */
#include "name_search.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/calls.h"
#include "base/cancel.h"
#include "base/clock.h"

enum {
    LONGEST_PATTERN = 1000,
    MOST_PARTS = 1000,      /* of a pattern that is written out: (ab){3} has more than six; */
    HEAVY_PARTS = 100,      /* what is hard on the C library's compiler, whose time may double
                             * with each, counts as so many */
    MOST_GROUPS = 50,       /* open at the same time */
    LONGEST_NAME = 4096,    /* as far as an expression looks, */
    LEAST_NAME = 64,        /* however many parts it has; */
    MOST_STEPS = 126000,    /* characters times parts: a match, which nothing ends, then takes a
                             * tenth of a second at worst */
    LIMIT_MS = 3000,
    SHORT_TEXT = 64,        /* as far as comparing at each place is quicker than copying a name */
    MOST_VERDICTS = 1 << 27 /* ids beyond that are of damaged reports, or of too many names to remember */
};

struct search_regex {
    regex_t compiled;
    size_t longest; /* as far as it looks */
    char name[LONGEST_NAME + 1];
};

void name_search_free(struct search *search)
{
    if (search->regex)
        regfree(&search->regex->compiled);
    free(search->regex);
    free(search->text);
    free(search->verdicts[0]);
    free(search->verdicts[1]);
    text_free(&search->folded);
    *search = (struct search){ 0 };
}

/* ---- beginning ------------------------------------------------------------------------------------------------- */

/* What a count in braces, or a '+', multiplies the expression in front of it by: the
 * compiler writes it out so often. */
static int64_t copies_of(const char *at, char before)
{
    if (*at == '+')
        return strchr(")*+?}", before) && before ? 2 : 1;
    const char *comma = strpbrk(at, ",}");
    int64_t least = strtol(at + 1, NULL, 10), most = comma && *comma == ',' ? strtol(comma + 1, NULL, 10) : 0;
    int64_t copies = least > most ? least : most;
    return copies > 1 ? copies : 1;
}

/* How many parts an expression has, written out: of each group that is open, and of the last part,
 * which a count multiplies. */
struct parts {
    int64_t in_group[MOST_GROUPS + 1], last;
    int groups, has_anchor;
};

/* Groups that are repeated without end in an expression with ^ or $, and borders of words. */
static int is_heavy(const struct parts *parts, const char *at, char before)
{
    int is_open = *at == '*' || *at == '+' ||
                  (*at == '{' && at[strspn(at + 1, "0123456789") + 1] == ',' &&
                   at[strspn(at + 1, "0123456789") + 2] == '}');

    return *at == '\\' ? at[1] && strchr("bB<>`'", at[1]) : is_open && parts->has_anchor && before == ')';
}

static int add_part(struct parts *parts, const char *at, char before)
{
    int64_t *sum = &parts->in_group[parts->groups];

    if (is_heavy(parts, at, before)) {
        *sum += HEAVY_PARTS;
        parts->last = *at == '\\' ? 0 : parts->last + HEAVY_PARTS;
    }
    if (*at == '(') {
        if (parts->groups++ == MOST_GROUPS)
            return 0;
        parts->in_group[parts->groups] = 1;
    } else if (*at == ')' && parts->groups > 0) {
        parts->last = *sum;
        parts->in_group[--parts->groups] += parts->last;
    } else if (*at == '{' || *at == '+') {
        int64_t copies = copies_of(at, before);
        *sum += parts->last * ((copies < MOST_PARTS ? copies : MOST_PARTS) - 1);
        parts->last *= copies < MOST_PARTS ? copies : MOST_PARTS;
    } else {
        parts->last = strchr("*?", *at) ? parts->last : 1; /* a count behind those is one of what is before them */
        ++*sum;
    }
    return parts->in_group[parts->groups] <= MOST_PARTS && parts->last <= MOST_PARTS;
}

static int refuse_size(struct error *err)
{
    return error_set(
        err, ERR_BAD_ARGUMENT,
        "a regular expression has at most %d parts, written out with every count, and %d groups in each other",
        MOST_PARTS, MOST_GROUPS);
}

/* The number of its parts, or a code with a sentence. */
static int check_pattern(const char *pattern, size_t length, struct error *err)
{
    struct parts parts = { .has_anchor = strpbrk(pattern, "^$\\") != NULL };
    const char *set = NULL; /* where the one that we are in begins */
    char before = 0;        /* 0: one of no meaning */

    if (length > LONGEST_PATTERN || memchr(pattern, 0, length))
        return error_set(err, ERR_BAD_ARGUMENT,
                         "a regular expression has at most %d characters, and none of them is NUL", LONGEST_PATTERN);
    for (const char *at = pattern; *at; before = set ? 0 : *at, at++) {
        if (set) {
            if (*at == ']' && at != set + 1 && (at != set + 2 || set[1] != '^'))
                set = NULL;
            continue;
        }
        if (*at == '\\' && isdigit((unsigned char)at[1]))
            return error_set(err, ERR_BAD_ARGUMENT,
                             "back-references such as \\%c are not for searching names: they take too long", at[1]);
        if (!add_part(&parts, at, before))
            return refuse_size(err);
        set = *at == '[' ? at : NULL;
        at += *at == '\\' && at[1] != 0;
        at += *at == '{' ? strcspn(at, "}") - (strchr(at, '}') == NULL) : 0;
    }
    return (int)parts.in_group[0];
}

static int compile(struct search *search, const char *pattern, size_t length, struct error *err)
{
    char reason[200];
    int parts = check_pattern(pattern, length, err);

    if (parts < 0)
        return parts;
    search->regex = malloc(sizeof *search->regex);
    if (!search->regex)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    search->regex->longest = LEAST_NAME;
    while (search->regex->longest < LONGEST_NAME && 2 * search->regex->longest * (size_t)parts < MOST_STEPS)
        search->regex->longest *= 2;
    int failure = regcomp(&search->regex->compiled, pattern,
                          REG_EXTENDED | REG_NOSUB | (search->with_case ? 0 : REG_ICASE));
    if (failure == 0)
        return 0;
    regerror(failure, &search->regex->compiled, reason, sizeof reason);
    free(search->regex);
    search->regex = NULL;
    return error_set(err, ERR_BAD_ARGUMENT, "the regular expression is not valid: %s", reason);
}

static int read_mode(const struct arguments *arguments, enum search_mode *mode, struct error *err)
{
    static const char *const modes[] = { "substring", "regex", "exact" };
    const char *given = argument_text(arguments, "mode", NULL);

    *mode = SEARCH_SUBSTRING;
    if (!given)
        return 0;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(given, modes[i]) == 0) {
            *mode = (enum search_mode)i;
            return 0;
        }
    return error_set(err, ERR_BAD_ARGUMENT, "mode=%.40s: must be substring, regex or exact", given);
}

/* Letters of ASCII alone: what lies above is part of longer characters. */
static inline char fold(char c)
{
    return (unsigned char)(c - 'A') < 26 ? (char)(c | 0x20) : c;
}

/* What is asked for, without its verdicts. */
static int read_question(struct search *search, const struct arguments *arguments, struct error *err)
{
    int64_t with_case = 0, name = -1;
    size_t length = 0;
    const char *text = argument_text(arguments, "text", &length);
    int code = argument_int(arguments, "case", 0, 1, &with_case, err);

    if (code == 0)
        code = argument_int(arguments, "name", 0, UINT32_MAX, &name, err);
    if (code == 0)
        code = read_mode(arguments, &search->mode, err);
    if (code == 0 && !text && name < 0)
        code = error_set(err, ERR_BAD_ARGUMENT, "%s: the argument text (or name) is missing", arguments->request);
    if (code != 0)
        return code;
    if (name >= 0) {
        *search = (struct search){ .mode = SEARCH_NAME, .name = (uint32_t)name };
        text = "";
        length = 0;
    }
    search->with_case = (int)with_case;
    search->length = length;
    search->text = malloc(length + 1);
    if (!search->text)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    if (search->with_case || search->mode == SEARCH_REGEX)
        memcpy(search->text, text, length);
    else
        for (size_t i = 0; i < length; i++)
            search->text[i] = fold(text[i]);
    search->text[length] = 0;
    return 0;
}

static int is_same(const struct search *a, const struct search *b)
{
    return a->text && a->mode == b->mode && a->with_case == b->with_case && a->name == b->name &&
           a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

int name_search_begin(struct search *search, struct view *view, const struct arguments *arguments, struct error *err)
{
    struct search asked = { 0 };
    int code = read_question(&asked, arguments, err);

    if (code == 0 && is_same(search, &asked)) {
        name_search_free(&asked);
    } else if (code == 0) {
        code = asked.mode == SEARCH_REGEX ? compile(&asked, asked.text, asked.length, err) : 0;
        if (code == 0) {
            name_search_free(search);
            *search = asked;
            asked = (struct search){ 0 };
        }
    }
    name_search_free(&asked);
    search->end_ns = clock_monotonic_ns() + INT64_C(1000000) * LIMIT_MS;
    return code;
}

/* ---- one name -------------------------------------------------------------------------------------------------- */

static int is_equal(const struct search *search, const char *name, size_t length)
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

/* The tables of analyses show calls without their version and ranges behind their domain:
 * ":forward" is the range "forward". */
static int is_exact(const struct search *search, const char *name, size_t length)
{
    const char *colon = memchr(search->text, ':', search->length);
    struct search behind = *search;

    if (is_equal(search, name, length) || is_equal(search, name, call_name_length(name, length)))
        return 1;
    if (!colon)
        return 0;
    behind.text = search->text + (colon - search->text) + 1;
    behind.length = search->length - (size_t)(colon - search->text) - 1;
    return behind.length && is_equal(&behind, name, length);
}

/* In time that grows with the name alone, however much of it repeats itself. */
static int is_long_inside(struct search *search, const char *name, size_t length)
{
    struct text *folded = &search->folded;

    text_clear(folded);
    text_add_bytes(folded, name, length);
    for (size_t i = 0; i < folded->length; i++)
        folded->bytes[i] = fold(folded->bytes[i]);
    return memmem(text_string(folded), folded->length, search->text, search->length) != NULL;
}

static int is_inside(struct search *search, const char *name, size_t length)
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

static int is_like(struct search *search, const char *name, size_t length)
{
    char *copy = search->regex->name;

    length = length < search->regex->longest ? length : search->regex->longest;
    for (size_t i = 0; i < length; i++)
        copy[i] = name[i] ? name[i] : ' ';
    copy[length] = 0;
    return regexec(&search->regex->compiled, copy, 0, NULL, 0) == 0;
}

static int is_name(const struct search *search, struct view *view, uint32_t name)
{
    size_t length, other_length;

    if (name == search->name)
        return 1;
    if (!report_strings_repeat(view->report))
        return 0;
    const char *text = view_name(view, name, &length), *other = view_name(view, search->name, &other_length);
    return length == other_length && memcmp(text, other, length) == 0;
}

/* Room for a verdict; they are few where names are, and as many as names else. */
static int make_room(struct search *search, int is_own, size_t wanted)
{
    size_t room = search->verdict_room[is_own], more = wanted * 2 + 1024;

    if (wanted < room)
        return 0;
    uint8_t *grown = realloc(search->verdicts[is_own], more);
    if (!grown)
        return ERR_NO_MEMORY;
    memset(grown + room, VERDICT_UNKNOWN, more - room);
    search->verdicts[is_own] = grown;
    search->verdict_room[is_own] = more;
    return 0;
}

int name_search_matches_slowly(struct search *search, struct view *view, uint32_t name, struct error *err)
{
    int is_own = (name & VIEW_OWN_NAME) != 0, matches = 0;
    uint32_t id = name & ~(uint32_t)VIEW_OWN_NAME;
    size_t length;

    if (id < MOST_VERDICTS && make_room(search, is_own, id) != 0)
        return error_set(err, ERR_NO_MEMORY, "not enough memory to search");
    if (cancel_is_raised(cancel_flag()))
        return error_set(err, ERR_CANCELLED, "the search was called off");
    if (search->mode == SEARCH_REGEX && clock_monotonic_ns() > search->end_ns)
        return error_set(err, ERR_BAD_ARGUMENT, "the search was given up after %d seconds; make the pattern simpler",
                         LIMIT_MS / 1000);
    const char *text = view_name(view, name, &length);
    switch (search->mode) {
    case SEARCH_SUBSTRING: matches = is_inside(search, text, length); break;
    case SEARCH_REGEX: matches = is_like(search, text, length); break;
    case SEARCH_EXACT: matches = is_exact(search, text, length); break;
    default: matches = is_name(search, view, name);
    }
    if (id < MOST_VERDICTS)
        search->verdicts[is_own][id] = matches ? VERDICT_YES : VERDICT_NO;
    return matches;
}
