"""Every way in which tutorials use torch's profilers, in one program that knows nothing of Tacho: profilers.py FOLDER"""
import sys

import torch
import torchvision
from torch.profiler import ProfilerActivity, profile, record_function

folder = sys.argv[1]
both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]


def show(title, table):
    print(f"==== {title}\n{table}", flush=True)


a = torch.randn(4000, 4000).cuda()
for name, work in (("torch.square", lambda: torch.square(a)), ("a * a", lambda: a * a), ("a ** 2", lambda: a ** 2)):
    for _ in range(5):
        work()
    torch.cuda.synchronize()
    with torch.autograd.profiler.profile(use_cuda=True) as prof:
        work()
        torch.cuda.synchronize()
    show(name, prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=10))


def handler(prof):
    show(f"schedule {prof.step_num}", prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=-1))
    prof.export_chrome_trace(f"{folder}/trace_{prof.step_num}.json")


with torch.profiler.profile(activities=both, schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=handler) as p:
    for _ in range(6):
        torch.square(torch.randn(2000, 2000).cuda())
        p.step()
        print(f"step_num={p.step_num}", flush=True)

model = torchvision.models.resnet18().cuda()
inputs = torch.randn(5, 3, 224, 224).cuda()
model(inputs)
with profile(activities=both, record_shapes=True, profile_memory=True) as prof:
    with record_function("model_inference"):
        model(inputs)
    torch.cuda.synchronize()
show("inference", prof.key_averages().table(sort_by="cuda_time_total", row_limit=10))
show("shapes", prof.key_averages(group_by_input_shape=True).table(sort_by="cuda_time_total", row_limit=20))
show("memory", prof.key_averages().table(sort_by="self_cuda_memory_usage", row_limit=10))

with profile(activities=both, with_stack=True) as prof:
    model(inputs)
    torch.cuda.synchronize()
show("stacks", prof.key_averages(group_by_stack_n=5).table(sort_by="self_cuda_time_total", row_limit=4))
prof.export_stacks(f"{folder}/stacks.txt", "self_cuda_time_total")
