/* The job is what the launcher called it. Some launchers give no name: then a rank that is in two reports means two
 * runs. */
#include "one_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/text.h"
#include "report/reader/unite.h"
#include "row_cursor.h"

#define MOST_NAMED 4

struct jobs {
    struct intern names;
    size_t *reports; /* owned; by id of names */
    size_t room;
};

static int one_job_add_job(struct jobs *jobs, const char *name)
{
    size_t before = jobs->names.count;
    int64_t id = intern_add(&jobs->names, name, strlen(name));

    if (id < 0 || array_reserve(&jobs->reports, &jobs->room, jobs->names.count, sizeof *jobs->reports) != 0)
        return ERR_NO_MEMORY;
    if (jobs->names.count > before)
        jobs->reports[id] = 0;
    jobs->reports[id]++;
    return 0;
}

static int read_jobs(struct jobs *jobs, struct report *report, struct error *err)
{
    static const char *const names[] = { "name", "value", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "META_DATA_CAPTURE", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if (strcmp(report_string(report, row_int_or(&rows, 0, 0), NULL), "JOB") == 0 &&
            (code = one_job_add_job(jobs, report_string(report, row_int_or(&rows, 1, 0), NULL))) != 0)
            break;
    row_cursor_close(&rows);
    return code;
}

static int refuse_jobs(const struct jobs *jobs, struct error *err)
{
    struct text list = { 0 };

    for (size_t i = 0; i < jobs->names.count && i < MOST_NAMED; i++)
        text_addf(&list, "%s%s: %zu report%s", i ? ", " : "", jobs->names.strings[i].bytes, jobs->reports[i],
                  jobs->reports[i] == 1 ? "" : "s");
    error_set(err, ERR_NO_DATA,
              "its reports are of %zu jobs (%s%s): name the files of one job, or compare jobs by diff",
              jobs->names.count, text_string(&list), jobs->names.count > MOST_NAMED ? ", …" : "");
    text_free(&list);
    return ERR_NO_DATA;
}

static int one_job_compare_parts(const void *a, const void *b)
{
    const struct report_part *x = *(const struct report_part *const *)a, *y = *(const struct report_part *const *)b;

    return COMPARE(x->rank, y->rank) ?: strcmp(x->name, y->name);
}

static int check_ranks(const struct report *report, struct error *err)
{
    size_t count = report_part_count(report);
    const struct report_part **parts = array_alloc(count + 1, sizeof *parts);
    int code = 0;

    if (!parts)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        parts[i] = report_part_at(report, i);
    qsort(parts, count, sizeof *parts, one_job_compare_parts);
    for (size_t i = 1; i < count; i++) {
        if (parts[i]->rank < 0 || parts[i]->rank != parts[i - 1]->rank)
            continue;
        code = error_set(err, ERR_NO_DATA, "'%s' and '%s' are both of rank %lld: name the files of one run",
                         parts[i - 1]->name, parts[i]->name, (long long)parts[i]->rank);
        break;
    }
    free(parts);
    return code;
}

int one_job_check(struct report *report, struct error *err)
{
    struct jobs jobs = { 0 };
    int code = read_jobs(&jobs, report, err);

    if (code != 0)
        goto free_jobs;
    if (jobs.names.count > 1)
        code = refuse_jobs(&jobs, err);
    else if (!jobs.names.count)
        code = check_ranks(report, err);
free_jobs:
    intern_free(&jobs.names);
    free(jobs.reports);
    return code == ERR_NO_MEMORY ? error_no_memory(err) : code;
}
