/* The common part of dmon and pmon: nvidia-smi's options, the loop over rounds, and the outputs of lines. */
#ifndef TACHO_COMPAT_SMI_MONITOR_H
#define TACHO_COMPAT_SMI_MONITOR_H

#include "cmd/monitor/gpu_feed.h"
#include "monitor_table.h"

/* Filled by the options; the first member of a command's settings. */
struct monitor_settings {
    struct gpu_feed_settings feed;
    const char *letters, *file;
    struct option_list options, formats;
};

/* The rows of these options: MONITOR_OPTIONS(type, member, help of -s, value and help of -o). */
#define MONITOR_OPTIONS(type, member, select_help, options_value, options_help)                                       \
    GPU_FEED_OPTIONS(type, member.feed),                                                                              \
    { .name = "count", .letter = 'c', .kind = OPTION_CUSTOM, .value = "N", .take = gpu_feed_take_count,               \
      .help = "Stop after N readings. Default: run until Ctrl-C." },                                                  \
    { .name = "select", .letter = 's', .kind = OPTION_TEXT, .offset = offsetof(type, member.letters),                 \
      .value = "LETTERS", .help = select_help },                                                                      \
    { .name = "options", .letter = 'o', .kind = OPTION_LIST, .offset = offsetof(type, member.options),                \
      .value = options_value, .help = options_help },                                                                 \
    { .name = "filename", .letter = 'f', .kind = OPTION_TEXT, .offset = offsetof(type, member.file),                  \
      .value = "FILE", .help = "Write to FILE instead of stdout." },                                                  \
    { .name = "format", .kind = OPTION_LIST, .offset = offsetof(type, member.formats), .value = "LIST",               \
      .words = monitor_formats,                                                                                       \
      .help = "Output format: csv (commas between values), nounit (no line of units), noheader (no line of "          \
              "names); several are separated by commas. Default: columns." },                                         \
    { .name = "json", .kind = OPTION_FLAG, .offset = offsetof(type, member.feed.is_json),                             \
      .help = "Print each line as a JSON object, in base units (W, Hz, bytes, bytes/s) and with the time in UTC." }
extern const char *const monitor_formats[];

/* Exit statuses of nvidia-smi, which scripts compare: an unknown GPU, and unknown letters of -s. */
enum { MONITOR_NO_GPU = 6, MONITOR_NO_COLUMN = 255 };
extern const struct entry monitor_exits[];

struct monitor {
    const struct command *self;
    const struct monitor_settings *settings;
    struct monitor_table table; /* the command sets its columns */
    struct gpu_feed_wish wish;  /* the command sets readings and processes */
    int can_record;             /* -o takes a report */
    const char *report;         /* from -o; NULL: none */
    int has_no_gpu;             /* as the feed says */
    /* Adds the lines of a round. */
    void (*add_round)(struct monitor *monitor, const struct gpu_feed *feed, struct text *out);
};

/* Runs until the rounds are over; returns the exit status. */
int monitor_run(struct monitor *monitor);

/* Hands each word of a list with commas to take(), until that fails. */
int monitor_each_word(const char *list, int (*take)(void *context, const char *word, struct error *err), void *context,
                      struct error *err);

/* Chooses the columns of -s: 0; -1: a letter is unknown; prints that, and sets *status to the exit status. */
int monitor_select(struct monitor *monitor, const struct monitor_column *columns, size_t count, int *status);

#endif
