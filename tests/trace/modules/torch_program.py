"""What torch.profiler sees of a small training, as lines of JSON, while somebody else may be watching too."""
import json
import os
import sys
import tempfile

import torch
from torch.profiler import ProfilerActivity, profile, record_function

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
data = torch.randn(6, 3, 8, 8)


def train():
    for number in range(3):
        with record_function(f"ProfilerStep#{number}"):
            optimizer.zero_grad()
            loss = model(data).logsumexp(1).mean()
            loss.backward()
            optimizer.step()
    torch.cat([data, data]).index_select(0, torch.tensor([1, 2])).to(torch.float64).sum(dim=[1, 2], keepdim=True)


train()
with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True) as profiler:
    with record_function("watched"):
        train()
path = os.path.join(tempfile.mkdtemp(), "trace.json")
profiler.export_chrome_trace(path)
with open(path) as file:
    events = json.load(file)["traceEvents"]
os.remove(path)
os.rmdir(os.path.dirname(path))
(watched,) = (event for event in events if event.get("name") == "watched")
for event in events:
    inside = event.get("ts", -1) >= watched["ts"] and event["ts"] + event.get("dur", 0) <= watched["ts"] + watched["dur"]
    if inside and (event.get("cat") in ("cpu_op", "user_annotation") or event.get("name") == "[memory]"):
        print(json.dumps({"name": event["name"], "cat": event["cat"], "args": event["args"]}))
sys.stdout.flush()
