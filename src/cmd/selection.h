/* The user's selection: reports or rules by name with their options, and the part of the file to read. */
#ifndef TACHO_CMD_SELECTION_H
#define TACHO_CMD_SELECTION_H

#include "analyze/engine/analysis.h"
#include "analyze/model/steps.h"
#include "option.h"

enum { WANTED_MOST = 128, WANTED_MOST_OPTIONS = 16 };

/* One report and the options after its name: "um_sum:rows=5". */
struct selection_item {
    const struct analysis *analysis;
    struct analysis_option options[WANTED_MOST_OPTIONS];
    size_t option_count;
};

struct selection_list {
    struct selection_item items[WANTED_MOST];
    size_t count;
    char **texts[64];     /* owned; the strings that the options point into */
    size_t text_count;
    struct error unknown; /* for the first name that is not in the registry; its code is 0 if all are */
};

/* ERR_BAD_ARGUMENT for a name that the registry does not have, with the one that was meant. noun: "report", "rule". */
int selection_unknown(const struct analysis *const *registry, const char *noun, const char *name, struct error *err);

/* Adds the reports that the values of an option name, several in each, separated by commas. registry is `analyses` or
 * `rules`; noun is what errors call one of them: "report", "rule". list starts as {0}. Unknown names fail only if no
 * name is known; else list->unknown describes the first, so that the command can fail at its end. */
int selection_parse(struct selection_list *list, const struct option_list *names,
                    const struct analysis *const *registry, const char *noun, struct error *err);
int selection_add(struct selection_list *list, const struct analysis *analysis, struct error *err);
/* Gives an option to all reports that take it; options after their names override it. ERR_BAD_ARGUMENT if none does. */
int selection_set(struct selection_list *list, const struct analysis_option *option, struct error *err);
void selection_free(struct selection_list *list);

/* The name with its options as given, and the filter: um_sum:rows=5:nvtx=step. */
struct selection_part_settings;
void selection_name(struct text *out, const struct selection_item *wanted, const struct selection_part_settings *part);

/* The options of a report for people: its own ones (struct analysis, for_people), then the user's. Returns their
 * number. */
size_t selection_options(const struct selection_item *wanted, struct analysis_option out[WANTED_MOST_OPTIONS + 1]);

/* The options of a command line that select the same: " -r um_sum:rows=5 --filter-nvtx=step". */
void selection_command(struct text *out, const struct selection_item *wanted,
                       const struct selection_part_settings *part);

/* The part of a file, as the options describe it. */
struct selection_part_settings {
    const char *time, *nvtx;
    const char *pid, *tid, *device, *stream;
    const char *steps, *step_range, *step_operator;
    int all_steps;
};

/* The rows of these options for a command's table: PART_OPTIONS(struct settings, part). STEP_OPTIONS are those about
 * steps, for commands that have no others. */
#define STEP_OPTIONS(type, member)                                                                                     \
    { .name = "steps", .kind = OPTION_TEXT, .offset = offsetof(type, member.steps), .value = "N[-M],…",                \
      .help = "Use only events that start in these steps (3-7, or 3,5,9-), and the GPU work that they launch." },      \
    { .name = "step-range", .kind = OPTION_TEXT, .offset = offsetof(type, member.step_range), .value = "PATTERN",      \
      .help = "Take the ranges that match this basic regular expression as the steps. Default: ProfilerStep#N, "       \
              "else 'iteration N' or 'step N', else what repeats." },                                                  \
    { .name = "step-op", .kind = OPTION_TEXT, .offset = offsetof(type, member.step_operator), .value = "NAME",         \
      .help = "Start a step at each call of this operator." }
#define PART_OPTIONS(type, member)                                                                                     \
    { .name = "filter-time", .kind = OPTION_TEXT, .offset = offsetof(type, member.time), .value = "[START]/[END]",     \
      .help = "Use only events that overlap this time range, in ns or with a unit (1.5s/2s). START or END may "        \
              "be omitted." },                                                                                         \
    { .name = "filter-nvtx", .kind = OPTION_TEXT, .offset = offsetof(type, member.nvtx),                               \
      .value = "RANGE[@DOMAIN][/N]",                                                                                   \
      .help = "Use only events that overlap this NVTX range, the N-th of that name counted from 0. Default N: "        \
              "0." },                                                                                                  \
    { .name = "filter-pid", .kind = OPTION_TEXT, .offset = offsetof(type, member.pid), .value = "PID",                 \
      .help = "Use only events of this process." },                                                                    \
    { .name = "filter-tid", .kind = OPTION_TEXT, .offset = offsetof(type, member.tid), .value = "TID",                 \
      .help = "Use only events of this thread, and the GPU work that it launches." },                                  \
    { .name = "filter-device", .kind = OPTION_TEXT, .offset = offsetof(type, member.device), .value = "N",             \
      .help = "Restrict GPU work to device N." },                                                                      \
    { .name = "filter-stream", .kind = OPTION_TEXT, .offset = offsetof(type, member.stream), .value = "N",             \
      .help = "Restrict GPU work to stream N." },                                                                      \
    STEP_OPTIONS(type, member)

/* The part in the form that an analysis needs. */
struct selection_part {
    struct report_span span;
    struct analysis_filter filter;
    int has_span, is_whole;
    struct steps steps; /* owned */
};
/* Resolves the settings. Says on stderr if the times look like those of another unit. Free the part in any case, before
 * the report is closed. */
int selection_part_find(const struct selection_part_settings *settings, struct report *report,
                        struct selection_part *out, struct error *err);
void selection_part_free(struct selection_part *part);
/* Adds a line with the selected steps; nothing if none were requested. */
void selection_part_note(struct text *out, const struct selection_part *part);
/* A request for one selected report and that part; it points into both. */
struct analysis_request selection_part_request(const struct selection_part *part, const struct selection_item *wanted);

#endif
