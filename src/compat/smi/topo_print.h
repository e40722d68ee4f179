/* The texts of `tacho topo`: those of nvidia-smi, byte for byte, and JSON. */
#ifndef TACHO_COMPAT_SMI_TOPO_PRINT_H
#define TACHO_COMPAT_SMI_TOPO_PRINT_H

#include "topology.h"

/* The matrix of all nodes; with_nvlinks: else PCI alone. */
void topo_add_matrix(struct text *out, const struct topology *topology, int with_nvlinks);

/* The matrix of peer access. `ways` has letters: r, w, n, a, p. A pair is OK if it is OK in all of them. */
void topo_add_peers(struct text *out, const struct topology *topology, const char *ways);
int topo_is_way(char letter);

/* Sentences about GPUs, by their place among the nodes. */
void topo_add_of_cpu(struct text *out, const struct topology *topology, size_t cpu);
void topo_add_path(struct text *out, const struct topology *topology, size_t from, size_t to);
void topo_add_nearest(struct text *out, const struct topology *topology, size_t from, size_t path);
void topo_add_closest_cpu(struct text *out, const struct topology_node *gpu);
void topo_add_closest_memory(struct text *out, const struct topology_node *gpu);
void topo_add_own_node(struct text *out, const struct topology_node *gpu);

enum { TOPO_PATHS = 6 }; /* those of topo_add_nearest() */

void topo_add_json(struct text *out, const struct topology *topology);

#endif
