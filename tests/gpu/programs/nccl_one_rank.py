"""One rank of torch.distributed with NCCL. NCCL copies collectives of a single rank without a plan, which plugins do not hear of; an
all-to-all is sends and receives, which have one even there. Prints the version of NCCL, and what it did."""
import os
import sys

import torch
import torch.distributed as dist

COUNT = int(sys.argv[1])
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29517")
torch.cuda.set_device(0)
dist.init_process_group("nccl", rank=0, world_size=1, device_id=torch.device("cuda:0"))
data, other = torch.ones(1 << 16, device="cuda"), torch.zeros(1 << 16, device="cuda")
for _ in range(COUNT):
    dist.all_reduce(data)
    dist.all_to_all_single(other, data)
torch.cuda.synchronize()
total = other.sum().item()
dist.destroy_process_group()
print("nccl", ".".join(map(str, torch.cuda.nccl.version())), "count", COUNT, "bytes", data.numel() * 4, "sum", int(total))
