/* NCCL's profiler plugin interface: --nccl-plugin. The calls of -t nccl, ranges without a plugin, are a library of
 * libraries_source.c. */
#include <string.h>

#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"
#include "wire/wire_nccl.h"

struct nccl_settings {
    const char *level;
};

static const char *const levels[] = {
    [WIRE_NCCL_OFF] = "off",
    [WIRE_NCCL_COLL] = "coll",
    [WIRE_NCCL_PROXY] = "proxy",
    [WIRE_NCCL_LEVELS] = NULL,
};

static int nccl_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    const struct nccl_settings *own = profile_source_settings(settings, &cmd_source_nccl);

    (void)err;
    for (uint32_t i = 0; own->level && levels[i]; i++)
        collect->nccl_level = strcmp(levels[i], own->level) == 0 ? i : collect->nccl_level;
    if (collect->nccl_level) {
        collect->sources |= WIRE_BIT(NCCL);
        collect->requested |= WIRE_BIT(NCCL);
    }
    return 0;
}

/* clang-format off */
static const struct option nccl_source_options[] = {
    { .name = "nccl-plugin", .kind = OPTION_CHOICE, .offset = offsetof(struct nccl_settings, level), .value = "WHAT",
      .words = levels,
      .help = "Record what NCCL reports to profiler plugins: off, coll (groups, collectives and transfers with "
              "algorithm, protocol, channels), proxy (also the steps of network transfers). Default: off." },
    { 0 },
};
/* clang-format on */

static const struct cmd_source_label nccl_source_labels[] = { { "NCCL_PLUGIN", "NCCL plugin", NULL }, { 0 } };

static const struct cmd_source_table nccl_source_tables[] = {
    { "nccl", "TACHO_NCCL_OP" },
    { "nccl proxy", "TACHO_NCCL_PROXY" },
    { 0 },
};

const struct cmd_source cmd_source_nccl = {
    .events = WIRE_BIT(NCCL),
    .options = nccl_source_options,
    .settings_bytes = sizeof(struct nccl_settings),
    .finish = nccl_source_finish,
    .labels = nccl_source_labels,
    .tables = nccl_source_tables,
    .last = SOURCE_LAST_IN_TABLES,
};
