/* Page faults of threads on managed memory, as CPU samples with kernel frames show them. */
#ifndef TACHO_ANALYZE_ADVICE_ADVICE_FAULTS_H
#define TACHO_ANALYZE_ADVICE_ADVICE_FAULTS_H

#include "report/reader/reader.h"

struct fault_sample {
    int64_t thread, time_ns;
    int is_fault;
};
/* Starts from {0}. */
struct managed_faults {
    struct fault_sample *list; /* owned; by thread, then by time; empty if there is no fault */
    size_t count, room;
};

/* managed_faults_free() is safe after an error. */
int managed_faults_read(struct managed_faults *faults, struct report *report, struct error *err);
void managed_faults_free(struct managed_faults *faults);

/* Adds the samples of a thread in this time, and those in a fault. */
struct fault_tally {
    size_t samples, faults;
};
void managed_faults_add(const struct managed_faults *faults, int64_t thread, int64_t from_ns, int64_t to_ns,
                        struct fault_tally *tally);

#endif
