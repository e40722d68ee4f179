"""Some hundred kernels, of which some use tensor cores: products of many types, shapes and layouts, convolutions, attention, hand-written
and compiled Triton kernels, and elementwise kernels, norms, reductions, copies, transforms and solvers: tensor_kernels.py [SECONDS]

The cases of all families take turns, so that a run that ends after SECONDS has some of each."""
import importlib.util
import itertools
import os
import sys
import tempfile
import time

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

HALVES = (torch.float16, torch.bfloat16)
FLOATS = (torch.float32, torch.float64, *HALVES)
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
UNARY = ("abs neg exp log sqrt rsqrt sin cos tan tanh sigmoid floor ceil round trunc sign reciprocal square erf log1p expm1 sinh cosh asinh atan frac logit isnan "
         "sum mean amax amin argmax prod std var norm sort median nonzero unique clone count_nonzero any").split()


def ones(*shape, dtype=torch.float32):
    return torch.ones(*shape, device="cuda", dtype=dtype)


def matrices():
    """float32 twice: as it is, and as TF32."""
    for (m, n, k), (dtype, tf32) in itertools.product(itertools.product((1, 17, 64, 256, 1000, 4096), (8, 63, 512, 4096), (32, 129, 1024)),
                                                      [(dtype, False) for dtype in FLOATS] + [(torch.float32, True)]):
        def run(m=m, n=n, k=k, dtype=dtype, tf32=tf32):
            torch.backends.cuda.matmul.allow_tf32 = tf32
            a, b = ones(m, k, dtype=dtype), ones(k, n, dtype=dtype)
            a @ b
            if m * n < 1 << 18:
                b.T @ a.T
                torch.baddbmm(ones(1, dtype=dtype), a[None].expand(4, -1, -1), b[None].expand(4, -1, -1))
                torch.addmm(ones(n, dtype=dtype), a, b)
        yield f"mm {m}x{n}x{k} {dtype} {tf32}", run


def narrow_matrices():
    for size in (64, 1024, 4096):
        yield "fp8", lambda s=size: torch._scaled_mm(ones(s, s).to(torch.float8_e4m3fn), ones(s, s).to(torch.float8_e4m3fn).t(), ones(()), ones(()), out_dtype=torch.bfloat16)
        yield "fp8 by row", lambda s=size: torch._scaled_mm(ones(s, s).to(torch.float8_e4m3fn), ones(s, s).to(torch.float8_e4m3fn).t(), ones(s, 1), ones(1, s), out_dtype=torch.bfloat16)
        yield "int8", lambda s=size: torch._int_mm(ones(s, s, dtype=torch.int8), ones(s, s, dtype=torch.int8))
        yield "complex64", lambda s=size: ones(s, s, dtype=torch.complex64) @ ones(s, s, dtype=torch.complex64)
        yield "complex128", lambda s=size: ones(s, s, dtype=torch.complex128) @ ones(s, s, dtype=torch.complex128)
        yield "sparse", lambda s=size: torch.sparse.to_sparse_semi_structured(torch.tensor([0, 0, 1, 1], device="cuda").tile((s, s // 4)).half()) @ ones(s, s, dtype=torch.float16)


def convolutions():
    shapes = ((3, 56, 7, 2, 1), (64, 56, 3, 1, 1), (64, 28, 1, 1, 1), (128, 28, 3, 2, 1), (32, 28, 3, 1, 32), (256, 14, 5, 1, 1))
    kinds = [(dtype, False) for dtype in (torch.float32, *HALVES)] + [(torch.float32, True)]
    for (channels, size, kernel, stride, groups), (dtype, tf32), layout in itertools.product(shapes, kinds, (torch.contiguous_format, torch.channels_last)):
        def run(channels=channels, size=size, kernel=kernel, stride=stride, groups=groups, dtype=dtype, tf32=tf32, layout=layout):
            torch.backends.cudnn.allow_tf32 = tf32
            x = ones(16, channels, size, size, dtype=dtype).to(memory_format=layout).requires_grad_()
            w = ones(64 if groups == 1 else groups, channels // groups, kernel, kernel, dtype=dtype).requires_grad_()
            F.conv2d(x, w, stride=stride, groups=groups).float().sum().backward()
        yield f"conv {channels} {kernel} {dtype} {tf32} {layout}", run


def attention():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backends = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH)
    for head, dtype, backend, causal in itertools.product((64, 128, 32), (*HALVES, torch.float32), backends, (True, False)):
        def run(head=head, dtype=dtype, backend=backend, causal=causal):
            q = ones(2, 4, 256, head, dtype=dtype).requires_grad_()
            with sdpa_kernel(backend):
                F.scaled_dot_product_attention(q, q, q, is_causal=causal).float().sum().backward()
        yield f"{backend} {dtype} {head}", run


def triton_kernels():
    """Each variant has a name of its own: code that differs under one name is told as unknown."""
    folder = tempfile.mkdtemp()
    for (body, text), dtype in itertools.product(BODIES.items(), (torch.float32, *HALVES)):
        name = f"handmade_{body}_{str(dtype).split('.')[1]}"

        def run(name=name, text=text, dtype=dtype):
            path = os.path.join(folder, name + ".py")
            with open(path, "w") as file:
                file.write(TRITON.format(name=name, body=text))
            spec = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            getattr(module, name)[(1,)](ones(64, 64, dtype=dtype), ones(64, 64, dtype=dtype), ones(64, 64), 64, 64)
        yield name, run


def compiled():
    def chain(x):
        return torch.sigmoid(x) * x + 1

    def softmax(x):
        return torch.softmax(x * 2, -1)

    def centred(x):
        return x - x.mean(0)

    for function in (chain, softmax, centred):
        yield function.__name__, lambda f=function: torch.compile(f)(ones(256, 512))


def elementwise():
    def x(dtype):
        return torch.rand(256, 512, device="cuda").to(dtype) + 0.5

    for name, dtype in itertools.product(UNARY, FLOATS):
        yield f"{name} {dtype}", lambda f=getattr(torch, name), d=dtype: f(x(d))
    for function, dtype in itertools.product((F.relu, F.gelu, F.silu, F.elu, F.leaky_relu, F.hardswish, F.softplus, F.dropout, F.mish, F.logsigmoid), FLOATS):
        yield f"{function.__name__} {dtype}", lambda f=function, d=dtype: f(x(d))
    for function, dtype in itertools.product((torch.add, torch.mul, torch.div, torch.maximum, torch.pow, torch.atan2, torch.eq, torch.lt, torch.fmod), FLOATS):
        yield f"{function.__name__} {dtype}", lambda f=function, d=dtype: f(x(d), x(d))
    for dtype in FLOATS:
        yield "copies", lambda d=dtype: (torch.cat([x(d), x(d)]), x(d).t().contiguous(), x(d).to(torch.int32), torch.where(x(d) > 1, x(d), -x(d)), x(d).flip(0), x(d).roll(1))
        yield "gather", lambda d=dtype: (x(d)[torch.randperm(256, device="cuda")], x(d).index_add(0, torch.arange(9, device="cuda"), x(d)[:9]), x(d).topk(8), x(d).cumsum(0), x(d).cummax(0), x(d).logsumexp(0))


def layers():
    for dtype in FLOATS:
        def norms(dtype=dtype):
            x, w = ones(16, 32, 24, 24, dtype=dtype).requires_grad_(), ones(32, dtype=dtype).requires_grad_()
            (F.batch_norm(x, None, None, w, w, training=True) + F.group_norm(x, 8, w, w) + F.instance_norm(x)).sum().backward()
            F.layer_norm(x, (24,), ones(24, dtype=dtype).requires_grad_()).sum().backward()

        def pools(dtype=dtype):
            x = ones(4, 8, 24, 24, dtype=dtype).requires_grad_()
            (F.max_pool2d(x, 2).sum() + F.avg_pool2d(x, 2).sum() + F.adaptive_avg_pool2d(x, 3).sum() + F.interpolate(x, scale_factor=2).sum()
             + F.interpolate(x, scale_factor=2, mode="bilinear").sum() + F.pad(x, (1, 1, 1, 1), mode="reflect").sum()).backward()

        def losses(dtype=dtype):
            x, target = ones(64, 100, dtype=dtype).requires_grad_(), torch.zeros(64, dtype=torch.int64, device="cuda")
            (F.cross_entropy(x, target) + F.mse_loss(x, x.detach() * 2) + F.smooth_l1_loss(x, x.detach() * 2) + F.softmax(x, 0).sum()).backward()

        def embedding(dtype=dtype):
            w, i = ones(1000, 64, dtype=dtype).requires_grad_(), torch.arange(512, device="cuda")
            F.embedding(i, w).sum().backward()

        def optimizers(dtype=dtype):
            parameter = torch.nn.Parameter(ones(256, 512, dtype=dtype))
            parameter.grad = ones(256, 512, dtype=dtype)
            for kind, options in ((torch.optim.SGD, {"momentum": 0.9}), (torch.optim.Adam, {}), (torch.optim.AdamW, {"fused": True}), (torch.optim.RMSprop, {})):
                kind([parameter], lr=0.1, **options).step()

        def recurrent(dtype=dtype):
            for kind in (torch.nn.LSTM, torch.nn.GRU):
                kind(64, 64, device="cuda", dtype=dtype)(ones(8, 16, 64, dtype=dtype).requires_grad_())[0].sum().backward()

        for part in (norms, pools, losses, embedding, optimizers, recurrent):
            yield f"{part.__name__} {dtype}", part


def others():
    for dtype in (torch.float32, torch.float64):
        yield "fft", lambda d=dtype: [torch.fft.fft(ones(64, size, dtype=d)) for size in (16, 100, 1024, 4099)]
        yield "cholesky", lambda d=dtype: torch.linalg.cholesky(torch.eye(256, device="cuda", dtype=d))
        yield "solve", lambda d=dtype: torch.linalg.solve(torch.eye(256, device="cuda", dtype=d), ones(256, 8, dtype=d))
        yield "triangular", lambda d=dtype: torch.linalg.solve_triangular(torch.eye(256, device="cuda", dtype=d), ones(256, 8, dtype=d), upper=True)
        yield "distances", lambda d=dtype: torch.cdist(ones(64, 16, dtype=d), ones(64, 16, dtype=d), compute_mode="donot_use_mm_for_euclid_dist")
        yield "random", lambda d=dtype: (torch.randn(1000, device="cuda", dtype=d), ones(8, 100, dtype=d).multinomial(4), torch.rand(100, device="cuda", dtype=d).histc(10))
        yield "csr", lambda d=dtype: torch.eye(256, device="cuda", dtype=d).to_sparse_csr() @ ones(256, 64, dtype=d)
        yield "grid", lambda d=dtype: F.grid_sample(ones(2, 3, 16, 16, dtype=d), torch.zeros(2, 8, 8, 2, device="cuda", dtype=d), align_corners=False)


def turns(families):
    """All cases, those of each family spread evenly over the list."""
    cases = []
    for family in families:
        own = list(family())
        cases += [(i / len(own), f"{family.__name__}: {what}", run) for i, (what, run) in enumerate(own)]
    return [case[1:] for case in sorted(cases, key=lambda case: case[0])]


def main():
    began, seconds = time.monotonic(), float(sys.argv[1]) if len(sys.argv) > 1 else 600
    torch.cuda.init()
    print(f"program: PyTorch {torch.__version__}, ready", flush=True)
    cases = turns((matrices, narrow_matrices, convolutions, attention, triton_kernels, compiled, elementwise, layers, others))
    left_out, said = [], time.monotonic()
    for i, (what, run) in enumerate(cases):
        if time.monotonic() - began > seconds:
            print(f"program: time is up, {len(cases) - i} of {len(cases)} cases did not run", flush=True)
            break
        try:
            run()
            torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001 (a combination that this PyTorch or GPU lacks)
            left_out.append(f"{what}: {str(error).splitlines()[0][:90] if str(error) else type(error).__name__}")
        if time.monotonic() - said > 5:
            said = time.monotonic()
            print(f"program: {said - began:.0f} s, {i + 1} of {len(cases)} cases", flush=True)
    print(f"program: {time.monotonic() - began:.0f} s; not supported: {len(left_out)}", *sorted(set(left_out)), sep="\n    ", flush=True)


main()
