/* The line "Health". Losses are reported in proportion: a report that lacks a thousandth of its events is complete for
 * all practical purposes. */
#include "info_health.h"

#include <sys/stat.h>

#include "base/human.h"
#include "cmd/print/display.h"

/* 0: all is there; 1: small losses; 2: large ones. */
static int worst_loss(const struct event_counts *counts)
{
    int worst = 0;

    for (size_t i = 0; i < counts->loss_count; i++) {
        int size = counts->losses[i].is_note ? 0 : loss_is_small(&counts->losses[i]) ? 1 : 2;
        worst = size > worst ? size : worst;
    }
    return worst;
}

int info_health_read(struct info_health *health, struct report *report, const char *path, struct error *err)
{
    static const char *const by_loss[] = { "complete", "nearly-complete", "incomplete" };
    struct stat status;
    int code;

    *health = (struct info_health){ 0 };
    report_check(report);
    if ((code = event_counts_read(&health->counts, report, err)) != 0)
        return code;
    health->file = report_health(report);
    health->file_bytes = stat(path, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size
                                                                             : health->file.file_bytes;
    health->state = health->file.damaged_chunks ? "damaged"
                    : !health->file.complete    ? "unfinished"
                                                : by_loss[worst_loss(&health->counts)];
    return 0;
}

/* The losses, or the notes, one after another. */
static void info_health_add_losses(struct text *out, const struct event_counts *counts, int notes, const char *before)
{
    for (size_t i = 0; i < counts->loss_count; i++) {
        struct text clause = { 0 };
        if (counts->losses[i].is_note != notes)
            continue;
        loss_add(&clause, &counts->losses[i]);
        text_add(out, before);
        display_add(out, text_string(&clause), clause.length, 0);
        before = "; ";
        text_free(&clause);
    }
}

void info_add_health(struct text *out, const struct info_health *health)
{
    if (health->file.damaged_chunks) {
        text_add(out, "damaged: ");
        human_count(out, health->file.damaged_chunks);
        text_add(out, health->file.damaged_chunks == 1 ? " chunk, " : " chunks, ");
        human_bytes(out, health->file.damaged_bytes);
        text_add(out, " could not be read; the rest is in the report");
    } else if (!health->file.complete) {
        text_add(out,
                 "unfinished: tacho is still writing it, or was killed; everything written so far is in the report");
    } else if (health->file.recovered) {
        text_add(out, "recovered from a damaged or unfinished report; the parts that it had lost are missing");
        info_health_add_losses(out, &health->counts, 0, "; ");
    } else {
        static const char *const words[] = { "complete", "complete but for ", "incomplete: " };
        int worst = worst_loss(&health->counts);
        text_add(out, worst ? "" : words[0]);
        info_health_add_losses(out, &health->counts, 0, words[worst]);
    }
    info_health_add_losses(out, &health->counts, 1, "; ");
    text_add_char(out, '\n');
}
