"""Programs of the judgement set that train: with trainers, callbacks, functions of autograd, optimizers and losses of all kinds."""

import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import program
from program import size

BF16 = {"device": "cuda", "dtype": torch.bfloat16}


class LowRank(nn.Module):
    """A linear layer with an adapter of low rank beside it."""

    def __init__(self, base, rank):
        super().__init__()
        self.base = base
        self.down, self.up = nn.Linear(base.in_features, rank, bias=False, **BF16), nn.Linear(rank, base.out_features, bias=False, **BF16)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))

    def weights(self):
        return self.down.weight, self.up.weight


class InstructionTuning(program.Program):
    """Adapters of low rank for a Llama of transformers. The script was made for a larger model: activations are not kept. And nobody froze
    the model that is adapted."""

    family, faults, needs = "judgement", 2, ("transformers",)
    BATCH, LENGTH, WIDTH, INNER, DEPTH, WORDS = size(8, 2), size(1024, 16), size(1024, 32), size(2816, 64), size(8, 2), size(32000, 64)

    def __init__(self, fixed):
        super().__init__(fixed)
        from transformers import LlamaConfig, LlamaForCausalLM
        settings = LlamaConfig(vocab_size=self.WORDS, hidden_size=self.WIDTH, intermediate_size=self.INNER, num_hidden_layers=self.DEPTH,
                               num_attention_heads=size(16, 2), use_cache=False)
        self.model = LlamaForCausalLM(settings).cuda().bfloat16().train()
        if self.repaired(2):
            self.model.requires_grad_(False)
        if not self.repaired(1):
            self.model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})  # FAULT 1
        adapted = []
        for layer in self.model.model.layers:
            layer.self_attn.q_proj, layer.self_attn.v_proj = (LowRank(base, 16) for base in (layer.self_attn.q_proj, layer.self_attn.v_proj))
            adapted += [*layer.self_attn.q_proj.weights(), *layer.self_attn.v_proj.weights()]
        self.optimizer = torch.optim.AdamW(adapted, lr=1e-4, fused=True)  # FAULT 2
        self.tokens = torch.randint(self.WORDS, (self.BATCH, self.LENGTH), device="cuda")

    def train(self, steps):
        for _ in steps:
            logits = self.model(input_ids=self.tokens).logits  # SEEN 1
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), self.tokens[:, 1:].flatten())
            loss.backward()  # SEEN 1, 2
            self.optimizer.step()
            self.optimizer.zero_grad()


class Recordings:
    """Batches of sounds on the GPU, each in some parts. Lightning takes it for a loader."""

    def __init__(self, steps, parts, shape):
        self.steps, self.parts, self.sounds = steps, parts, torch.randn(shape, device="cuda")
        self.labels = torch.arange(shape[0], device="cuda") % 12

    def __iter__(self):
        for _ in self.steps:
            yield from zip(self.sounds.chunk(self.parts), self.labels.chunk(self.parts))


class KeywordTrainer(program.Program):
    """Words in short sounds, trained by Lightning. The options of the trainer are of the day on which gradients were NaN, and of a smaller GPU."""

    family, faults, needs = "judgement", 2, ("pytorch_lightning",)
    BATCH, CHANNELS, LENGTH, DEPTH = size(128, 16), size(192, 8), size(128, 16), size(6, 2)

    def train(self, steps):
        import pytorch_lightning
        whole = self

        class Words(pytorch_lightning.LightningModule):
            def __init__(self):
                super().__init__()
                c = whole.CHANNELS
                layers = [part for _ in range(whole.DEPTH) for part in (nn.Conv1d(c, c, 9, padding=4), nn.GroupNorm(4, c), nn.ReLU())]
                self.body = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(c, 12))

            def training_step(self, batch, _):
                sounds, labels = batch
                return F.cross_entropy(self.body(sounds), labels)  # SEEN 1, 2

            def configure_optimizers(self):
                return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=True)

        parts = 1 if self.repaired(2) else 8
        trainer = pytorch_lightning.Trainer(
            accelerator="cpu" if program.ON_CPU else "gpu", devices=1, max_epochs=1, logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, precision="32-true" if program.ON_CPU else "bf16-mixed",
            accumulate_grad_batches=parts,  # FAULT 2
            detect_anomaly=not self.repaired(1))  # FAULT 1
        trainer.fit(Words(), train_dataloaders=Recordings(steps, parts, (self.BATCH, self.CHANNELS, self.LENGTH)))  # SEEN 1, 2


def clip_together(parameters, factor=0.01, eps=1e-3):
    """Adaptive clipping of all tensors of a shape at once."""
    groups = {}
    for parameter in parameters:
        groups.setdefault(parameter.shape, []).append(parameter)
    for shape, same in groups.items():
        weights, gradients = torch.stack([parameter.detach() for parameter in same]), torch.stack([parameter.grad for parameter in same])
        dims = tuple(range(2, weights.dim())) if len(shape) > 1 else (1,)
        most = torch.linalg.vector_norm(weights, dim=dims, keepdim=True).clamp_(min=eps).mul_(factor)
        norms = torch.linalg.vector_norm(gradients, dim=dims, keepdim=True)
        clipped = gradients * torch.where(norms < most, 1.0, most / norms.clamp(min=1e-6))
        torch._foreach_copy_([parameter.grad for parameter in same], list(clipped.unbind()))


class AdaptiveClipping(program.Program):
    """A ViT of timm with the adaptive clipping of gradients that the package has, which handles each tensor by itself, with ten kernels."""

    family, needs = "judgement", ("timm", "torchvision")
    BATCH, NAME = size(96, 1), size("vit_small_patch16_224", "vit_tiny_patch16_224")

    def __init__(self, fixed):
        super().__init__(fixed)
        import timm
        from timm.utils.agc import adaptive_clip_grad
        self.clip_each = adaptive_clip_grad
        self.model = timm.create_model(self.NAME, num_classes=100).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, nesterov=True, fused=True)
        self.images = torch.randn(self.BATCH, 3, 224, 224, device="cuda")
        self.labels = torch.randint(100, (self.BATCH,), device="cuda")

    def train(self, steps):
        for _ in steps:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.cross_entropy(self.model(self.images), self.labels)
            loss.backward()
            if self.repaired():
                clip_together(self.model.parameters())
            else:
                self.clip_each(self.model.parameters())  # FAULT
            self.optimizer.step()
            self.optimizer.zero_grad()


class NormOfChannels(torch.autograd.Function):
    """A layer norm over the channels of each pixel, with its gradient, as networks that restore pictures have it."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        mean = x.mean(1, keepdim=True)  # FAULT 1 of RestoredPictures
        variance = (x - mean).pow(2).mean(1, keepdim=True)  # FAULT 1 of RestoredPictures
        y = (x - mean) / (variance + eps).sqrt()  # FAULT 1 of RestoredPictures
        ctx.eps = eps
        ctx.save_for_backward(y, variance, weight)
        return weight.view(1, -1, 1, 1) * y + bias.view(1, -1, 1, 1)  # FAULT 1 of RestoredPictures

    @staticmethod
    def backward(ctx, gradient):
        y, variance, weight = ctx.saved_tensors
        g = gradient * weight.view(1, -1, 1, 1)  # FAULT 1 of RestoredPictures
        mean_g = g.mean(1, keepdim=True)  # FAULT 1 of RestoredPictures
        mean_gy = (g * y).mean(1, keepdim=True)  # FAULT 1 of RestoredPictures
        gx = 1.0 / torch.sqrt(variance + ctx.eps) * (g - y * mean_gy - mean_g)  # FAULT 1 of RestoredPictures
        return gx, (gradient * y).sum((0, 2, 3)), gradient.sum((0, 2, 3)), None  # FAULT 1 of RestoredPictures


class GatedBlock(nn.Module):
    def __init__(self, channels, fused):
        super().__init__()
        self.fused, self.norm = fused, nn.LayerNorm(channels)
        self.first, self.last = nn.Conv2d(channels, 2 * channels, 3, padding=1), nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        if self.fused:
            y = self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        else:
            y = NormOfChannels.apply(x, self.norm.weight, self.norm.bias, self.norm.eps)  # SEEN 1 of RestoredPictures
        left, right = self.first(y).chunk(2, 1)
        return x + self.last(left * right)


class RestoredPictures(program.Program):
    """A network that restores pictures, with a norm of its own, and a loss of what a VGG of torchvision sees. The VGG has gradients that
    nobody asked for, and those of the target picture go through it as well."""

    family, faults, needs = "judgement", 2, ("torchvision",)
    BATCH, EDGE, CHANNELS, DEPTH = size(16, 1), size(128, 16), size(64, 8), size(5, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        from torchvision import models
        last = {"memory_format": torch.channels_last}
        blocks = (GatedBlock(self.CHANNELS, self.repaired(1)) for _ in range(self.DEPTH))
        self.model = nn.Sequential(nn.Conv2d(3, self.CHANNELS, 3, padding=1), *blocks, nn.Conv2d(self.CHANNELS, 3, 3, padding=1))
        self.model = self.model.cuda().bfloat16().to(**last)
        self.eyes = models.vgg16(weights=None).features[:size(23, 5)].cuda().bfloat16().to(**last).eval()  # FAULT 2
        if self.repaired(2):
            self.eyes.requires_grad_(False)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.bad, self.good = (torch.rand(self.BATCH, 3, self.EDGE, self.EDGE, **BF16).to(**last) for _ in range(2))

    def train(self, steps):
        for _ in steps:
            made = self.model(self.bad)  # SEEN 1
            loss = F.l1_loss(made, self.good) + F.mse_loss(self.eyes(made), self.eyes(self.good))  # SEEN 2
            loss.backward()  # SEEN 1, 2
            self.optimizer.step()
            self.optimizer.zero_grad()


def margins_of_all(cosines, labels, cosine, sine):
    """Cosines of the angle and a margin, for the right person alone, as many scripts have it."""
    sines = (1.0 - cosines.pow(2)).clamp(0, 1).sqrt()  # FAULT 2 of FaceMargins
    moved = cosines * cosine - sines * sine  # FAULT 2 of FaceMargins
    moved = torch.where(cosines > -cosine, moved, cosines - 0.5 * sine)  # FAULT 2 of FaceMargins
    right = torch.zeros_like(cosines).scatter_(1, labels[:, None], 1.0)  # FAULT 2 of FaceMargins
    return 64.0 * (right * moved + (1.0 - right) * cosines)  # FAULT 2 of FaceMargins


def margins_of_labels(cosines, labels, cosine, sine):
    right = cosines.gather(1, labels[:, None])
    moved = right * cosine - (1.0 - right.pow(2)).clamp(0, 1).sqrt() * sine
    moved = torch.where(right > -cosine, moved, right - 0.5 * sine)
    return 64.0 * cosines.scatter(1, labels[:, None], moved)


class FaceMargins(program.Program):
    """Faces of many people, told by the angle between features and a vector for each person. The angles are kept out of autocast, and
    nobody allowed TF32; margins are computed for all people, although each face is of one."""

    family, faults = "judgement", 2
    BATCH, EDGE, CHANNELS, FEATURES, PEOPLE = size(512, 4), size(64, 16), size(128, 8), size(512, 16), size(60000, 40)

    def __init__(self, fixed):
        super().__init__(fixed)
        c = self.CHANNELS
        layers = [nn.Conv2d(3, c, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU(inplace=True)]
        for _ in range(3):
            layers += [nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU(inplace=True)]
        self.body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(16 * c, self.FEATURES)).cuda()
        self.body = self.body.to(memory_format=torch.channels_last)
        self.people = nn.Parameter(0.05 * torch.randn(self.PEOPLE, self.FEATURES, device="cuda"))
        self.optimizer = torch.optim.SGD([*self.body.parameters(), self.people], lr=0.01, momentum=0.9, fused=True)
        self.faces = torch.randn(self.BATCH, 3, self.EDGE, self.EDGE, device="cuda").to(memory_format=torch.channels_last)
        self.labels = torch.randint(self.PEOPLE, (self.BATCH,), device="cuda")
        self.margin = (float(np.cos(0.5)), float(np.sin(0.5)))

    def train(self, steps):
        torch.backends.cuda.matmul.allow_tf32 = self.repaired(1)  # FAULT 1
        move = margins_of_labels if self.repaired(2) else margins_of_all
        for _ in steps:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                features = self.body(self.faces)
            cosines = F.linear(F.normalize(features.float()), F.normalize(self.people))  # FAULT 1
            logits = move(cosines, self.labels, *self.margin)  # SEEN 2
            F.cross_entropy(logits, self.labels).backward()  # SEEN 1, 2
            self.optimizer.step()
            self.optimizer.zero_grad()


class DialogueGpt(program.Program):
    """A GPT-2 of transformers with the vocabulary that it was published with, whose size is odd, and with the attention that shows its weights,
    which were looked at once."""

    family, faults, needs = "judgement", 2, ("transformers",)
    BATCH, LENGTH, WIDTH, HEADS, DEPTH, WORDS, PADDED = size(8, 2), size(1024, 16), size(768, 32), size(12, 2), size(6, 1), size(50257, 61), size(50304, 64)

    def __init__(self, fixed):
        super().__init__(fixed)
        from transformers import GPT2Config, GPT2LMHeadModel
        words = self.PADDED if self.repaired(2) else self.WORDS  # FAULT 2
        settings = GPT2Config(vocab_size=words, n_embd=self.WIDTH, n_layer=self.DEPTH, n_head=self.HEADS, n_positions=self.LENGTH, use_cache=False,
                              resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0,
                              attn_implementation="sdpa" if self.repaired(1) else "eager")  # FAULT 1
        self.model = GPT2LMHeadModel(settings).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.tokens = torch.randint(self.WORDS, (self.BATCH, self.LENGTH), device="cuda")

    def train(self, steps):
        for _ in steps:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = self.model(input_ids=self.tokens).logits  # SEEN 1, 2
                loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), self.tokens[:, 1:].flatten())
            loss.backward()  # SEEN 1, 2
            self.optimizer.step()
            self.optimizer.zero_grad()


# What an actor does: it plays with the newest policy, whose number the learner writes to a file that both have mapped.
ACTOR = """
import mmap, os, sys, time
with open(sys.argv[1], "r+b") as file:
    version = memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")
parent, seen = os.getppid(), 0
print("ready", flush=True)
while os.getppid() == parent:
    if version[0] == seen:  # FAULT 1 of SoftActorCritic
        if sys.argv[2] == "wait":
            time.sleep(0.002)
        continue
    seen = version[0]
"""


class Actors:
    """Processes that play while the learner learns, two for each CPU."""

    def __init__(self, how):
        self.file = tempfile.NamedTemporaryFile()
        self.file.write(bytes(8))
        self.file.flush()
        self.version = np.memmap(self.file.name, dtype=np.uint64, mode="r+", shape=1)
        self.processes = [subprocess.Popen([sys.executable, "-S", "-E", "-c", ACTOR, self.file.name, how], stdout=subprocess.PIPE)
                          for _ in range(size(2 * len(os.sched_getaffinity(0)), 1))]
        for process in self.processes:
            process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
            process.wait()
            process.stdout.close()
        self.file.close()


class SoftActorCritic(program.Program):
    """SAC. The actors ask all the time whether there is a new policy, so that the learner has to share its CPU with them; and each distribution
    waits for the answer whether its parameters are valid, which is PyTorch's default."""

    family, faults = "judgement", 2
    BATCH, STATES, ACTIONS, WIDTH, UPDATES = size(256, 8), 24, 6, size(256, 16), size(4, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        def network(before, after):
            return nn.Sequential(nn.Linear(before, self.WIDTH), nn.ReLU(), nn.Linear(self.WIDTH, self.WIDTH), nn.ReLU(), nn.Linear(self.WIDTH, after)).cuda()
        both = self.STATES + self.ACTIONS
        self.policy, self.critics, self.targets = network(self.STATES, 2 * self.ACTIONS), network(both, 2), network(both, 2).requires_grad_(False)
        self.optimizers = [torch.optim.Adam(model.parameters(), lr=3e-4, fused=True) for model in (self.policy, self.critics)]
        self.memory = torch.randn(100000, 2 * self.STATES + self.ACTIONS + 1, device="cuda")
        self.options = {"validate_args": False} if self.repaired(2) else {}  # FAULT 2

    def act(self, states):
        mean, spread = self.policy(states).chunk(2, 1)  # SEEN 1
        normal = torch.distributions.Normal(mean, spread.clamp(-5, 2).exp(), **self.options)  # FAULT 2
        squashed = torch.distributions.TransformedDistribution(normal, [torch.distributions.TanhTransform(cache_size=1)], **self.options)  # FAULT 2
        actions = squashed.rsample()  # SEEN 1
        return actions, squashed.log_prob(actions.clamp(-0.999, 0.999)).sum(1, keepdim=True)  # FAULT 2

    def learn(self):
        rows = self.memory[torch.randint(len(self.memory), (self.BATCH,), device="cuda")]  # SEEN 1
        states, after, actions, rewards = rows.split((self.STATES, self.STATES, self.ACTIONS, 1), 1)
        with torch.no_grad():
            moves, log_p = self.act(after)  # SEEN 1, 2
            wanted = rewards + 0.99 * (self.targets(torch.cat((after, moves), 1)).amin(1, keepdim=True) - 0.2 * log_p)  # SEEN 1
        F.mse_loss(self.critics(torch.cat((states, actions), 1)), wanted.expand(-1, 2)).backward()  # SEEN 1
        self.optimizers[1].step()  # SEEN 1
        moves, log_p = self.act(states)  # SEEN 1, 2
        self.critics.requires_grad_(False)
        (0.2 * log_p - self.critics(torch.cat((states, moves), 1)).amin(1, keepdim=True)).mean().backward()  # SEEN 1
        self.critics.requires_grad_(True)
        self.optimizers[0].step()  # SEEN 1
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        with torch.no_grad():
            torch._foreach_lerp_(list(self.targets.parameters()), list(self.critics.parameters()), 0.005)  # SEEN 1

    def train(self, steps):
        with Actors("wait" if self.repaired(1) else "ask") as actors:  # FAULT 1
            for step in steps:  # SEEN 1
                for _ in range(self.UPDATES):
                    self.learn()  # SEEN 1
                actors.version[0] = step + 1


program.run(__name__)
