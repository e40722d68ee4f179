/* Call sites of MPI: the line of the program that a call was made from. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_MPI_SITES_H
#define TACHO_ANALYZE_MODEL_RANKS_MPI_SITES_H

#include "base/intern.h"
#include "base/map.h"
#include "report/reader/reader.h"

enum { MPI_NO_SITE = -1 };

struct mpi_chain_site {
    uint64_t chain; /* + 1 */
    int64_t site;
};
MAP(mpi_site_map, struct mpi_chain_site, uint64_t, chain, chain, hash_number, map_is_same_number)

struct mpi_sites {
    struct intern texts; /* "exchange (halo.c:33)", by the number of the site: the same on all ranks */
    struct mpi_site_map chains;
};

/* mpi_sites_free() is safe after an error. */
int mpi_sites_read(struct mpi_sites *sites, struct report *report, struct error *err);
void mpi_sites_free(struct mpi_sites *sites);

/* The site of a chain of TACHO_MPI_CALLCHAINS, or MPI_NO_SITE: no call was recorded, or it came from a library between
 * the program and MPI. */
static inline int64_t mpi_site_of(const struct mpi_sites *sites, int64_t chain)
{
    const struct mpi_chain_site *found = mpi_site_map_find(&sites->chains, (uint64_t)chain + 1);

    return found ? found->site : MPI_NO_SITE;
}

#endif
