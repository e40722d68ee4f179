"""Steps of a training on gloo with one planted fault: torchrun … planted_gloo.py FAULT RANK STEPS WORK_US FAULT_US [SEED]

Prints how long a step took on average, in ns: with a FAULT_US of 0, or a RANK of -1, that of the repaired job.

Each rank takes a batch from its DataLoader, computes, for as long as the others within 5 %, and reduces gradients. The fault is on one rank:

    none      there is none
    compute   another function, slow_part(), computes
    loader    the data set sleeps
    gc        garbage is collected in every fifth step, of five times the time
    uneven    the same function has more to do
    faults    touch_memory() maps new memory and touches it, where the others touch memory that they have
    hog       bench/stragglers.py runs other programs on the CPU that the rank is bound to
    pair      slow_part(), before an allreduce with the next rank, which comes last because it waits for it
"""
import ctypes
import gc
import mmap
import os
import random
import struct
import sys
import time

import torch
import torch.distributed
import torch.utils.data

FAULT, AT, STEPS, WORK, US = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) / 1e6, int(sys.argv[5]) / 1e6
WARM_UP = 3  # steps that do not count: what PyTorch and the profiler do at first takes longer than the fault
SCHED_SETATTR, SLICE_NS = 314, 500000
OBJECTS_A_SECOND = 25e6  # that a collection looks at
PAGES_A_SECOND = 1.5e6
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo")
rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
is_at = rank == AT
chance = random.Random(int(sys.argv[6] if len(sys.argv) > 6 else 0) * 100 + rank)
matrix = torch.ones(100, 100)


def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        torch.mm(matrix, matrix)


def slow_part(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        torch.exp(matrix)


def touch_memory(seconds, is_new):
    global kept
    count = int(seconds * PAGES_A_SECOND)
    if is_new or kept is None:
        kept = mmap.mmap(-1, count * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    kept[::mmap.PAGESIZE] = bytes(count)
    if is_new:
        kept.close()


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        if FAULT == "loader" and is_at:
            time.sleep(US)
        return torch.ones(8)


def step(number, gradients, pair):
    seconds = WORK * (1 + 0.05 * (chance.random() - 0.5))
    work(seconds + US if FAULT == "uneven" and is_at else seconds)
    if FAULT == "compute" and is_at:
        slow_part(US)
    elif FAULT == "faults":
        touch_memory(US, is_at)
    elif FAULT == "gc" and is_at and number % 5 == 0:
        gc.collect()
    elif FAULT == "pair" and rank in (AT, (AT + 1) % size):
        if is_at:
            slow_part(US)
        torch.distributed.all_reduce(gradients, group=pair)
    torch.distributed.all_reduce(gradients)


kept = None
objects = [[number] for number in range(int(5 * US * OBJECTS_A_SECOND))] if FAULT == "gc" and is_at else None
gc.freeze() if FAULT != "gc" else None


def shorten_slice(thread):
    """A thread with short slices of time runs as soon as it wakes up, and need not wait for the end of another program's slice, which takes longer than a step."""
    attributes = struct.pack("IIQiIQQQ", 48, 0, 0, int(os.environ["PLANTED_NICE"]), 0, SLICE_NS, 0, 0)
    ctypes.CDLL(None).syscall(SCHED_SETATTR, thread, attributes, 0)


def raise_priority():
    """Other programs of a busy machine would be faults that were not planted. Sessions have a priority, too."""
    nice = os.environ.get("PLANTED_NICE")
    for thread in os.listdir("/proc/self/task") if nice else ():
        os.setpriority(os.PRIO_PROCESS, int(thread), int(nice))
        shorten_slice(int(thread))
    if nice and os.path.exists("/proc/self/autogroup"):
        with open("/proc/self/autogroup", "w") as file:
            file.write(nice)


def main():
    pair = torch.distributed.new_group(sorted((AT, (AT + 1) % size))) if FAULT == "pair" else None
    if FAULT == "hog":
        os.sched_setaffinity(0, {1 if is_at else 0})
    gradients = torch.ones(1000)
    torch.distributed.all_reduce(gradients, group=pair) if pair and rank in (AT, (AT + 1) % size) else None
    torch.distributed.all_reduce(gradients)
    raise_priority()
    start = None
    for number, _ in enumerate(torch.utils.data.DataLoader(Data(), batch_size=1)):
        start = time.monotonic() if number == WARM_UP else start
        step(number, gradients, pair)
    if rank == 0:
        print(round((time.monotonic() - start) / (STEPS - WARM_UP) * 1e9))
    torch.distributed.destroy_process_group()


main()
