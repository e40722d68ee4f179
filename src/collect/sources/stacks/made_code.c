/* How to get names for generated code: see made_code.h. */
#include "made_code.h"

#include <string.h>

#include "base/human.h"
#include "base/text.h"
#include "collect/core/collector.h"
#include "collect/process/process.h"

#define LEAST_SAMPLES 20
#define LEAST_SHARE 20 /* one in this many of all samples */

/* Programs that generate code, by name, and what makes them write /tmp/perf-PID.map. */
static const struct {
    const char *program, *option;
} runtimes[] = {
    { "node", "node --perf-basic-prof" },
    { "java", "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit (JDK 17 or later)" },
    { "dotnet", "the variable DOTNET_PerfMapEnabled=1 for dotnet" },
    { "beam.smp", "erl +JPperf true" },
};

static int has_program(const struct collector *collector, const char *name)
{
    for (const struct process *process = collector->processes->first; process; process = process->next)
        if (strcmp(process->name, name) == 0)
            return 1;
    return 0;
}

void made_code_tell(struct collector *collector, uint64_t unnamed_samples)
{
    uint64_t samples = collector->result->cpu.samples;
    struct text options = { 0 }, count = { 0 };
    if (unnamed_samples < LEAST_SAMPLES || unnamed_samples * LEAST_SHARE < samples)
        return;
    for (size_t i = 0; i < COUNT_OF(runtimes); i++)
        if (has_program(collector, runtimes[i].program))
            text_addf(&options, "%s%s", options.length ? ", " : "", runtimes[i].option);
    human_count(&count, unnamed_samples);
    text_add(&count, " of ");
    human_count(&count, samples);
    collector_warn(collector, 0,
                   "%s samples are in generated code without names ([jit]). Names come from /tmp/perf-PID.map%s%s.",
                   text_string(&count),
                   options.length ? ", which these options write: " : ", if the program writes one",
                   text_string(&options));
    text_free(&options);
    text_free(&count);
}
