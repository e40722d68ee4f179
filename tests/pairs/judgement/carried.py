"""The programs of clean.py in which something was found, with what the finding says carried out by hand: `judge.py --carried` times both. `fixed` is the rule
of the finding. The work stays the same, but for rows of zeros that are added where sizes are padded."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import clean
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


program.run(__name__)
