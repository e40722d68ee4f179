/* Reports, rules, their options and the part of a file, from the words of a command line. */
#include "selection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/report_options.h"
#include "analyze/model/nvtx_span.h"
#include "analyze/model/torch/steps_read.h"
#include "analyze/registry.h"
#include "base/human.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/saturating.h"
#include "cmd/print/display.h"

/* The names that one command knows and another does not. */
static const struct {
    const struct analysis *const *registry;
    const char *noun, *command;
} known[] = { { analyses, "report", "stats" }, { rules, "rule", "analyze" } };

int selection_unknown(const struct analysis *const *registry, const char *noun, const char *name, struct error *err)
{
    const char *names[WANTED_MOST];
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (analysis_in(known[i].registry, name))
            return error_set(err, ERR_BAD_ARGUMENT, "'%s' is a %s, not a %s: tacho %s -r %s", name, known[i].noun, noun,
                             known[i].command, name);
    for (; registry[count] && count + 1 < WANTED_MOST; count++)
        names[count] = registry[count]->name;
    names[count] = NULL;
    const char *nearest = nearest_name(name, names);
    if (nearest)
        return error_set(err, ERR_BAD_ARGUMENT, "unknown %s '%s'; did you mean %s?", noun, name, nearest);
    return error_set(err, ERR_BAD_ARGUMENT, "unknown %s '%s'; tacho %s --help-%ss lists the names", noun, name,
                     strcmp(noun, "rule") == 0 ? "analyze" : "stats", noun);
}

int selection_add(struct selection_list *list, const struct analysis *analysis, struct error *err)
{
    if (list->count == WANTED_MOST)
        return error_set(err, ERR_BAD_ARGUMENT, "more than %d tables requested", WANTED_MOST);
    list->items[list->count++] = (struct selection_item){ .analysis = analysis };
    return 0;
}

static int selection_parse_one(struct selection_list *list, char *text, const struct analysis *const *registry,
                               const char *noun, struct error *err)
{
    char *rest = strchr(text, ':');

    if (rest)
        *rest++ = 0;
    const struct analysis *analysis = analysis_in(registry, text);
    if (!analysis) {
        if (!list->unknown.code)
            selection_unknown(registry, noun, text, &list->unknown);
        return 0;
    }
    if (selection_add(list, analysis, err) != 0)
        return err->code;
    struct selection_item *wanted = &list->items[list->count - 1];
    while (rest && *rest && wanted->option_count < WANTED_MOST_OPTIONS) {
        struct analysis_option *option = &wanted->options[wanted->option_count++];
        char *name = strsep(&rest, ":"), *value = strchr(name, '=');
        if (value)
            *value++ = 0;
        *option = (struct analysis_option){ name, value };
    }
    return 0;
}

int selection_parse(struct selection_list *list, const struct option_list *names,
                    const struct analysis *const *registry, const char *noun, struct error *err)
{
    for (size_t i = 0; i < names->count && list->text_count < COUNT_OF(list->texts); i++) {
        size_t count;
        char **split = option_split(names->values[i], &count);
        if (!split)
            return error_no_memory(err);
        list->texts[list->text_count++] = split;
        for (size_t j = 0; j < count; j++)
            if (selection_parse_one(list, split[j], registry, noun, err) != 0)
                return err->code;
    }
    if (list->unknown.code && list->count == 0) {
        *err = list->unknown;
        return err->code;
    }
    return 0;
}

int selection_set(struct selection_list *list, const struct analysis_option *option, struct error *err)
{
    size_t taken = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct selection_item *item = &list->items[i];
        const struct analysis_request request = { .options = option, .option_count = 1 };
        if (options_check(item->analysis->name, analysis_usage(item->analysis), &request, err) != 0 ||
            item->option_count == WANTED_MOST_OPTIONS)
            continue;
        memmove(item->options + 1, item->options, item->option_count * sizeof *item->options);
        item->options[0] = *option;
        item->option_count++;
        taken++;
    }
    *err = (struct error){ 0 };
    return taken ? 0
                 : error_set(err, ERR_BAD_ARGUMENT, "--%s: no report that was given with -r takes it", option->name);
}

void selection_free(struct selection_list *list)
{
    for (size_t i = 0; i < list->text_count; i++)
        free(list->texts[i]);
    list->text_count = list->count = 0;
}

size_t selection_options(const struct selection_item *wanted, struct analysis_option out[WANTED_MOST_OPTIONS + 1])
{
    size_t count = 0;

    if (wanted->analysis->for_people.name)
        out[count++] = wanted->analysis->for_people;
    memcpy(out + count, wanted->options, wanted->option_count * sizeof *out);
    return count + wanted->option_count;
}

/* The option of a part of the file, the word for it in the names of files, and the value. */
struct part_word {
    const char *option, *word, *value;
};
enum { PART_WORDS = 9 };

static void part_words(const struct selection_part_settings *part, struct part_word words[PART_WORDS])
{
    const struct part_word list[PART_WORDS] = {
        { "filter-time", "time", part->time },
        { "filter-nvtx", "nvtx", part->nvtx },
        { "filter-pid", "pid", part->pid },
        { "filter-tid", "tid", part->tid },
        { "filter-device", "device", part->device },
        { "filter-stream", "stream", part->stream },
        { "steps", "steps", part->steps },
        { "step-range", "step-range", part->step_range },
        { "step-op", "step-op", part->step_operator },
    };

    memcpy(words, list, sizeof list);
}

/* before_comma: what stands before a comma in a value, which separates reports on a command line. */
static void add_with_options(struct text *out, const struct selection_item *wanted, const char *before_comma)
{
    text_add(out, wanted->analysis->name);
    for (size_t i = 0; i < wanted->option_count; i++) {
        text_addf(out, ":%s%s", wanted->options[i].name, wanted->options[i].value ? "=" : "");
        for (const char *c = wanted->options[i].value; c && *c; c++) {
            text_add(out, *c == ',' ? before_comma : "");
            text_add_char(out, *c);
        }
    }
}

void selection_name(struct text *out, const struct selection_item *wanted, const struct selection_part_settings *part)
{
    struct part_word words[PART_WORDS];

    part_words(part, words);
    add_with_options(out, wanted, "");
    for (size_t i = 0; i < PART_WORDS; i++)
        if (words[i].value)
            text_addf(out, ":%s=%s", words[i].word, words[i].value);
}

void selection_command(struct text *out, const struct selection_item *wanted,
                       const struct selection_part_settings *part)
{
    struct text name = { 0 };
    struct part_word words[PART_WORDS];

    part_words(part, words);
    add_with_options(&name, wanted, "\\");
    text_add(out, " -r ");
    display_add_quoted(out, text_string(&name));
    text_free(&name);
    for (size_t i = 0; i < PART_WORDS; i++)
        if (words[i].value) {
            text_addf(out, " --%s=", words[i].option);
            display_add_quoted(out, words[i].value);
        }
}

/* ---- the part of a file ---------------------------------------------------------------------------------------- */

static int parse_span(const char *text, struct report_span *out, struct error *err)
{
    const char *slash = strchr(text, '/');

    *out = (struct report_span){ INT64_MIN, INT64_MAX };
    if (!slash || (slash > text && !human_read_time(text, (size_t)(slash - text), &out->from_ns)) ||
        (slash[1] && !human_read_time(slash + 1, strlen(slash + 1), &out->to_ns)))
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--filter-time must be START/END in ns or with a unit (1.5s/2s), not "
                         "'%s'",
                         text);
    if (out->from_ns > out->to_ns)
        return error_set(err, ERR_BAD_ARGUMENT, "--filter-time '%s' ends before it starts", text);
    return 0;
}

/* Whether a bound is in ns because it names no unit. */
static int selection_is_bare(const char *bound, size_t length)
{
    return length && ((unsigned char)(bound[length - 1] - '0') <= 9 || bound[length - 1] == '.');
}

/* Whether a bound is likely to be meant in another unit than ns, which it is in: 0.5, or 3 in a report of seconds. */
static int selection_is_doubtful(const char *bound, size_t length, int64_t ns, int64_t whole_ns)
{
    enum { TINY = 1000000 };

    if (!selection_is_bare(bound, length))
        return 0;
    return memchr(bound, '.', length) || (ns != 0 && ns > -(whole_ns / TINY) && ns < whole_ns / TINY);
}

/* A part without events prints empty tables: a user who thinks in seconds must learn why. */
static void warn_of_unit(const char *asked, const struct report_span *span, const struct report *report)
{
    const struct report_span whole = report_times(report);
    const char *slash = strchr(asked, '/');
    struct text line = { 0 };

    if (whole.from_ns > whole.to_ns)
        return;
    int64_t whole_ns = saturating_duration(whole.from_ns, whole.to_ns);
    if (span->from_ns <= whole.to_ns && span->to_ns >= whole.from_ns &&
        !selection_is_doubtful(asked, (size_t)(slash - asked), span->from_ns, whole_ns) &&
        !selection_is_doubtful(slash + 1, strlen(slash + 1), span->to_ns, whole_ns))
        return;
    text_add(&line, "tacho: --filter-time=");
    display_add(&line, asked, strlen(asked), 0);
    text_add(&line, selection_is_bare(asked, (size_t)(slash - asked)) || selection_is_bare(slash + 1, strlen(slash + 1))
                        ? " is in ns unless it has a unit (1.5s/2s); the report spans "
                        : " is outside the report, which spans ");
    number_add_integer(&line, whole.from_ns, 1);
    text_add(&line, " to ");
    number_add_integer(&line, whole.to_ns, 1);
    fprintf(stderr, "%s ns\n", text_string(&line));
    text_free(&line);
}

static int selection_parse_number(const char *option, const char *text, int bit, int64_t *out,
                                  struct analysis_filter *filter, struct error *err)
{
    char *end;

    if (!text)
        return 0;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return error_set(err, ERR_BAD_ARGUMENT, "--filter-%s must be a number, not '%s'", option, text);
    filter->only |= bit;
    return 0;
}

static int selection_find_steps(const struct selection_part_settings *settings, struct report *report,
                                struct selection_part *out, struct error *err)
{
    const struct steps_request request = { settings->step_range, settings->step_operator, .may_guess = 1 };

    if (!settings->steps && !request.range && !request.op)
        return 0;
    if (settings->steps && steps_check(settings->steps, err) != 0) /* wrong, whether or not the report has any */
        return err->code;
    if (steps_read(&out->steps, report, &request, err) != 0 ||
        (settings->steps && steps_choose(&out->steps, settings->steps, err) != 0))
        return err->code;
    out->filter.only |= settings->steps ? ONLY_STEPS : 0;
    out->filter.steps = &out->steps;
    return 0;
}

void selection_part_free(struct selection_part *part)
{
    steps_free(&part->steps);
}

void selection_part_note(struct text *out, const struct selection_part *part)
{
    size_t chosen = 0;

    for (size_t i = 0; i < part->steps.count; i++)
        chosen += (size_t)part->steps.list[i].is_chosen;
    if (part->steps.count)
        text_addf(out, "Counting %zu of %zu %s.\n", chosen, part->steps.count, part->steps.source);
}

int selection_part_find(const struct selection_part_settings *settings, struct report *report,
                        struct selection_part *out, struct error *err)
{
    struct report_span range;
    struct analysis_filter *filter = &out->filter;

    *out = (struct selection_part){ .span = { INT64_MIN, INT64_MAX }, .is_whole = settings->all_steps };
    if (selection_parse_number("pid", settings->pid, ONLY_PID, &filter->pid, filter, err) != 0 ||
        selection_parse_number("tid", settings->tid, ONLY_TID, &filter->tid, filter, err) != 0 ||
        selection_parse_number("device", settings->device, ONLY_DEVICE, &filter->device, filter, err) != 0 ||
        selection_parse_number("stream", settings->stream, ONLY_STREAM, &filter->stream, filter, err) != 0)
        return err->code;
    if (selection_find_steps(settings, report, out, err) != 0)
        return err->code;
    if (settings->time && parse_span(settings->time, &out->span, err) != 0)
        return err->code;
    if (settings->time)
        warn_of_unit(settings->time, &out->span, report);
    out->has_span = settings->time || settings->nvtx;
    if (!settings->nvtx)
        return 0;
    if (nvtx_span_find(report, settings->nvtx, &range, err) != 0)
        return err->code;
    out->span.from_ns = range.from_ns > out->span.from_ns ? range.from_ns : out->span.from_ns;
    out->span.to_ns = range.to_ns < out->span.to_ns ? range.to_ns : out->span.to_ns;
    return 0;
}

struct analysis_request selection_part_request(const struct selection_part *part, const struct selection_item *wanted)
{
    return (struct analysis_request){
        .options = wanted->options,
        .option_count = wanted->option_count,
        .span = part->has_span ? &part->span : NULL,
        .filter = part->filter.only || part->filter.steps ? &part->filter : NULL,
        .is_whole = part->is_whole,
    };
}
