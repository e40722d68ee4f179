/* Imports foreign files to a temporary report, which is unlinked once it is open. Damage and losses are reported on
 * stderr, so that people see them and programs that read the tables are not disturbed. */
#include "open_report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analyze/model/event_counts.h"
#include "analyze/model/lowered_detail.h"
#include "analyze/model/recorder.h"
#include "base/human.h"
#include "base/path.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"
#include "foreign_rep.h"
#include "import/import.h"
#include "set/set.h"
#include "set/set_filter.h"

/* A file that an import made keeps its descriptor, since it has no name any more. */
static int open_own(const char *path, int is_alone, int keeps_descriptor, struct report **out, struct error *err)
{
    return is_alone ? report_open(path, out, err) : report_open_part(path, keeps_descriptor, out, err);
}

static int import_to_temporary(const char *path, const struct importer *importer, int is_alone, struct report **out,
                               struct error *err)
{
    const char *folder = path_temporary();
    char name[4096];

    if (snprintf(name, sizeof name, "%s/tacho-import-XXXXXX", folder) >= (int)sizeof name)
        return error_set(err, ERR_BAD_ARGUMENT, "TMPDIR is too long");
    int fd = mkstemp(name);
    if (fd < 0)
        return error_set_errno(err, "cannot create a temporary file in %s for the import", folder);
    close(fd);
    int code = importer->import(path, name, 1, err);
    if (code != 0)
        goto remove_file;
    code = open_own(name, is_alone, 1, out, err);
remove_file:
    unlink(name);
    return code;
}

/* The file may be the program that the user means to record. */
static void advise_recording(struct error *err)
{
    struct error cause = *err;

    error_set(err, cause.code, "%s; to record a program: tacho profile PROGRAM", cause.text);
}

static int open_report_file(const char *path, const struct foreign_rep_settings *settings, struct text *found,
                            int is_alone, int keeps_descriptor, struct report **out, struct error *err)
{
    const struct importer *importer;
    int code;

    if ((code = foreign_rep_find(path, settings, found, err)) != 0)
        return code;
    importer = importer_for(text_string(found));
    code = importer ? import_to_temporary(text_string(found), importer, is_alone, out, err)
                    : open_own(text_string(found), is_alone, keeps_descriptor, out, err);
    if (is_alone && !importer && code == ERR_BAD_FORMAT)
        advise_recording(err);
    return code;
}

/* Prints "tacho: FILE", the rest of the sentence, and clears the sentence. Names in it are cleaned: they may be
 * anyone's. */
static void open_report_say(const char *path, struct text *sentence)
{
    size_t columns = print_terminal_columns(STDERR_FILENO);
    struct text clean = { 0 }, lines = { 0 };

    text_add(&clean, "tacho: ");
    display_add(&clean, path, strlen(path), 0);
    display_add(&clean, text_string(sentence), sentence->length, 0);
    if (columns)
        display_add_wrapped(&lines, text_string(&clean), 0, 0, columns);
    else
        text_addf(&lines, "%s\n", text_string(&clean));
    fputs(text_string(&lines), stderr);
    text_free(&clean);
    text_free(&lines);
    text_clear(sentence);
}

static int open_member(const char *path, int keeps_descriptor, struct report **out, struct error *err)
{
    struct text found = { 0 };
    int code = open_report_file(path, NULL, &found, 0, keeps_descriptor, out, err);

    text_free(&found);
    return code;
}

static void say_lines(const struct text *notes)
{
    for (const char *line = text_string(notes), *end; (end = strchr(line, '\n')); line = end + 1) {
        struct text sentence = { 0 };
        text_add_bytes(&sentence, line, (size_t)(end - line));
        open_report_say("", &sentence);
        text_free(&sentence);
    }
}

/* Imported files have no name any more, so that each keeps a descriptor. */
static void allow_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static enum clock_choice choose_clock(const char *name)
{
    static const struct {
        const char *name;
        enum clock_choice choice;
    } known[] = { { "collectives", CLOCK_CHOICE_COLLECTIVES },
                  { "utc", CLOCK_CHOICE_UTC },
                  { "none", CLOCK_CHOICE_NONE } };

    for (size_t i = 0; name && i < COUNT_OF(known); i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].choice;
    return CLOCK_CHOICE_BEST;
}

/* A fault of a single file of a set does not prevent an answer; it is reported on stderr. */
static int open_set(struct input input, const struct foreign_rep_settings *settings, const struct set_filter *filter,
                    struct report **out, struct error *err)
{
    struct text notes = { 0 };
    const struct set_request request = { .operands = input.paths,
                                         .operand_count = input.count,
                                         .open = open_member,
                                         .clock = choose_clock(settings->clock),
                                         .filter = filter,
                                         .notes = &notes };
    allow_descriptors();
    int code = set_open(&request, out, err);

    if (code != 0 || settings->is_quiet)
        text_clear(&notes);
    say_lines(&notes);
    text_free(&notes);
    return code;
}

void input_name(struct text *out, struct input input)
{
    text_add(out, input.paths[0]);
    if (input.count > 1)
        text_addf(out, " and %zu more", input.count - 1);
}

void input_add_words(struct text *out, struct input input)
{
    enum { SHOWN = 4 };

    for (size_t i = 0; i < input.count && i < SHOWN; i++) {
        if (i)
            text_add_char(out, ' ');
        display_add_file(out, input.paths[i]);
    }
    if (input.count > SHOWN)
        text_add(out, " …");
}

int open_input(struct input input, const struct foreign_rep_settings *settings, struct text *found, struct report **out,
               struct error *err)
{
    static const struct foreign_rep_settings none;
    const struct foreign_rep_settings *wanted = settings ? settings : &none;
    struct set_filter filter = { wanted->ranks, wanted->hosts };
    int code;

    if ((code = set_filter_check(&filter, err)) != 0)
        return code;
    if (input.count == 1 && !set_is_meant(input.paths[0])) {
        if ((code = open_report_file(input.paths[0], settings, found, 1, 1, out, err)) != 0)
            return code;
        return set_divide(text_string(found), &filter, wanted->by != NULL, out, err);
    }
    input_name(found, input);
    return open_set(input, wanted, &filter, out, err);
}

int open_as_set(struct input input, const struct foreign_rep_settings *settings, struct report **out, struct error *err)
{
    const struct set_filter filter = { settings->ranks, settings->hosts };
    int code = set_filter_check(&filter, err);

    return code != 0 ? code : open_set(input, settings, &filter, out, err);
}

int open_report_as(const char *path, struct text *found, struct report **out, struct error *err)
{
    return open_input((struct input){ &path, 1 }, NULL, found, out, err);
}

int open_report(const char *path, struct report **out, struct error *err)
{
    struct text found = { 0 };
    int code = open_report_as(path, &found, out, err);

    text_free(&found);
    return code;
}

static void add_damage(struct text *out, const struct report_health *health)
{
    text_add(out, " is damaged: ");
    human_count(out, health->damaged_chunks);
    text_add(out, health->damaged_chunks == 1 ? " chunk (" : " chunks (");
    human_bytes(out, health->damaged_bytes);
    text_add(out, health->damaged_chunks == 1 ? ") could not be read and is skipped"
                                              : ") could not be read and are skipped");
    text_add(out, "; figures may be too low");
}

/* The tables that were read lack events which --cost-limit left out. */
static void tell_lowered(struct report *report, const char *path, enum told_losses which)
{
    struct text sentence = { 0 };
    struct lowered_detail detail;
    struct error err;

    if (lowered_detail_read(&detail, report, &err) != 0)
        return;
    for (size_t i = 0; i < detail.count; i++) {
        int is_read = which == LOSSES_OF_ALL;
        for (size_t t = 0; !is_read && t < report_table_count(report); t++)
            is_read = report_was_read(report_table_at(report, t)) &&
                      lowered_detail_concerns(&detail.list[i], report_table_at(report, t)->name);
        if (!is_read)
            continue;
        text_add(&sentence, ": ");
        lowered_detail_add(&sentence, &detail.list[i]);
        lowered_detail_add_reason(&sentence, &detail);
        open_report_say(path, &sentence);
    }
    text_free(&sentence);
}

/* Whether any printed table is made from the missing events. */
static int concerns_what_was_read(const struct loss *loss, struct report *report)
{
    for (size_t i = 0; i < report_table_count(report); i++) {
        const struct report_table *table = report_table_at(report, i);
        if (report_was_read(table) && loss_concerns(loss, table->name))
            return 1;
    }
    return 0;
}

void tell_losses(struct report *report, const char *path, enum told_losses which)
{
    struct text sentence = { 0 };
    struct event_counts counts;
    struct error err;

    if (event_counts_read(&counts, report, &err) != 0)
        return;
    for (size_t i = 0; i < counts.loss_count; i++)
        if (which == LOSSES_OF_ALL || concerns_what_was_read(&counts.losses[i], report)) {
            text_add(&sentence, ": ");
            loss_add(&sentence, &counts.losses[i]);
            open_report_say(path, &sentence);
        }
    text_free(&sentence);
    tell_lowered(report, path, which);
}

void tell_damage(struct report *report, const char *path)
{
    struct text sentence = { 0 };
    struct report_health health = report_health(report);

    fflush(stdout);
    if (health.damaged_chunks) {
        add_damage(&sentence, &health);
        open_report_say(path, &sentence);
    }
    text_add(&sentence, " was imported only in part: ");
    if (import_losses_add(&sentence, report)) {
        text_add(&sentence, "; figures may be wrong (tacho info lists them)");
        open_report_say(path, &sentence);
    }
    text_free(&sentence);
}

static int open_report_has_rows(struct report *report)
{
    for (size_t i = 0; i < report_table_count(report); i++)
        if (report_table_at(report, i)->rows)
            return 1;
    return 0;
}

static void tell_unfinished(struct report *report, const char *path)
{
    struct text sentence = { 0 };

    text_addf(&sentence, " is unfinished (tacho is still writing it, or was killed)%s",
              open_report_has_rows(report) ? "; everything written so far is shown" : " and holds nothing yet");
    open_report_say(path, &sentence);
    text_free(&sentence);
}

/* Names only some parts: a job may have been killed as a whole. */
static void tell_unfinished_parts(struct report *set)
{
    enum { NAMED = 4 };
    struct text sentence = { 0 };
    size_t unfinished = 0;

    for (size_t i = 0; i < report_part_count(set); i++)
        if (!report_health(report_part_report(set, i)).complete && unfinished++ < NAMED)
            tell_unfinished(report_part_report(set, i), report_part_at(set, i)->name);
    if (unfinished > NAMED) {
        text_addf(&sentence, "%zu more reports are unfinished", unfinished - NAMED);
        open_report_say("", &sentence);
    }
    text_free(&sentence);
}

void close_report(struct report *report, const char *path)
{
    tell_damage(report, path);
    tell_losses(report, path, LOSSES_OF_WHAT_WAS_READ);
    if (report_part_count(report))
        tell_unfinished_parts(report);
    else if (!report_health(report).complete)
        tell_unfinished(report, path);
    report_close(report);
}
