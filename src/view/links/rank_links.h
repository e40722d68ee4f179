/* Links between ranks: the instance of a collective on all ranks, and the two ends of a message. */
#ifndef TACHO_VIEW_LINKS_RANK_LINKS_H
#define TACHO_VIEW_LINKS_RANK_LINKS_H

#include "analyze/model/ranks/collectives.h"
#include "analyze/model/ranks/messages.h"
#include "event_list.h"

/* The data of links; read with the first event that may have some. {0} is empty. */
struct rank_links {
    int has_collectives, has_messages;
    struct collectives collectives;
    struct mpi_calls calls;
    struct clock_errors errors;
    struct messages messages;
};
void rank_links_free(struct rank_links *links);

/* The instance of a collective to which an event belongs. */
struct rank_instance {
    struct event_list calls; /* those of all other ranks in the timeline; the caller frees it */
    struct view_place last;  /* the last to come, or VIEW_NO_PLACE; may be the event itself */
    int64_t last_rank;
    int64_t lateness_ns;     /* how much later that one came than the first */
    size_t rank_count;       /* 0: the event is no collective */
};
int rank_links_instance(struct rank_instance *out, struct rank_links *links, struct view *view, struct view_place place,
                        struct error *err);

/* Adds the calls that received what an event sent, or that sent what it received. */
int rank_links_messages(struct event_list *received, struct event_list *sent, struct rank_links *links,
                        struct view *view, struct view_place place, struct error *err);

#endif
