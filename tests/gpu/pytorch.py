"""PyTorch programs: its own profiler beside ours, NCCL, cuBLAS and cuDNN."""
import re

import gpulib
import tools

LIMIT_SECONDS = 150
PROFILER = """
import torch
x = torch.zeros(16, device="cuda")
with torch.profiler.profile() as profiler:
    for _ in range(100):
        x.add_(1)
    torch.cuda.synchronize()
seen = sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profiler.events())
print(f"made seen={seen} kernels=100")
"""
NCCL = """
import os, torch, torch.distributed as dist
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
store = dist.HashStore()
dist.init_process_group("nccl", store=store, rank=0, world_size=1, device_id=torch.device("cuda:0"))
x = torch.ones(1 << 20, device="cuda")
torch.cuda.synchronize()
for _ in range(10):
    dist.all_reduce(x)
torch.cuda.synchronize()
dist.destroy_process_group()
print("made reduced=10 bytes=4194304")
"""
LIBRARIES = """
import torch
image, weight = torch.randn(8, 3, 64, 64, device="cuda"), torch.randn(16, 3, 3, 3, device="cuda")
a = torch.randn(512, 512, device="cuda")
for _ in range(10):
    torch.mm(a, a)
    torch.conv2d(image, weight)
torch.cuda.synchronize()
print("made products=10 convolutions=10")
"""


class PyTorch(gpulib.Case):
    def python(self, text, *options, **more):
        self.need_torch()
        with open(self.path("program.py"), "w") as file:
            file.write(text)
        report = self.profile(tools.PYTHON, self.path("program.py"), options=(*options, "-s", "none"), seconds=80, **more)
        return report, gpulib.made(self.output.stdout)

    def library_calls(self, report, word):
        """Calls of a library, whether they are rows of its own table or ranges in its domain."""
        table = f"{word.upper()}_EVENTS"
        if report.has(table):
            return dict(report.rows(f"SELECT value, count(*) FROM {table} JOIN StringIds ON id = nameId GROUP BY 1"))
        return dict(report.rows(f"""SELECT coalesce(e.text, s.value), count(*) FROM NVTX_EVENTS e LEFT JOIN StringIds s ON s.id = e.textId
            WHERE eventType = 59 AND domainId IN (SELECT domainId FROM NVTX_EVENTS WHERE eventType = 75 AND lower(text) LIKE ?) GROUP BY 1""", f"%{word}%"))


class Profiler(PyTorch):
    def test_we_have_cupti_and_the_report_says_so(self):
        report, made = self.python(PROFILER, "-t", "cuda")
        adds = report.number(gpulib.KERNEL)
        self.assertGreaterEqual(adds, made["kernels"])
        if made["seen"] == 0:
            self.assertRegex(report.messages() + self.output.stderr, "--cuda-yield", "the report does not say why the program saw no GPU events")

    def test_the_program_may_have_it(self):
        report, made = self.python(PROFILER, "-t", "cuda", "--cuda-yield=true")
        self.assertGreaterEqual(made["seen"], made["kernels"], "GPU events that the program's own profiler saw")
        self.figure("kernels in our report", report.number(gpulib.KERNEL))


class Libraries(PyTorch):
    def test_nccl(self):
        report, made = self.python(NCCL, "-t", "cuda,nvtx,nccl")
        ranges = self.library_calls(report, "nccl")
        self.figure("ranges", ranges)
        self.assertEqual(sum(count for name, count in ranges.items() if "AllReduce" in name), made["reduced"])

    def test_cublas_and_cudnn(self):
        report, made = self.python(LIBRARIES, "-t", "cuda,cublas,cudnn")
        products, convolutions = self.library_calls(report, "cublas"), self.library_calls(report, "cudnn")
        self.figure("cuBLAS", products)
        self.figure("cuDNN", convolutions)
        self.assertEqual(sum(count for name, count in products.items() if re.search("gemm|matmul", name, re.I)), made["products"])
        self.assertGreaterEqual(sum(count for name, count in convolutions.items() if re.search("execute|convolution", name, re.I)), made["convolutions"])


if __name__ == "__main__":
    gpulib.main()
