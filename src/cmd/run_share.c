/* Divides reports among processes, and puts their results together; see run_share.h. */
#include "run_share.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "abi/jobs/job_place.h"
#include "base/hash.h"
#include "base/number.h"
#include "report/reader/unite.h"
#include "set/set.h"

enum { LENGTH_BYTES = 8 };

const char *const *run_share_choices(void)
{
    static const char *const none[] = { NULL };

    return none;
}

/* ---- place ----------------------------------------------------------------------------------------------------- */

static int bad_share(const char *text, struct error *err)
{
    return error_set(err, ERR_BAD_ARGUMENT,
                     "--share takes the number of processes (8), a share of them from 0 (3/8), or merge/8, not '%s'",
                     text);
}

static int parse_count(const char *text, size_t *out)
{
    uint64_t number;

    if (option_read_number(text, 0, REPORT_MOST_PARTS, &number) != 0)
        return 0;
    *out = (size_t)number;
    return 1;
}

/* K/N and merge/N */
static int parse_named(struct set_share *place, const char *text, const char *slash, struct error *err)
{
    char first[16] = "";

    if (slash - text < (ptrdiff_t)sizeof first)
        memcpy(first, text, (size_t)(slash - text));
    place->role = strcmp(first, "merge") == 0 ? SHARE_MERGE : SHARE_ALONE;
    if (!parse_count(slash + 1, &place->count) || !place->count ||
        (place->role == SHARE_ALONE && (!parse_count(first, &place->index) || place->index >= place->count)))
        return bad_share(text, err);
    return 0;
}

static int run_share_find_place(struct set_share *place, const struct run_share_settings *settings,
                                struct job_place *job, struct error *err)
{
    const char *slash = strchr(settings->what, '/');
    size_t count = 0;

    *job = job_place_own();
    if (slash)
        return parse_named(place, settings->what, slash, err);
    if (*settings->what && (!parse_count(settings->what, &count) || !count))
        return bad_share(settings->what, err);
    if (!job->launcher)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--share divides the work among processes of a launcher, and none started this one: "
                         "srun -n 8 tacho stats --share …, or mpirun");
    if (!count && job->world_size < 1)
        return error_set(err, ERR_BAD_ARGUMENT, "%s does not say how many processes it started: --share=N",
                         job->launcher);
    place->role = SHARE_OF_JOB;
    place->index = (size_t)job->rank;
    place->count = count ? count : (size_t)job->world_size;
    if (place->index >= place->count || place->count > REPORT_MOST_PARTS)
        return error_set(err, ERR_BAD_ARGUMENT, "rank %zu is not one of %zu processes", place->index, place->count);
    return 0;
}

int run_share_is_of_job(const struct run_share_settings *settings)
{
    struct set_share place = { 0 };
    struct job_place job;
    struct error err;

    return settings->what && run_share_find_place(&place, settings, &job, &err) == 0 && place.role == SHARE_OF_JOB;
}

int run_share_is_first(const struct run_share_settings *settings)
{
    struct set_share place = { 0 };
    struct job_place job;
    struct error err;

    return !settings->what || run_share_find_place(&place, settings, &job, &err) != 0 || place.index == 0;
}

/* ---- folder ---------------------------------------------------------------------------------------------------- */

/* In the folder of the reports; a job's name may have bytes that a file's has not. */
static void run_share_add_folder(struct text *out, const char *operand, const char *job)
{
    struct stat file;
    const char *slash = strrchr(operand, '/');

    if (stat(operand, &file) == 0 && S_ISDIR(file.st_mode))
        text_addf(out, "%s/", operand);
    else if (slash)
        text_add_bytes(out, operand, (size_t)(slash - operand + 1));
    text_add(out, ".tacho-share");
    if (*job)
        text_add_char(out, '-');
    for (; *job; job++)
        text_add_char(out,
                      strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-", *job) ? *job : '_');
}

/* The key is the same in all processes. It changes with the request, the program and the names of the reports. The
 * state says whether reports have changed: processes must find each other even if one has. */
static void run_share_make_key(struct run_share *share, uint64_t request)
{
    struct text about = { 0 }, states = { 0 };

    text_addf(&about, "2 " TACHO_VERSION " %zu %016" PRIx64 "\n", share->exchange.count, request);
    for (size_t i = 0; i < report_part_count(share->whole); i++) {
        const char *path = report_part_at(share->whole, i)->name, *name = strrchr(path, '/');
        struct stat file = { 0 };
        text_addf(&about, "%s\n", name ? name + 1 : path);
        if (stat(path, &file) == 0)
            text_addf(&states, "%zu %lld %lld.%09ld\n", i, (long long)file.st_size, (long long)file.st_mtim.tv_sec,
                      (long)file.st_mtim.tv_nsec);
    }
    share->exchange.key = hash_bytes(text_string(&about), about.length);
    share->exchange.state = hash_bytes(text_string(&states), states.length);
    text_free(&about);
    text_free(&states);
}

static int read_wait(struct set_share *place, const char *text, struct error *err)
{
    size_t seconds;

    place->wait_s = -1;
    if (!text)
        return 0;
    if (!parse_count(text, &seconds))
        return error_set(err, ERR_BAD_ARGUMENT, "--share-wait takes seconds, at most %d, not '%s'", REPORT_MOST_PARTS,
                         text);
    place->wait_s = (int64_t)seconds;
    return 0;
}

/* Not an error: the job has printed all. But a job that prints nothing says why. */
static void tell_late(const struct set_share *exchange)
{
    fprintf(stderr, "tacho: share %zu of %zu: came too late; another process of the job computed it, and prints\n",
            exchange->index, exchange->count);
}

int run_share_open(struct run_share *share, const struct run_share_settings *settings, struct report *whole,
                   const char *operand, struct error *err)
{
    struct job_place job;
    int code;

    *share = (struct run_share){ .whole = whole };
    if ((code = run_share_find_place(&share->exchange, settings, &job, err)) != 0 ||
        (code = read_wait(&share->exchange, settings->wait, err)) != 0)
        return code;
    int is_of_job = share->exchange.role == SHARE_OF_JOB && job.launcher;
    share->exchange.is_of_one_run = is_of_job && job.is_of_one_run;
    if (settings->folder)
        text_add(&share->folder, settings->folder);
    else
        run_share_add_folder(&share->folder, operand, is_of_job ? job.job : "");
    share->shares = calloc(share->exchange.count, sizeof *share->shares);
    share->at = calloc(share->exchange.count, sizeof *share->at);
    if (!share->shares || !share->at || text_failed(&share->folder))
        return error_no_memory(err);
    share->exchange.folder = text_string(&share->folder);
    run_share_make_key(share, settings->request);
    if ((code = set_share_begin(&share->exchange, err)) == 1)
        tell_late(&share->exchange);
    return code;
}

void run_share_close(struct run_share *share)
{
    for (size_t i = 0; share->shares && i < share->exchange.count; i++)
        text_free(&share->shares[i]);
    free(share->shares);
    free(share->at);
    text_free(&share->folder);
}

/* ---- shares ---------------------------------------------------------------------------------------------------- */

/* Reports are dealt out one by one, so that shares are of the same size if ranks are. */
static int choose_parts(struct run_share *share, size_t index, struct error *err)
{
    size_t parts = report_part_count(share->whole), count = 0;
    struct report_choice *choices = calloc(parts + 1, sizeof *choices);
    int code = 0;

    if (!choices)
        return error_no_memory(err);
    for (size_t part = index; part < parts; part += share->exchange.count)
        choices[count++].part = part;
    share->chosen = NULL;
    share->computed = index;
    if (count)
        code = report_choose(share->whole, choices, count, &share->chosen, err);
    free(choices);
    return code;
}

static int compute_share(struct run_share *share, size_t index, int (*compute)(void *context, struct error *err),
                         void *context, struct error *err)
{
    int code = choose_parts(share, index, err);

    if (code != 0)
        return code;
    code = compute(context, err);
    if (share->chosen)
        report_close(share->chosen);
    share->chosen = NULL;
    if (code != 0)
        return code;
    return text_failed(&share->shares[index]) ? error_no_memory(err) : 0;
}

/* Brings the shares of all other processes here. */
static int run_share_collect(struct run_share *share, int (*compute)(void *context, struct error *err), void *context,
                             struct error *err)
{
    const struct set_share *exchange = &share->exchange;
    int code;

    for (size_t i = 0; i < exchange->count; i++) {
        if (exchange->role == SHARE_OF_JOB && i == exchange->index)
            continue;
        const char *why = set_share_wait(exchange, i);
        if (!why && (code = set_share_get(exchange, i, &share->shares[i], err)) == 0)
            continue;
        text_clear(&share->shares[i]);
        if (!why)
            why = code == ERR_NO_DATA ? "read the reports before they changed, or after" : "left a damaged file";
        fprintf(stderr, "tacho: share %zu of %zu: its process %s; computed here\n", i, exchange->count, why);
        if ((code = compute_share(share, i, compute, context, err)) != 0)
            return code;
    }
    return 0;
}

int run_share_compute(struct run_share *share, int (*compute)(void *context, struct error *err), void *context,
                      struct error *err)
{
    struct set_share *exchange = &share->exchange;
    enum set_share_turn turn;
    int code;

    if (exchange->role != SHARE_MERGE && (code = compute_share(share, exchange->index, compute, context, err)) != 0)
        return code;
    if ((code = set_share_hand_in(exchange, &share->shares[exchange->index], &turn, err)) != 0)
        return code;
    if (turn == SHARE_CAME_LATE)
        tell_late(exchange);
    if (turn != SHARE_COLLECTS)
        return 1;
    if ((code = run_share_collect(share, compute, context, err)) != 0)
        return code;
    set_share_end(exchange);
    share->phase = PHASE_MERGE;
    return 0;
}

/* ---- reports --------------------------------------------------------------------------------------------------- */

int run_share_divides(const struct run_share *share, const struct analysis *analysis)
{
    return analysis->divides && report_part_count(share->whole) > 0;
}

/* A share without data has a result without bytes. */
static int compute_report(struct run_share *share, const struct analysis *analysis,
                          const struct analysis_request *request, struct error *err)
{
    struct text partial = { 0 }, *out = &share->shares[share->computed];
    const struct analysis_share part = { .whole = share->whole, .partial = &partial };
    struct analysis_request own = *request;
    struct table *table = NULL;
    int code = share->chosen ? 0 : ERR_NO_DATA;

    own.share = &part;
    if (share->chosen)
        code = analysis_run(analysis, share->chosen, &own, &table, err);
    table_delete(table);
    if (code != 0 && code != ERR_NO_DATA)
        goto free_partial;
    uint64_t length = partial.length;
    text_add_bytes(out, &length, LENGTH_BYTES);
    text_add_bytes(out, text_string(&partial), partial.length);
    code = 0;
free_partial:
    text_free(&partial);
    return code;
}

static int next_partial(struct run_share *share, size_t index, struct analysis_partial *out)
{
    const struct text *from = &share->shares[index];
    size_t at = share->at[index];
    uint64_t length;

    if (from->length - at < LENGTH_BYTES)
        return 0;
    memcpy(&length, from->bytes + at, LENGTH_BYTES);
    at += LENGTH_BYTES;
    if (length > from->length - at)
        return 0;
    *out = (struct analysis_partial){ from->bytes + at, (size_t)length };
    share->at[index] = at + (size_t)length;
    return 1;
}

int run_share_analysis(struct run_share *share, const struct analysis *analysis, const struct analysis_request *request,
                       struct table **out, struct error *err)
{
    size_t count = share->exchange.count;

    *out = NULL;
    if (share->phase == PHASE_COLLECT)
        return compute_report(share, analysis, request, err);
    struct analysis_partial *partials = calloc(count, sizeof *partials);
    if (!partials)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++)
        if (!next_partial(share, i, &partials[i])) {
            free(partials);
            return error_set(err, ERR_CORRUPT, "share %zu of %zu is damaged", i, count);
        }
    int code = analysis_merge(analysis, share->whole, request, partials, count, out, err);
    free(partials);
    return code;
}
