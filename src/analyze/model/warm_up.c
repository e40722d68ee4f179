/* Marks the first steps of a process, which compile, tune and allocate and would distort every mean: see steps.h. */
#include <stdlib.h>

#include "analyze/engine/statistics.h"
#include "base/saturating.h"
#include "steps.h"

/* A loop has settled if at least SETTLED_RUN steps remain, one of SETTLED_OF at the least, and every step before them
 * took TIMES_FASTER as long as any of them. Fewer are a second loop rather than what the first one was going to be. */
enum { STEADY_RUN = 3, SETTLED_RUN = 4, SETTLED_OF = 16, TIMES_FASTER = 2 };

/* The durations of the steps that are usual. */
struct band {
    double middle, most_off;
};

static struct band usual_band(const int64_t *durations, size_t count, int64_t *deviations, int64_t *scratch)
{
    double middle = statistics_median_of(durations, count, scratch);

    for (size_t i = 0; i < count; i++) {
        double off = (double)durations[i] - middle;
        deviations[i] = saturating_from_double(off < 0 ? -off : off);
    }
    double by_spread = 3 * 1.4826 * statistics_median_of(deviations, count, scratch), by_share = middle / 5;
    return (struct band){ middle, by_spread > by_share ? by_spread : by_share };
}

static int is_steady(const struct band *band, int64_t duration)
{
    double off = (double)duration - band->middle;

    return off <= band->most_off && off >= -band->most_off;
}

/* How many steps the warm-up has. */
static size_t warm_up_length(const struct band *band, const int64_t *durations, size_t count)
{
    size_t run = 0;

    for (size_t i = 0; i < count; i++) {
        run = is_steady(band, durations[i]) ? run + 1 : 0;
        if (run == STEADY_RUN || (run && i + 1 == count))
            return i + 1 - run <= count / 2 ? i + 1 - run : 0;
    }
    return 0;
}

/* A loop may get faster once and for good, late: a text is written with a plan made for each of its lengths, and the
 * next text has lengths that were there before. least: room for as many. */
static size_t settled_from(const int64_t *durations, size_t count, int64_t *least)
{
    int64_t most = 0;

    for (size_t i = 0; i < count; i++)
        least[i] = i && least[i - 1] < durations[i] ? least[i - 1] : durations[i];
    for (size_t i = count; i-- > 1;) {
        most = durations[i] > most ? durations[i] : most;
        size_t settled = count - i;
        if (settled >= SETTLED_RUN && settled * SETTLED_OF >= count && least[i - 1] > most &&
            least[i - 1] / TIMES_FASTER >= most)
            return i;
    }
    return 0;
}

int steps_mark_warm_up(struct steps *steps, struct error *err)
{
    int64_t *durations = malloc((steps->count + 1) * 3 * sizeof *durations);

    if (!durations)
        return error_short_memory(err, "for the steps");
    for (size_t p = 0; p < steps->process_count; p++) {
        const struct step_process *own = &steps->processes[p];
        struct step *list = &steps->list[own->first];
        size_t half = own->count / 2;
        for (size_t i = 0; i < own->count; i++)
            durations[i] = saturating_duration(list[i].start_ns, list[i].end_ns);
        struct band band = usual_band(durations + half, own->count - half, durations + steps->count + 1,
                                      durations + 2 * (steps->count + 1));
        size_t length = warm_up_length(&band, durations, own->count),
               settled = settled_from(durations, own->count, durations + steps->count + 1);
        length = settled > length ? settled : length;
        for (size_t i = 0; i < own->count; i++)
            list[i].is_warm_up = i < length;
    }
    free(durations);
    return 0;
}
