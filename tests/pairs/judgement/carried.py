"""The programs of clean.py and limits.py in which something was found, with what the finding says carried out by hand: `judge.py --carried` times both.
`fixed` is the rule of the finding. The work stays the same, but for rows of zeros that are added where sizes are padded."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import clean
import limits
import program
from program import captured


def compile_modules(modules):
    """Has these modules compiled at their first call; not on the CPU, where it takes long and shows nothing."""
    for module in () if program.ON_CPU else modules:
        module.compile()


class Graphed:
    """The whole step of a program is one CUDA graph."""

    def __init__(self, fixed):
        super().__init__(fixed)
        self.step = None
        if fixed == "launch_bound":
            for optimizer in getattr(self, "optimizers", None) or [self.optimizer]:
                for group in optimizer.param_groups:
                    group["capturable"] = True
            self.step = captured(lambda: super(Graphed, self).train((0,)))

    def train(self, steps):
        if not self.step:
            return super().train(steps)
        for _ in steps:
            self.step()


class ImageClassifier(clean.ImageClassifier):
    rules = ("tensor_cores", "layout_conversions")
    CHANNELS = 8

    def __init__(self, fixed):
        super().__init__(fixed)
        if fixed == "tensor_cores":
            first = self.model.patch_embed.proj
            padded = nn.Conv2d(self.CHANNELS, first.out_channels, first.kernel_size, first.stride, **clean.BF16)
            with torch.no_grad():
                padded.weight.zero_()[:, :3] = first.weight
                padded.bias.copy_(first.bias)
            self.model.patch_embed.proj = padded
            self.images = F.pad(self.images, (0, 0, 0, 0, 0, self.CHANNELS - 3))
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        elif fixed == "layout_conversions":
            self.model.to(memory_format=torch.channels_last)
            self.images = self.images.to(memory_format=torch.channels_last)


class LlamaScores(clean.LlamaScores):
    """The chains are in the layers. All of these have the same code, which is compiled once."""

    rules = ("pointwise_chains",)

    def __init__(self, fixed):
        super().__init__(fixed)
        if fixed:
            compile_modules(self.model.model.layers)


class Molecules(Graphed, clean.Molecules):
    rules = ("launch_bound",)


class ReplayLearner(clean.ReplayLearner):
    """The host plays as before. What it hands over is in pinned memory, and all kernels are in two graphs."""

    rules = ("launch_bound",)

    def __init__(self, fixed):
        super().__init__(fixed)
        if not fixed:
            return
        self.optimizer.param_groups[0]["capturable"] = True
        self.on_host = {"state": torch.from_numpy(self.state).pin_memory(), "rows": torch.zeros(self.ENVIRONMENTS, 34).pin_memory(),
                        "actions": torch.zeros(self.ENVIRONMENTS, dtype=torch.long).pin_memory()}
        self.arrays = {name: tensor.numpy() for name, tensor in self.on_host.items()}
        self.seen, self.actions = (self.on_host[name].cuda() for name in ("state", "actions"))
        self.choose, self.learn = captured(self.choose), captured(self.learn)

    @torch.no_grad()
    def choose(self):
        self.actions.copy_(self.body(self.seen).argmax(1))

    def learn(self):
        rows = self.memory[torch.randint(len(self.memory), (self.BATCH,), device="cuda")]
        with torch.no_grad():
            wanted = rows[:, 33] + 0.99 * self.body(rows[:, 16:32]).amax(1)
        chosen = self.body(rows[:, :16]).gather(1, rows[:, 32:33].long())[:, 0]
        F.smooth_l1_loss(chosen, wanted).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def play(self):
        if not self.fixed:
            super().play()
            return
        self.seen.copy_(self.on_host["state"], non_blocking=True)
        self.choose()
        self.on_host["actions"].copy_(self.actions, non_blocking=True)
        torch.cuda.synchronize()  # from here on, the other buffers are free as well
        before, actions = self.arrays["state"], self.arrays["actions"]
        after = np.tanh(np.roll(before, 1, axis=1) + 0.1 * actions[:, None]).astype(np.float32)
        self.arrays["rows"][:] = np.concatenate((before, after, actions[:, None], after[:, :1]), axis=1)
        before[:] = after
        self.memory[self.next:self.next + self.ENVIRONMENTS].copy_(self.on_host["rows"], non_blocking=True)
        self.next = (self.next + self.ENVIRONMENTS) % len(self.memory)

    def train(self, steps):
        if not self.fixed:
            super().train(steps)
            return
        for _ in steps:
            for _ in range(4):
                self.play()
            self.learn()


class Adversaries(Graphed, clean.Adversaries):
    """The chains are the losses, with the layers before and after them."""

    rules = ("launch_bound", "pointwise_chains")

    def __init__(self, fixed):
        super().__init__(fixed)
        if fixed == "pointwise_chains" and not program.ON_CPU:
            self.judge_loss, self.maker_loss = torch.compile(self.judge_loss), torch.compile(self.maker_loss)
            self.maker.compile()

    def judge_loss(self, made):
        return F.softplus(-self.judge(self.real).float()).mean() + F.softplus(self.judge(made.detach()).float()).mean()

    def maker_loss(self, made):
        return F.softplus(-self.judge(made).float()).mean()

    def train(self, steps):
        if self.fixed != "pointwise_chains":
            super().train(steps)
            return
        for _ in steps:
            noise = torch.randn(self.BATCH, 64, 1, 1, device="cuda")
            with torch.autocast("cuda", dtype=torch.bfloat16):
                made = self.maker(noise)
                loss = self.judge_loss(made)
            loss.backward()
            self.optimizers[1].step()
            self.optimizers[1].zero_grad()
            self.judge.requires_grad_(False)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = self.maker_loss(made)
            loss.backward()
            self.judge.requires_grad_(True)
            self.optimizers[0].step()
            self.optimizers[0].zero_grad()


class LongEncoder(clean.LongEncoder):
    rules = ("pointwise_chains",)

    def __init__(self, fixed):
        super().__init__(fixed)
        if fixed:
            compile_modules((self.model,))


class SmallTables(clean.SmallTables):
    """A batch is a graph; the rate that the schedule sets is a tensor that the graph reads."""

    rules = ("launch_bound",)

    def __init__(self, fixed):
        super().__init__(fixed)
        if fixed:
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=torch.tensor(1e-3, device="cuda"), fused=True, capturable=True)
            self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 10000)
            self.batch = captured(self.batch)

    def batch(self):
        rows = torch.randint(self.ROWS, (self.BATCH,), device="cuda")
        F.mse_loss(self.model(self.x[rows]), self.y[rows]).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def train(self, steps):
        if not self.fixed:
            super().train(steps)
            return
        for _ in steps:
            for _ in range(4):
                self.batch()
            self.schedule.step()


class ValidatedNetwork(limits.ValidatedNetwork):
    """A step of training is a graph; the validation after each sixteenth is as before."""

    rules = ("launch_bound",)

    def __init__(self, fixed):
        super().__init__(fixed)
        if fixed:
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)
            self.learn = captured(self.learn)

    def learn(self):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(self.model(self.images), self.labels)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def train(self, steps):
        if not self.fixed:
            super().train(steps)
            return
        for step in steps:
            self.learn()
            if step % 16 == 15:
                self.validate()


class SetPredictions(limits.SetPredictions):
    """The kernels before and after the matching are a graph each. Or the matching, which the host waits for, is the GPU's."""

    rules = ("launch_bound", "result_waits")

    def __init__(self, fixed):
        super().__init__(fixed)
        self.pictures = torch.arange(self.PICTURES, device="cuda")
        if fixed != "launch_bound" or program.ON_CPU:
            return
        self.optimizer.param_groups[0]["capturable"] = True
        self.matched = torch.zeros(self.PICTURES, self.OBJECTS, dtype=torch.long, device="cuda")
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                self.predict()
                self.learn(self.matched)
        torch.cuda.synchronize()
        self.before, self.after = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.before):
            self.costs = self.predict()
        with torch.cuda.graph(self.after, pool=self.before.pool()):
            self.learn(self.matched)

    def match_on_gpu(self, costs):
        chosen = []
        for number in range(self.OBJECTS):
            chosen.append(costs[:, :, number].argmin(1))
            costs[self.pictures, chosen[-1]] = torch.inf
        return torch.stack(chosen, 1)

    def predict(self):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out = self.decoder(self.queries.expand(self.PICTURES, -1, -1), self.memory)
            self.named, self.placed = self.names(out).float(), self.places(out).float().sigmoid()
        with torch.no_grad():
            p = self.named.softmax(2).gather(2, self.classes[:, None].expand(-1, self.QUERIES, -1))
            return 5 * torch.cdist(self.placed, self.boxes, p=1) - p

    def learn(self, chosen):
        wanted = torch.full(self.named.shape[:2], self.CLASSES - 1, device="cuda").scatter(1, chosen, self.classes)
        found = self.placed.gather(1, chosen[..., None].expand(-1, -1, 4))
        loss = F.cross_entropy(self.named.flatten(0, 1), wanted.flatten()) + 5 * F.l1_loss(found, self.boxes)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def train(self, steps):
        if not self.fixed:
            super().train(steps)
            return
        for _ in steps:
            if self.fixed == "result_waits" or program.ON_CPU:
                self.learn(self.match_on_gpu(self.predict()))
            else:
                self.before.replay()
                self.matched.copy_(self.match(self.costs), non_blocking=True)
                self.after.replay()


class LineSearch(limits.LineSearch):
    """The loss and its gradient are a graph. What the line search reads it has to know, so that its waits stay."""

    rules = ("launch_bound",)

    def __init__(self, fixed):
        super().__init__(fixed)
        if fixed:
            self.weight.grad = torch.zeros_like(self.weight)
            self.found = torch.zeros((), device="cuda")
            self.compute = captured(self.compute)

    def compute(self):
        self.weight.grad.zero_()
        loss = F.cross_entropy((self.x @ self.weight.bfloat16()).float(), self.y) + 1e-4 * self.weight.square().sum()
        loss.backward()
        self.found.copy_(loss.detach())

    def loss(self):
        if not self.fixed:
            return super().loss()
        self.compute()
        return self.found


class GaussianProcess(limits.GaussianProcess):
    """The chains are the matrix. It stays in double precision, which its condition needs."""

    rules = ("pointwise_chains",)

    def __init__(self, fixed):
        super().__init__(fixed)
        if fixed and not program.ON_CPU:
            self.covariance = torch.compile(self.covariance)

    def covariance(self, x):
        squares = x.square().sum(1, keepdim=True)
        return torch.exp(torch.addmm(-0.5 * squares - 0.5 * squares.T, x, x.T)) + self.noise

    def train(self, steps):
        if not self.fixed:
            super().train(steps)
            return
        for _ in steps:
            factor = torch.linalg.cholesky_ex(self.covariance(self.x * self.scales.exp())).L
            solved = torch.linalg.solve_triangular(factor, self.y, upper=False)
            (0.5 * solved.square().sum() + factor.diagonal().log().sum()).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class FrozenFeatures(limits.FrozenFeatures):
    rules = ("layout_conversions",)

    def __init__(self, fixed):
        super().__init__(fixed)
        if fixed:
            self.eyes.to(memory_format=torch.channels_last)
            self.images = self.images.to(memory_format=torch.channels_last)


class TreeSearch(limits.TreeSearch):
    """An evaluation is a graph, with its copies. Or NumPy's part of it, and of the search, has no array that it can do without."""

    rules = ("launch_bound", "python_between")

    def __init__(self, fixed):
        super().__init__(fixed)
        if fixed == "launch_bound":
            self.infer = captured(self.infer)

    @torch.inference_mode()
    def infer(self):
        self.answers.copy_(self.model(self.boards.to("cuda", non_blocking=True)).float(), non_blocking=True)

    def evaluate(self, boards):
        if self.fixed != "launch_bound":
            return super().evaluate(boards)
        self.boards.copy_(torch.from_numpy(boards))
        self.infer()
        self.copied.record()
        self.copied.synchronize()
        answers = self.answers.numpy()
        chances = np.exp(answers[:, :-1] - answers[:, :-1].max(1, keepdims=True))
        return chances / chances.sum(1, keepdims=True), np.tanh(answers[:, -1])

    def value_of(self, boards):
        """What the search needs of an evaluation: the chances only once."""
        self.boards.copy_(torch.from_numpy(boards))
        self.infer()
        self.copied.record()
        self.copied.synchronize()
        return np.tanh(self.answers.numpy()[:, -1])

    @torch.inference_mode()
    def train(self, steps):
        if self.fixed != "python_between":
            super().train(steps)
            return
        for _ in steps:
            visits, values = np.zeros((self.GAMES, self.MOVES), np.float32), np.zeros((self.GAMES, self.MOVES), np.float32)
            priors, _ = self.evaluate(visits)
            priors *= 1.5
            more, scores = np.ones_like(visits), np.empty_like(visits)
            for turn in range(self.TURNS):
                np.multiply(priors, np.sqrt(np.float32(turn + 1)), out=scores)  # all games have had as many turns
                scores += values
                scores /= more
                best = scores.argmax(1)
                visits[self.games, best] += 1
                more[self.games, best] += 1
                values[self.games, best] += self.value_of(visits)
            self.moves = visits.argmax(1)


program.run(__name__)
