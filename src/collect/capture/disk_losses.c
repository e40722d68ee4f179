/* Losses from a full disk: see disk_losses.h. The writer knows how many rows of each table it could not write; the
 * table says which source they belong to. Rows of a table that no source lists are counted under the table's own name,
 * so that no loss goes unreported. Frames of call chains are no events: those have been counted. */
#include "disk_losses.h"

#include "collect/core/collect_sources.h"
#include "collect/core/collector.h"
#include "collect/process/process.h"
#include "report/schema/chain_tables.h"
#include "report/schema/schema.h"

static void disk_loss_count(struct collector *collector, const char *source, uint64_t lost, uint64_t recorded)
{
    collector->result->lost_disk += lost;
    process_count_row(collector->primary, source, "recorded", "", -(int64_t)recorded);
    process_count_row(collector->primary, source, "lost", "disk-full", (int64_t)lost);
}

/* Subtracts lost rows from one source and returns how many it took. If several sources share a table, the first ones
 * are reduced first. */
static uint64_t disk_losses_take(struct collector *collector, const struct collect_table *owned, uint64_t lost)
{
    uint64_t *recorded = (uint64_t *)((char *)collector->result + owned->recorded);
    uint64_t taken = lost < *recorded ? lost : *recorded;
    disk_loss_count(collector, owned->source, taken, taken);
    *recorded -= taken;
    return taken;
}

static void disk_losses_count_table(struct collector *collector, enum table_id table)
{
    uint64_t lost = writer_rows_lost(collector->writer, table);
    for (int i = 0; lost && i < COLLECT_SOURCE_COUNT; i++)
        for (const struct collect_table *owned = collect_sources[i]->tables; owned && owned->source; owned++)
            lost -= owned->table == table ? disk_losses_take(collector, owned, lost) : 0;
    if (chain_table_find(schema_tables[table].name) >= 0)
        process_count_row(collector->primary, "stack frames", "lost", "disk-full", (int64_t)lost);
    else
        disk_loss_count(collector, schema_tables[table].name, lost, 0);
}

void disk_losses_count(struct collector *collector)
{
    writer_give_up_held(collector->writer);
    for (int table = 0; table < TABLE_COUNT; table++)
        disk_losses_count_table(collector, (enum table_id)table);
}
