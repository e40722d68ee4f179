/* A job whose true times are known: hosts with clocks that are off, drift and are slewed, ranks that enter and leave
 * collectives, and messages. What a rank would have recorded is the input of clock_fit(); the truth stays here. */
#ifndef TACHO_TESTS_UNIT_MADE_CLOCKS_H
#define TACHO_TESTS_UNIT_MADE_CLOCKS_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "set/clocks/clock_fit.h"

#define US 1e3
#define MS 1e6
#define SECOND 1e9

struct job {
    /* to be chosen */
    uint64_t seed;
    int hosts, ranks_a_host, instances, messages;
    double span_ns;
    double offset_ns, drift_ppm, slew_ppm, slew_ns; /* of each host but the first at random up to this, ± */
    double late_ns;                                 /* by which rank `late` is always late */
    int late;
    int has_readings, has_boot_ids;
    double slowness;                                /* of the network; 0 is 1 */
    /* made of it */
    struct job_host *host;
    int64_t *began; /* by part: CLOCK_MONOTONIC at own time 0 */
    double *latency;
    struct clock_part *parts;
    struct clock_reading *readings;
    struct clock_entry *entries;
    size_t *first;
    struct clock_message *sent;
    char (*boot_ids)[40];
};

struct job_host {
    double offset, drift, slew, slew_begin, slew_end; /* monotonic = true + offset + … */
    double crystal;                                   /* ticks = true × 2.1 × (1 + crystal) + ticks */
    double ticks;
};

static inline uint64_t job_random(struct job *job)
{
    job->seed += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    uint64_t x = job->seed;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static inline double job_uniform(struct job *job, double low, double high)
{
    return low + (high - low) * (double)(job_random(job) >> 11) * 0x1p-53;
}

static inline double job_exponential(struct job *job, double mean)
{
    return -mean * log(1 - job_uniform(job, 0, 1));
}

/* ---- Clocks ---------------------------------------------------------------------------------------------------- */

static inline double job_monotonic(const struct job_host *host, double when)
{
    double slewed = when < host->slew_begin ? 0 : fmin(when, host->slew_end) - host->slew_begin;
    return when + host->offset + host->drift * when + host->slew * slewed;
}

/* What rank `part` writes for an event at a true time. With readings it is the counter that it reads, mapped by lines
 * between its readings, one a second; else CLOCK_MONOTONIC itself, slews and all. */
static inline int64_t job_own(const struct job *job, int part, double when)
{
    const struct job_host *host = &job->host[part / job->ranks_a_host];
    if (job->has_readings) {
        double second = floor(when / SECOND) * SECOND, share = (when - second) / SECOND;
        double a = job_monotonic(host, second), b = job_monotonic(host, second + SECOND);
        return (int64_t)llround(a + (b - a) * share) - job->began[part];
    }
    return (int64_t)llround(job_monotonic(host, when)) - job->began[part];
}

static inline void job_make_clocks(struct job *job)
{
    for (int h = 0; h < job->hosts; h++) {
        struct job_host *host = &job->host[h];
        double begin = job_uniform(job, 0.1, 0.7) * job->span_ns;
        *host = (struct job_host){ .ticks = job_uniform(job, 1e12, 1e15), .slew_begin = begin, .slew_end = begin };
        host->crystal = job_uniform(job, -50e-6, 50e-6);
        if (!h)
            continue;
        double sign = job_random(job) & 1 ? 1 : -1;
        host->offset = h == 1 ? job->offset_ns : job_uniform(job, -job->offset_ns, job->offset_ns);
        host->drift = 1e-6 * (h == 1 ? job->drift_ppm : job_uniform(job, -job->drift_ppm, job->drift_ppm));
        host->slew = 1e-6 * sign * job->slew_ppm;
        host->slew_end = begin + job->slew_ns;
    }
}

/* One reading a second, on the second; UTC is CLOCK_MONOTONIC here, as wrong as the host's clock is. */
static inline void job_make_part(struct job *job, int part)
{
    int count = job->has_readings ? (int)(job->span_ns / SECOND) + 3 : 0;
    const struct job_host *host = &job->host[part / job->ranks_a_host];
    struct clock_reading *readings = job->readings + (size_t)part * (size_t)count;
    job->began[part] = (int64_t)job_monotonic(host, -job_uniform(job, 0, 300 * MS));
    for (int i = 0; i < count; i++) {
        double when = (i - 1) * SECOND;
        readings[i] = (struct clock_reading){ job_own(job, part, when),
                                              (uint64_t)(host->ticks + 2.1 * (1 + host->crystal) * when),
                                              (int64_t)1790000000000000000 + (int64_t)job_monotonic(host, when), 60 };
    }
    snprintf(job->boot_ids[part], sizeof *job->boot_ids, "boot-%d", part / job->ranks_a_host);
    job->parts[part] = (struct clock_part){ .boot_id = job->has_boot_ids ? job->boot_ids[part] : NULL,
                                            .readings = readings,
                                            .reading_count = (size_t)count,
                                            .utc_error_ns = 20000000,
                                            .first_ns = job_own(job, part, 0),
                                            .last_ns = job_own(job, part, job->span_ns) };
}

/* ---- Collectives and messages ---------------------------------------------------------------------------------- */

/* Between nodes a few µs, another number each way; within one less. */
static inline double job_latency(const struct job *job, int from, int to)
{
    return job->latency[from / job->ranks_a_host * job->hosts + to / job->ranks_a_host];
}

/* After the last message a rank needs some time to see it; now and then something else has its CPU, up to 2 ms. */
static inline double job_wakeup(struct job *job)
{
    double preempted = job_uniform(job, 0, 1) < 0.02 ? pow(10, job_uniform(job, 4, 6.3)) : 0;
    return (job->slowness > 0 ? job->slowness : 1) * (0.5 * US + job_exponential(job, 1.5 * US)) + preempted;
}

/* A rank leaves when it has word of the last one. */
static inline void job_make_instance(struct job *job, int number)
{
    int ranks = job->hosts * job->ranks_a_host;
    double when = job->span_ns * (number + job_uniform(job, 0.2, 0.8)) / job->instances;
    double *starts = malloc((size_t)ranks * sizeof *starts);
    struct clock_entry *entries = job->entries + (size_t)number * (size_t)ranks;
    for (int r = 0; r < ranks; r++)
        starts[r] = when + job_exponential(job, 30 * US) + (r == job->late ? job->late_ns : 0);
    for (int r = 0; r < ranks; r++) {
        double end = starts[r];
        for (int o = 0; o < ranks; o++)
            end = fmax(end, starts[o] + (o == r ? 0 : job_latency(job, o, r)));
        end += job_wakeup(job);
        entries[r] = (struct clock_entry){ (uint32_t)r, job_own(job, r, starts[r]), job_own(job, r, end) };
    }
    job->first[number + 1] = job->first[number] + (size_t)ranks;
    free(starts);
}

static inline void job_make_message(struct job *job, int number)
{
    int ranks = job->hosts * job->ranks_a_host;
    int from = (int)(job_random(job) % (uint64_t)ranks), to = (int)(job_random(job) % (uint64_t)ranks);
    double when = job_uniform(job, 0, job->span_ns), there = when + job_latency(job, from, to) + job_wakeup(job);
    job->sent[number] = (struct clock_message){ (uint32_t)from, (uint32_t)to, job_own(job, from, when),
                                                job_own(job, to, there) };
}

static inline struct clock_input job_make(struct job *job)
{
    size_t ranks = (size_t)job->hosts * (size_t)job->ranks_a_host, readings = (size_t)(job->span_ns / SECOND) + 3;
    job->host = calloc((size_t)job->hosts, sizeof *job->host);
    job->began = calloc(ranks, sizeof *job->began);
    job->latency = calloc((size_t)job->hosts * (size_t)job->hosts, sizeof *job->latency);
    job->parts = calloc(ranks, sizeof *job->parts);
    job->readings = calloc(ranks * readings, sizeof *job->readings);
    job->entries = calloc(ranks * (size_t)job->instances + 1, sizeof *job->entries);
    job->first = calloc((size_t)job->instances + 1, sizeof *job->first);
    job->sent = calloc((size_t)job->messages + 1, sizeof *job->sent);
    job->boot_ids = calloc(ranks, sizeof *job->boot_ids);
    double slowness = job->slowness > 0 ? job->slowness : 1;
    job_make_clocks(job);
    for (int i = 0; i < job->hosts * job->hosts; i++)
        job->latency[i] = i % (job->hosts + 1) == 0 ? 0.5 * US : job_uniform(job, 2 * US, 7 * US) * slowness;
    for (size_t p = 0; p < ranks; p++)
        job_make_part(job, (int)p);
    for (int i = 0; i < job->instances; i++)
        job_make_instance(job, i);
    for (int i = 0; i < job->messages; i++)
        job_make_message(job, i);
    return (struct clock_input){ .parts = job->parts,
                                 .part_count = (uint32_t)ranks,
                                 .entries = job->entries,
                                 .instance_first = job->first,
                                 .instance_count = (size_t)job->instances,
                                 .messages = job->sent,
                                 .message_count = (size_t)job->messages };
}

static inline void job_free(struct job *job)
{
    free(job->host);
    free(job->began);
    free(job->latency);
    free(job->parts);
    free(job->readings);
    free(job->entries);
    free(job->first);
    free(job->sent);
    free(job->boot_ids);
}

/* ---- The truth ------------------------------------------------------------------------------------------------- */

/* How far the map of a part is from the truth at a true time: that of the reference at the same time. */
static inline int64_t job_error_at(const struct job *job, const struct clock_fit *fit, int part, double when)
{
    int64_t said = time_map_at(&fit->parts[part].map, job_own(job, part, when));
    return llabs(said - job_own(job, (int)fit->reference, when));
}

/* The largest error of a part over the run. */
static inline int64_t job_error(const struct job *job, const struct clock_fit *fit, int part)
{
    int64_t worst = 0;
    for (int i = 0; i <= 256; i++) {
        int64_t error = job_error_at(job, fit, part, job->span_ns * i / 256);
        worst = error > worst ? error : worst;
    }
    return worst;
}

/* The same for the rule of nsys: each report is shifted by UTC at its time 0, and then runs by itself. */
static inline int64_t job_error_of_nsys(const struct job *job, int part)
{
    int64_t worst = 0;
    for (int i = 0; i <= 256; i++) {
        double when = job->span_ns * i / 256;
        int64_t here = job_own(job, part, when) + job->began[part];
        int64_t there = job_own(job, 0, when) + job->began[0];
        worst = llabs(here - there) > worst ? llabs(here - there) : worst;
    }
    return worst;
}

#endif
