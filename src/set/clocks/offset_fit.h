/* A robust piecewise-linear fit of noisy differences of two clocks over time. */
#ifndef TACHO_SET_CLOCKS_OFFSET_FIT_H
#define TACHO_SET_CLOCKS_OFFSET_FIT_H

#include <stddef.h>

#include "base/arena.h"

struct offset_point {
    double x, y; /* ns; in order of x */
};

/* One linear segment: y = value + slope × (x − centre), from begin to end. */
struct offset_stretch {
    double begin, end;
    double centre, value, slope;
    double noise;         /* standard deviation of its points, outliers left out */
    double uncertainty;   /* three standard errors of the line where it is worst */
    size_t first, points; /* the points that it is fitted to */
};

struct offset_fit {
    struct offset_stretch *stretches; /* in order; where one does not begin at the end of another, a step is between */
    size_t count;
};

/* Fits at least one point. Returns -1 when memory is short. */
int offset_fit(const struct offset_point *points, size_t count, struct offset_fit *fit, struct arena *arena);
/* Makes stretches meet where their lines cross, after their values have changed. */
void offset_join(struct offset_fit *fit);
double offset_at(const struct offset_fit *fit, double x);
/* The stretch that is nearest to x. */
size_t offset_stretch_at(const struct offset_fit *fit, double x);

#endif
