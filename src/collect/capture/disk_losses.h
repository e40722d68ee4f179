/* What a full disk took: rows that were counted as recorded when they were handed to the writer,
 * and are not in the report. */
#ifndef TACHO_COLLECT_CAPTURE_DISK_LOSSES_H
#define TACHO_COLLECT_CAPTURE_DISK_LOSSES_H

struct collector;

/* When all events are written, or lost: takes back what was counted too much, and counts every
 * row of every table as lost. */
void disk_losses_count(struct collector *collector);

#endif
