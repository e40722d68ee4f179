"""Some hundred kernels, of which some use tensor cores: products of many types, shapes and layouts, convolutions, attention, hand-written
Triton kernels, and elementwise kernels, norms, reductions and copies. Each runs between cudaProfilerStart() and cudaProfilerStop()."""
import importlib.util
import itertools
import os
import sys
import tempfile

import torch
import torch.nn.functional as F

HALVES = (torch.float16, torch.bfloat16)
TRITON = '''
import triton
import triton.language as tl


@triton.jit
def {name}(a, b, c, K: tl.constexpr, N: tl.constexpr):
    m, n, k = tl.arange(0, 64), tl.arange(0, N), tl.arange(0, K)
    x, y = tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], {body})
'''
BODIES = {"dot": "tl.dot(x, y)", "dot_tf32": 'tl.dot(x, y, input_precision="tf32")', "dot_ieee": 'tl.dot(x, y, input_precision="ieee")',
          "sum": "x.to(tl.float32) + tl.sum(y.to(tl.float32))"}


def attempt(what, run):
    """A combination that this PyTorch or GPU lacks is said, and left out."""
    try:
        run()
    except Exception as error:  # noqa: BLE001
        print(f"left out: {what}: {str(error).splitlines()[0][:100]}")


def matrices(dtype, tf32):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    for m, n, k in itertools.product((1, 17, 64, 256, 1000, 4096), (8, 63, 512, 4096), (32, 129, 1024, 4096)):
        a, b = torch.ones(m, k, device="cuda", dtype=dtype), torch.ones(k, n, device="cuda", dtype=dtype)
        attempt(f"mm {dtype}", lambda a=a, b=b: a @ b)
        if m * n < 1 << 20:
            attempt(f"mm {dtype} transposed", lambda a=a, b=b: (b.T @ a.T, torch.baddbmm(torch.ones(1, device="cuda", dtype=dtype), a[None].expand(4, -1, -1), b[None].expand(4, -1, -1))))


def narrow_matrices():
    for size in (64, 1024, 4096):
        a = torch.ones(size, size, device="cuda")
        one = torch.ones((), device="cuda")
        attempt("fp8", lambda a=a: torch._scaled_mm(a.to(torch.float8_e4m3fn), a.to(torch.float8_e4m3fn).t(), one, one, out_dtype=torch.bfloat16))
        attempt("int8", lambda a=a: torch._int_mm(a.to(torch.int8), a.to(torch.int8)))
        attempt("complex", lambda a=a: a.to(torch.complex64) @ a.to(torch.complex64))


def convolutions(dtype, tf32, layout):
    torch.backends.cudnn.allow_tf32 = tf32
    for channels, size, kernel, stride, groups in ((3, 56, 7, 2, 1), (64, 56, 3, 1, 1), (64, 28, 1, 1, 1), (128, 28, 3, 2, 1), (32, 28, 3, 1, 32), (256, 14, 5, 1, 1)):
        def both():
            x = torch.ones(16, channels, size, size, device="cuda", dtype=dtype, requires_grad=True).to(memory_format=layout)
            w = torch.ones(64 if groups == 1 else groups, channels // groups, kernel, kernel, device="cuda", dtype=dtype, requires_grad=True)
            F.conv2d(x, w, stride=stride, groups=groups).float().sum().backward()
        attempt(f"conv {dtype}", both)


def attention(dtype):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    for backend, head, causal in itertools.product((SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH), (32, 64, 128), (True, False)):
        def both():
            q = torch.ones(2, 4, 256, head, device="cuda", dtype=dtype, requires_grad=True)
            with sdpa_kernel(backend):
                F.scaled_dot_product_attention(q, q, q, is_causal=causal).float().sum().backward()
        attempt(f"{backend} {dtype}", both)


def triton_kernels():
    """Each variant has a name of its own: code that differs under one name is told as unknown."""
    folder = tempfile.mkdtemp()
    for (body, text), dtype in itertools.product(BODIES.items(), (torch.float32, *HALVES)):
        name = f"handmade_{body}_{str(dtype).split('.')[1]}"
        path = os.path.join(folder, name + ".py")
        with open(path, "w") as file:
            file.write(TRITON.format(name=name, body=text))
        spec = importlib.util.spec_from_file_location(name, path)

        def run():
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            a, b, c = (torch.ones(64, 64, device="cuda", dtype=kind) for kind in (dtype, dtype, torch.float32))
            getattr(module, name)[(1,)](a, b, c, 64, 64)
        attempt(name, run)


def others(dtype):
    x = torch.rand(256, 512, device="cuda").to(dtype) + 0.5
    for name in ("abs neg exp log sqrt rsqrt sin cos tan tanh sigmoid relu floor ceil round trunc sign reciprocal square erf log1p expm1 sinh cosh asinh atan frac logit "
                 "isnan sum mean amax amin argmax prod std var cumsum softmax log_softmax norm sort topk median nonzero unique flip clone t roll").split():
        function = getattr(torch, name, None) or getattr(F, name, None)
        attempt(name, lambda f=function, n=name: f(x, *((8,) if n == "topk" else ((0,) if n in ("flip", "cumsum", "softmax", "log_softmax") else ((1,) if n == "roll" else ())))).clone())
    for function in (F.gelu, F.silu, F.elu, F.leaky_relu, F.hardswish, F.softplus, F.dropout, F.max_pool1d, F.avg_pool1d):
        attempt(str(function), lambda f=function: f(x[None], 2) if "pool" in f.__name__ else f(x))
    for pair in (torch.add, torch.mul, torch.div, torch.maximum, torch.pow, torch.atan2, torch.eq, torch.lt, torch.fmod):
        attempt(str(pair), lambda f=pair: f(x, x))
    attempt("layer_norm", lambda: F.layer_norm(x, (512,)))
    attempt("batch_norm", lambda: F.batch_norm(x.view(16, 16, 512), None, None, training=True))
    attempt("cat", lambda: (torch.cat([x, x]), x.t().contiguous(), x.to(torch.float32), torch.where(x > 1, x, -x), x[torch.randperm(256, device="cuda")]))
    parameter = torch.nn.Parameter(x.clone())
    parameter.grad = x.clone()
    for optimizer in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop):
        attempt(str(optimizer), lambda o=optimizer: o([parameter], lr=0.1).step())


def main():
    torch.cuda.init()
    torch.cuda.cudart().cudaProfilerStart()
    for dtype in (torch.float32, torch.float64, *HALVES):
        matrices(dtype, False)
    matrices(torch.float32, True)
    narrow_matrices()
    for dtype, layout in itertools.product((torch.float32, *HALVES), (torch.contiguous_format, torch.channels_last)):
        convolutions(dtype, False, layout)
    convolutions(torch.float32, True, torch.contiguous_format)
    convolutions(torch.float32, True, torch.channels_last)
    for dtype in (torch.float32, *HALVES):
        attention(dtype)
    triton_kernels()
    for dtype in (torch.float32, torch.float64, *HALVES):
        others(dtype)
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()


main()
