/* The messages that ranks in different reports of a set sent each other: none is received before it is sent. */
#ifndef TACHO_SET_SET_MESSAGES_H
#define TACHO_SET_SET_MESSAGES_H

#include "base/error.h"
#include "set/clocks/clock_fit.h"
#include "set_member.h"

struct set_messages {
    struct clock_message *list;
    size_t count;
};

/* If there are many, a part is read: the same channels on every rank. Freed by the caller after an error too. */
int set_messages_read(struct set_messages *messages, const struct set_member *members, size_t count, struct error *err);
void set_messages_free(struct set_messages *messages);

#endif
