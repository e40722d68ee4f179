"""A script as people write them: torch's profilers under all the names that they have."""
import sys

import torch
import torch.autograd.profiler as autograd_profiler
from torch.profiler import ProfilerActivity, profile, record_function


def ready(prof):
    print("ready", prof.step_num, repr(prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=-1)))


with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA],
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=ready) as p:
    for _ in range(6):
        p.step()
        print(p.step_num)

with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    with record_function("model_inference"):
        pass
print(len(prof.key_averages(group_by_input_shape=True)))

with torch.autograd.profiler.profile(use_cuda=True) as old:
    pass
print(repr(old.key_averages().table()))

with torch.autograd.profiler.emit_nvtx():
    pass
print(autograd_profiler.profile is type(old), profile is type(prof), sys.argv[1:])
