#include "monitor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/nearest.h"
#include "monitor_record.h"

/* ---- options --------------------------------------------------------------------------------------------------- */

const char *const monitor_formats[] = { "csv", "nounit", "noheader", NULL };

int monitor_each_word(const char *list, int (*take)(void *context, const char *word, struct error *err), void *context,
                      struct error *err)
{
    char **words = option_split(list, NULL);
    int code = 0;

    if (!words)
        return error_no_memory(err);
    for (char **word = words; *word; word++)
        if ((code = take(context, *word, err)) != 0)
            goto free_words;
free_words:
    free(words);
    return code;
}

static int monitor_take_format(void *context, const char *word, struct error *err)
{
    struct monitor_table *table = context;
    int *flags[] = { &table->is_csv, &table->without_units, &table->without_names };

    for (size_t i = 0; monitor_formats[i]; i++)
        if (strcmp(monitor_formats[i], word) == 0) {
            *flags[i] = 1;
            return 0;
        }
    const char *nearest = nearest_name(word, monitor_formats);
    if (nearest)
        return error_set(err, ERR_BAD_ARGUMENT, "--format cannot be '%s'; did you mean '%s'?", word, nearest);
    return error_set(err, ERR_BAD_ARGUMENT, "--format cannot be '%s'; use csv, nounit or noheader", word);
}

static int take_formats(struct monitor *monitor, struct error *err)
{
    int code;

    for (size_t i = 0; i < monitor->settings->formats.count; i++)
        if ((code = monitor_each_word(monitor->settings->formats.values[i], monitor_take_format, &monitor->table,
                                      err)) != 0)
            return code;
    return 0;
}

/* nvidia-smi's -o has letters; a name of a report cannot be taken for them. */
static int take_option(struct monitor *monitor, const char *value, struct error *err)
{
    const char *end = strrchr(value, '.');

    if (*value && !value[strspn(value, "DT")]) {
        monitor->table.has_date |= strchr(value, 'D') != NULL;
        monitor->table.has_time |= strchr(value, 'T') != NULL;
        return 0;
    }
    if (monitor->can_record && end && strcmp(end, ".tacho") == 0) {
        monitor->report = value;
        return 0;
    }
    return error_set(err, ERR_BAD_ARGUMENT, "--options must be D (date), T (time)%s, not '%s'",
                     monitor->can_record ? ", DT or a report to write (NAME.tacho)" : " or DT", value);
}

static int take_options(struct monitor *monitor, struct error *err)
{
    int code;

    for (size_t i = 0; i < monitor->settings->options.count; i++)
        if ((code = take_option(monitor, monitor->settings->options.values[i], err)) != 0)
            return code;
    return 0;
}

const struct entry monitor_exits[] = {
    { "0", "All readings were printed, or Ctrl-C ended them." },
    { "1", "There is no NVIDIA driver, or the output could not be written." },
    { "2", "The command line is wrong." },
    { "6", "There is no GPU, or none as -i names it." },
    { "255", "-s has a letter without columns." },
    { 0 },
};

int monitor_select(struct monitor *monitor, const struct monitor_column *columns, size_t count, int *status)
{
    const char *unknown = monitor_table_select(&monitor->table, columns, count, monitor->settings->letters);
    char letters[32] = "";
    struct error err = { 0 };

    if (!unknown)
        return 0;
    for (size_t i = 0, length = 0; i < count && length + 3 < sizeof letters; i++)
        if (columns[i].letter && !strchr(letters, columns[i].letter))
            length += (size_t)snprintf(letters + length, sizeof letters - length, "%s%c", length ? " " : "",
                                       columns[i].letter);
    error_set(&err, ERR_BAD_ARGUMENT, "--select cannot have '%c'; its letters are %s", *unknown, letters);
    command_fail(monitor->self, &err);
    *status = MONITOR_NO_COLUMN;
    return -1;
}

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

/* On a terminal the heading comes again before it has left the screen. In a pipe, nvidia-smi takes a screen of 48 rows:
 * it repeats the heading after 44 lines. */
static unsigned lines_per_heading(const struct monitor *monitor)
{
    struct winsize size;

    if (monitor->settings->file || monitor->table.is_csv)
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 8)
        size.ws_row = 48;
    return size.ws_row - 4u;
}

static void print_notes(const struct monitor *monitor, struct gpu_feed *feed)
{
    for (const char *line = text_string(&feed->notes); *line;) {
        size_t length = strcspn(line, "\n");
        fprintf(stderr, "tacho %s: %.*s\n", monitor->self->name, (int)length, line);
        line += length + (line[length] == '\n');
    }
    text_clear(&feed->notes);
}

/* Each round is out before the next one is awaited, in a pipe and in a file too. */
static int monitor_deliver(FILE *file, const struct text *out, struct error *err)
{
    if (text_failed(out))
        return error_no_memory(err);
    if (!file && command_print(out))
        return error_set_errno(err, "cannot write the output");
    if (file && (fwrite(out->bytes, 1, out->length, file) != out->length || fflush(file)))
        return error_set_errno(err, "cannot write the file of -f");
    return 0;
}

static int monitor_run_rounds(struct monitor *monitor, FILE *file, struct error *err)
{
    struct gpu_feed feed;
    struct text out = { 0 };
    int code;

    if ((code = gpu_feed_start(&feed, &monitor->wish, err)) != 0)
        goto end_feed;
    while ((code = gpu_feed_next(&feed, err)) == 1) {
        print_notes(monitor, &feed);
        text_clear(&out);
        monitor->add_round(monitor, &feed, &out);
        if ((code = monitor_deliver(file, &out, err)) != 0)
            goto end_feed;
    }
    print_notes(monitor, &feed);
end_feed:
    monitor->has_no_gpu = feed.has_no_gpu;
    text_free(&out);
    gpu_feed_end(&feed);
    return code;
}

/* With a report beside the lines, if one is wanted. */
static int run_recorded(struct monitor *monitor, FILE *file, struct error *err)
{
    struct monitor_record *record = NULL;
    int code;

    if (!monitor->report)
        return monitor_run_rounds(monitor, file, err);
    if ((code = monitor_record_open(&record, monitor->report, monitor->settings->feed.interval_us, err)) != 0)
        return code;
    monitor->wish.take = monitor_record_take;
    monitor->wish.context = record;
    code = monitor_record_close_after(record, monitor_run_rounds(monitor, file, err), err);
    if (code != 0)
        return code;
    fprintf(stderr, "tacho %s: wrote %s; tacho stats prints it, tacho view shows it\n", monitor->self->name,
            monitor->report);
    return 0;
}

int monitor_run(struct monitor *monitor)
{
    const struct monitor_settings *settings = monitor->settings;
    struct error err = { 0 };
    FILE *file = NULL;

    if (take_formats(monitor, &err) || take_options(monitor, &err))
        return command_fail(monitor->self, &err);
    if (settings->file && !(file = fopen(settings->file, "we"))) {
        error_set_errno(&err, "cannot write %s", settings->file);
        return command_fail(monitor->self, &err);
    }
    monitor->table.is_json = settings->feed.is_json;
    monitor->table.lines_per_heading = lines_per_heading(monitor);
    monitor->wish.devices = settings->feed.devices;
    monitor->wish.interval_us = settings->feed.interval_us;
    monitor->wish.rounds = settings->feed.rounds;
    monitor->wish.ends_with_stdout = !file;
    int status = run_recorded(monitor, file, &err) ? command_fail(monitor->self, &err) : EXIT_OK;
    if (monitor->has_no_gpu)
        status = MONITOR_NO_GPU;
    if (file)
        fclose(file); /* all of it is written */
    return status;
}
