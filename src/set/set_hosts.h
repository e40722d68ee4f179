/* Finds the reports of a set that share a host, a system of processes, or GPUs. */
#ifndef TACHO_SET_SET_HOSTS_H
#define TACHO_SET_SET_HOSTS_H

#include "base/error.h"
#include "set_member.h"

/* Fills clock_group, system, first_device and repeats_gpus of each member. */
int set_hosts_number(struct set_member *members, size_t count, struct error *err);

#endif
