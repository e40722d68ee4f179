"""Python programs for bench/cost/cpu_programs.py: cpu_loops.py NAME AMOUNT.

- arrays: numpy: sorting, matrix products and reductions on arrays that fit into the cache, and a Python loop around them
- gil: four threads that all need the GIL
- loader: a training loop of PyTorch on the CPU with a DataLoader
- short: a program of some 0.8 s in one thread
"""
import sys
import threading


def arrays(amount):
    import numpy
    random = numpy.random.default_rng(1)
    total = 0.0
    for i in range(amount):
        a = random.standard_normal((96, 96))
        b = a @ a.T + numpy.eye(96) * i
        total += float(numpy.linalg.slogdet(b + numpy.eye(96))[1]) + float(numpy.sort(a, axis=None)[::7].sum())
        total += sum(float(row.max()) for row in a)
    return total


def parse(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]


def spin(amount, results, place):
    text = " ".join(f"word{i * i % 97}" for i in range(400))
    for i in range(amount):
        results[place] = parse(text), sum(k * k for k in range(i % 500))


def gil(amount):
    results = [None] * 4
    threads = [threading.Thread(target=spin, args=(amount, results, i)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results[0][0]


def short(amount):
    results = [None]
    spin(amount, results, 0)
    return results[0][0]


def loader(amount):
    import torch
    from torch import nn
    torch.manual_seed(1)
    torch.set_num_threads(2)
    data = torch.utils.data.TensorDataset(torch.randn(32 * amount, 3, 24, 24), torch.randint(0, 10, (32 * amount,)))
    model = nn.Sequential(nn.Conv2d(3, 24, 3), nn.BatchNorm2d(24), nn.ReLU(), nn.Conv2d(24, 48, 3, 2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
    model(data[0][0][None])
    optimizer = torch.optim.Adam(model.parameters())
    total = 0.0
    for x, y in torch.utils.data.DataLoader(data, batch_size=32, shuffle=True, num_workers=1):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


if __name__ == "__main__":
    print({"arrays": arrays, "gil": gil, "short": short, "loader": loader}[sys.argv[1]](int(sys.argv[2])))
