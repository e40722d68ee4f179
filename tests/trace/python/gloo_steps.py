"""Steps of a training on gloo, on three ranks: an allreduce of all and one of the first two, then a barrier. The first argument plants a
fault, the second says on which rank:

    none      no fault; the first two ranks have one allreduce more
    even      all ranks do the same
    compute   the rank computes longer
    load      its data loader sleeps
    collect   it collects garbage
    hang      after some steps it never comes again
"""
import gc
import sys
import time

import torch
import torch.distributed

STEPS = 20
fault, at = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()
pair = torch.distributed.new_group([0, 1])
values = torch.ones(1000)
kept = [[number] for number in range(400000)] if fault == "collect" and rank == at else None


def slow_part():
    until = time.thread_time() + 0.03
    while time.thread_time() < until:
        torch.ones(200, 200) @ torch.ones(200, 200)


def load():
    time.sleep(0.03)


def collect():
    gc.collect()


for step in range(STEPS):
    if fault == "hang" and step == 10:
        print("hangs", file=sys.stderr, flush=True)
        if rank == at:
            time.sleep(1000)
    elif rank == at and fault not in ("none", "even", "hang"):
        {"compute": slow_part, "load": load, "collect": collect}[fault]()
    torch.distributed.all_reduce(values)
    if rank < 2 and fault != "even":
        torch.distributed.all_reduce(values, group=pair)
    torch.distributed.barrier()
torch.distributed.destroy_process_group()
