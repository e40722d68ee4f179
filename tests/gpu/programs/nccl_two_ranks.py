"""Two ranks of torch.distributed with NCCL on one GPU: NCCL_HOSTID makes NCCL take them for two hosts, which talk through sockets, because it refuses two
ranks of a host on the same GPU. Starts both and prints what each did, in the order of ranks."""
import os
import subprocess
import sys

COUNT = int(sys.argv[1])


def work(rank):
    import torch
    import torch.distributed as dist
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=rank, world_size=2, device_id=torch.device("cuda:0"))
    data, other = torch.ones(1 << 16, device="cuda"), torch.zeros(1 << 16, device="cuda")
    for _ in range(COUNT):
        dist.all_reduce(data)
        dist.send(data, 1) if rank == 0 else dist.recv(other, 0)
    torch.cuda.synchronize()
    total = int(data[0].item())
    dist.destroy_process_group()
    print("nccl", ".".join(map(str, torch.cuda.nccl.version())), "rank", rank, "count", COUNT, "bytes", data.numel() * 4, "value", total, flush=True)


if len(sys.argv) > 2:
    work(int(sys.argv[2]))
else:
    settings = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29518", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}
    ranks = [subprocess.Popen([sys.executable, __file__, str(COUNT), str(rank)], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, **settings, "NCCL_HOSTID": f"host{rank}"}) for rank in range(2)]
    printed = [rank.communicate()[0] for rank in ranks]
    print("".join(printed), end="")
    sys.exit(max(abs(rank.returncode) for rank in ranks))
