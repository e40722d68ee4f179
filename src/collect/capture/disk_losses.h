/* Losses from a full disk: rows that were counted as recorded when the writer took them, but are not in the report. */
#ifndef TACHO_COLLECT_CAPTURE_DISK_LOSSES_H
#define TACHO_COLLECT_CAPTURE_DISK_LOSSES_H

struct collector;

/* Call it when all events are written or lost. Subtracts the lost rows from the counts of recorded events, and counts
 * them as lost, for every table. */
void disk_losses_count(struct collector *collector);

#endif
