/* The note about samples in code that was generated at run time and has no names. */
#ifndef TACHO_COLLECT_SOURCES_STACKS_MADE_CODE_H
#define TACHO_COLLECT_SOURCES_STACKS_MADE_CODE_H

#include <stdint.h>

struct collector;

/* Warns if a relevant share of the samples was in such code, with the options that make the programs of the capture
 * write a perf map. */
void made_code_tell(struct collector *collector, uint64_t unnamed_samples);

#endif
