"""Programs of the judgement set from elsewhere: graphs, speech, recommendations, diffusion, control, equations, tables."""

import collections
import math
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import program
from program import size


class CitationNodes(program.Program):
    """Two layers of torch_geometric on one large graph. The degrees are normalised in each pass, and the accuracy on three masks is read after
    each epoch, as in the package's examples."""

    family, faults, needs = "judgement", 2, ("torch_geometric",)
    NODES, EDGES, WIDTH = size(60000, 200), size(1500000, 800), size(128, 16)

    def __init__(self, fixed):
        super().__init__(fixed)
        from torch_geometric.nn import GCNConv
        options = {"cached": self.repaired(1)}  # FAULT 1
        self.first, self.second = GCNConv(self.WIDTH, self.WIDTH, **options).cuda(), GCNConv(self.WIDTH, 16, **options).cuda()
        self.optimizer = torch.optim.Adam([*self.first.parameters(), *self.second.parameters()], lr=1e-3, fused=True)
        self.x = torch.randn(self.NODES, self.WIDTH, device="cuda")
        self.edges = torch.randint(self.NODES, (2, self.EDGES), device="cuda")
        self.y = torch.randint(16, (self.NODES,), device="cuda")
        part = torch.rand(self.NODES, device="cuda")
        self.masks = (part < 0.6, (part >= 0.6) & (part < 0.8), part >= 0.8)
        self.rows, self.best = self.masks[0].nonzero().flatten(), 0.0

    def forward(self):
        return self.second(self.first(self.x, self.edges).relu(), self.edges)  # SEEN 1

    @torch.no_grad()
    def test(self, out):
        predicted = out.argmax(1)
        if self.repaired(2):
            right = (predicted == self.y).float()
            return [(right * mask).sum() / mask.sum() for mask in self.masks]
        return [int((predicted[mask] == self.y[mask]).sum()) / int(mask.sum()) for mask in self.masks]  # FAULT 2

    def train(self, steps):
        for _ in steps:
            out = self.forward()  # SEEN 1
            F.cross_entropy(out[self.rows], self.y[self.rows]).backward()  # SEEN 1
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.scores = self.test(out)  # SEEN 2


class ClickRates(program.Program):
    """A recommender with one bag of embeddings for each feature. Each feature goes to the GPU by itself, and the AUC of each batch
    is computed on the host."""

    family, faults = "judgement", 2
    BATCH, FEATURES, ROWS, WIDTH, HOT = size(8192, 16), size(40, 3), size(50000, 100), size(64, 8), 4

    def __init__(self, fixed):
        super().__init__(fixed)
        self.bags = nn.ModuleList(nn.EmbeddingBag(self.ROWS, self.WIDTH, mode="sum", sparse=True) for _ in range(self.FEATURES)).cuda()
        self.top = nn.Sequential(nn.Linear(self.FEATURES * self.WIDTH, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1)).cuda()
        self.optimizer = torch.optim.SGD([*self.bags.parameters(), *self.top.parameters()], lr=0.01)
        self.days = [torch.randint(self.ROWS, (self.FEATURES, self.BATCH, self.HOT)) for _ in range(4)]
        if self.repaired(1):
            self.days = [day.pin_memory() for day in self.days]
        self.clicks = (torch.rand(self.BATCH, device="cuda") < 0.1).float()
        self.auc = collections.deque(maxlen=100)

    def move(self, day):
        if self.repaired(1):
            return list(day.to("cuda", non_blocking=True))
        return [feature.to("cuda") for feature in day]  # FAULT 1

    def area(self, scores):
        if self.repaired(2):
            clicked = self.clicks[scores.argsort()]
            rank = torch.arange(1.0, self.BATCH + 1, device="cuda")
            count = clicked.sum()
            return ((clicked * rank).sum() - count * (count + 1) / 2) / (count * (self.BATCH - count))
        scores, clicks = scores.cpu().numpy(), self.clicks.cpu().numpy()  # FAULT 2
        clicked = clicks[np.argsort(scores)]  # FAULT 2
        count = clicked.sum()
        return ((clicked * np.arange(1.0, len(clicked) + 1)).sum() - count * (count + 1) / 2) / (count * (len(clicked) - count))

    def train(self, steps):
        for step in steps:
            features = self.move(self.days[step % 4])  # SEEN 1
            pooled = torch.cat([bag(feature) for bag, feature in zip(self.bags, features)], 1)
            scores = self.top(pooled).flatten()
            F.binary_cross_entropy_with_logits(scores, self.clicks).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.auc.append(self.area(scores.detach()))  # SEEN 2


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(8, channels) for _ in range(2))
        self.convs = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.time = nn.Linear(channels, channels)

    def forward(self, x, t):
        y = self.convs[0](F.silu(self.norms[0](x))) + self.time(t)[:, :, None, None]
        return x + self.convs[1](F.silu(self.norms[1](y)))


class Denoiser(nn.Module):
    def __init__(self, channels, depth):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, channels, 3, padding=1), nn.Conv2d(channels, 3, 3, padding=1)
        self.down, self.up = nn.Conv2d(channels, channels, 4, stride=2, padding=1), nn.ConvTranspose2d(channels, channels, 4, stride=2, padding=1)
        self.outer, self.inner = (nn.ModuleList(Residual(channels) for _ in range(depth)) for _ in range(2))
        self.channels = channels

    def forward(self, x, t):
        angles = t[:, None].float() * torch.exp(torch.arange(self.channels // 2, device=t.device) * (-math.log(1e4) / (self.channels // 2)))
        t = torch.cat((angles.sin(), angles.cos()), 1).to(x.dtype)
        x = self.first(x)
        for block in self.outer:
            x = block(x, t)
        y = self.down(x)
        for block in self.inner:
            y = block(y, t)
        return self.last(x + self.up(y))


def extract(table, t, shape):
    """Values of the schedule for the times of a batch. The schedule is where it was made."""
    values = table.gather(0, t.to(table.device))  # FAULT 2 of DenoisingAverage
    return values.view(-1, *[1] * (len(shape) - 1)).to(t.device)  # FAULT 2 of DenoisingAverage


class DenoisingAverage(program.Program):
    """Training of a diffusion model with the moving average of ema_pytorch. The schedule of the noise is on the host."""

    family, faults, needs = "judgement", 2, ("ema_pytorch",)
    BATCH, EDGE, CHANNELS, DEPTH = size(32, 1), size(64, 16), size(128, 8), size(8, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        from ema_pytorch import EMA
        self.model = Denoiser(self.CHANNELS, self.DEPTH).cuda().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.ema = EMA(self.model, beta=0.999, update_every=1, update_after_step=0, include_online_model=False)
        self.kept = [value.detach().clone() for value in self.model.parameters()]
        self.images = torch.randn(self.BATCH, 3, self.EDGE, self.EDGE, device="cuda")
        self.schedule = torch.linspace(0.9999, 0.02, 1000).cumprod(0)
        if self.repaired(2):
            self.schedule = self.schedule.cuda()

    def average(self):
        if self.repaired(1):
            torch._foreach_lerp_(self.kept, [value.detach() for value in self.model.parameters()], 0.001)
        else:
            self.ema.update()  # FAULT 1

    def train(self, steps):
        for _ in steps:
            t = torch.randint(0, 1000, (self.BATCH,), device="cuda")
            noise = torch.randn_like(self.images)
            kept = extract(self.schedule, t, noise.shape)  # SEEN 2
            noisy = kept.sqrt() * self.images + (1 - kept).sqrt() * noise
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.mse_loss(self.model(noisy.contiguous(memory_format=torch.channels_last), t), noise)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.average()  # SEEN 1


class SpectrogramOnHost(program.Program):
    """Speech with blocks of the package conformer. The spectrograms are computed on the host, and each is masked where a number on the GPU says."""

    family, faults, needs = "judgement", 2, ("conformer", "einops")
    BATCH, SAMPLES, BANDS, DEPTH = size(16, 2), size(64000, 8000), size(256, 256), size(4, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        from conformer import ConformerBlock
        self.blocks = nn.Sequential(*(ConformerBlock(dim=self.BANDS, dim_head=64, heads=4, conv_kernel_size=15) for _ in range(self.DEPTH))).cuda()
        self.optimizer = torch.optim.AdamW(self.blocks.parameters(), lr=1e-4, fused=True)
        self.waves = torch.randn(self.BATCH, self.SAMPLES)
        self.window = torch.hann_window(512)
        if self.repaired(1):
            self.waves, self.window = self.waves.cuda(), self.window.cuda()

    def features(self):
        spectrum = torch.stft(self.waves, 512, 160, window=self.window, return_complex=True)  # FAULT 1
        power = (spectrum.abs().square()[:, :256] + 1e-6).log()  # FAULT 1
        return power.transpose(1, 2).contiguous().to("cuda")  # FAULT 1

    def mask(self, x):
        count, length, bands = x.shape
        if self.repaired(2):
            starts = torch.rand(2, count, 1, 1, device="cuda")
            time, band = torch.arange(length, device="cuda").view(1, -1, 1), torch.arange(bands, device="cuda").view(1, 1, -1)
            first, low = (starts[0] * (length - 40)).floor(), (starts[1] * (bands - 30)).floor()
            return x.masked_fill(((time >= first) & (time < first + 40)) | ((band >= low) & (band < low + 30)), 0.0)
        for row in x:
            first = torch.randint(0, length - 40, (1,), device="cuda")
            low = torch.randint(0, bands - 30, (1,), device="cuda")
            row[first:first + 40] = 0  # FAULT 2
            row[:, low:low + 30] = 0  # FAULT 2
        return x

    def train(self, steps):
        for _ in steps:
            x = self.features()  # SEEN 1
            x = self.mask(x)  # SEEN 2
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = self.blocks(x).float().square().mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class Pendulums:
    """Environments on the host, which NumPy moves all at once."""

    def __init__(self, count):
        self.state = np.random.randn(count, 8).astype(np.float32)

    def step(self, actions):
        push = (np.asarray(actions, dtype=np.float32) - 1.0)[:, None]
        self.state = 0.97 * self.state + 0.05 * np.sin(np.roll(self.state, 1, axis=1)) + 0.1 * push
        return self.state, np.cos(self.state[:, 0])


class PolicyRollout(program.Program):
    """PPO. During the rollout the policy is asked for each environment by itself, and the advantages are summed up backwards in time on
    the GPU, moment by moment."""

    family, faults = "judgement", 2
    ENVIRONMENTS, MOMENTS, WIDTH = size(16, 3), size(16, 3), size(256, 16)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.body = nn.Sequential(nn.Linear(8, self.WIDTH), nn.Tanh(), nn.Linear(self.WIDTH, self.WIDTH), nn.Tanh(), nn.Linear(self.WIDTH, 4)).cuda()
        self.optimizer = torch.optim.Adam(self.body.parameters(), lr=3e-4, fused=True)
        self.environments = Pendulums(self.ENVIRONMENTS)

    @torch.no_grad()
    def act(self, states):
        if self.repaired(1):
            return self.body(torch.from_numpy(states).cuda())[:, :3].softmax(1).multinomial(1)[:, 0].tolist()
        actions = []
        for state in states:  # SEEN 1
            logits = self.body(torch.from_numpy(state).unsqueeze(0).cuda())  # FAULT 1
            actions.append(torch.distributions.Categorical(logits=logits[:, :3], validate_args=False).sample().item())  # FAULT 1
        return actions

    def rollout(self):
        seen, done, rewards = [], [], []
        for _ in range(self.MOMENTS):
            states = self.environments.state
            actions = self.act(states)  # SEEN 1
            _, reward = self.environments.step(actions)
            seen.append(states)
            done.append(actions)
            rewards.append(reward)
        return torch.from_numpy(np.stack(seen)).cuda(), torch.tensor(done, device="cuda"), torch.from_numpy(np.stack(rewards)).cuda()

    def advantages(self, rewards, values):
        if self.repaired(2):
            delta = rewards.clone()
            delta[:-1] += 0.99 * values[1:]
            delta -= values
            time = torch.arange(len(delta), device="cuda")
            decay = torch.where(time[None] >= time[:, None], 0.9405 ** (time[None] - time[:, None]).clamp(min=0).float(), 0.0)
            return decay @ delta
        out, last = torch.zeros_like(rewards), 0
        for moment in reversed(range(len(rewards))):
            after = values[moment + 1] if moment + 1 < len(rewards) else 0
            last = rewards[moment] + 0.99 * after - values[moment] + 0.9405 * last  # FAULT 2
            out[moment] = last  # FAULT 2
        return out

    def train(self, steps):
        for _ in steps:
            states, actions, rewards = self.rollout()  # SEEN 1
            with torch.no_grad():
                first = self.body(states)
                before = first[..., :3].log_softmax(-1).gather(-1, actions[..., None])[..., 0]
                gains = self.advantages(rewards, first[..., 3])  # SEEN 2
            for _ in range(4):
                out = self.body(states)
                ratio = (out[..., :3].log_softmax(-1).gather(-1, actions[..., None])[..., 0] - before).exp()
                loss = -torch.minimum(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean() + F.mse_loss(out[..., 3], gains)
                loss.backward()
                self.optimizer.step()
                self.optimizer.zero_grad()


class NeuralEquation(program.Program):
    """A neural differential equation, solved by Runge and Kutta's method. The observations come from NumPy in double precision, and the model
    was made to fit."""

    family = "judgement"
    BATCH, WIDTH, MOMENTS = size(4096, 16), size(512, 16), size(4, 3)

    def __init__(self, fixed):
        super().__init__(fixed)
        data, self.times = np.random.randn(self.BATCH, self.WIDTH), np.linspace(0.0, 1.0, self.MOMENTS)
        body = nn.Sequential(nn.Linear(self.WIDTH, 2 * self.WIDTH), nn.Tanh(), nn.Linear(2 * self.WIDTH, self.WIDTH))
        self.data = torch.from_numpy(data.astype(np.float32) if fixed else data).cuda()
        self.body = body.to("cuda", self.data.dtype)  # FAULT
        self.optimizer = torch.optim.Adam(self.body.parameters(), lr=1e-3, fused=True)

    def solve(self, y):
        for before, after in zip(self.times, self.times[1:]):
            h = float(after - before)
            k1 = self.body(y)  # SEEN
            k2 = self.body(y + h / 2 * k1)  # SEEN
            k3 = self.body(y + h / 2 * k2)  # SEEN
            k4 = self.body(y + h * k3)  # SEEN
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)  # SEEN
        return y

    def train(self, steps):
        torch.backends.cuda.matmul.allow_tf32 = True
        for _ in steps:
            loss = (self.solve(self.data) - self.data).square().mean()  # SEEN
            loss.backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class Batches:
    """Random batches on the GPU, one for each step. Lightning takes it for a loader."""

    def __init__(self, steps, shape):
        self.steps, self.x = steps, torch.randn(4, *shape, device="cuda")

    def __iter__(self):
        for step in self.steps:
            yield self.x[step % 4]


class GradientHistograms(program.Program):
    """An autoencoder trained by Lightning, with a callback that makes a histogram of the gradients of each layer after each backward pass."""

    family, needs = "judgement", ("pytorch_lightning",)
    BATCH, WIDTH, DEPTH = size(16384, 16), size(512, 16), size(8, 2)

    def train(self, steps):
        import pytorch_lightning
        whole = self

        class Autoencoder(pytorch_lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(*(layer for _ in range(whole.DEPTH) for layer in (nn.Linear(whole.WIDTH, whole.WIDTH), nn.ReLU())))

            def training_step(self, batch, _):
                return F.mse_loss(self.body(batch), batch)

            def configure_optimizers(self):
                return torch.optim.Adam(self.parameters(), lr=1e-4, fused=True)

        class Histograms(pytorch_lightning.Callback):
            def __init__(self):
                self.kept = {}

            def on_after_backward(self, trainer, module):
                if trainer.global_step % 200 and whole.repaired():
                    return
                for name, parameter in module.named_parameters():
                    self.kept[name] = torch.histc(parameter.grad.cpu(), bins=32)  # FAULT

        trainer = pytorch_lightning.Trainer(accelerator="cpu" if program.ON_CPU else "gpu", devices=1, max_epochs=1, logger=False, enable_checkpointing=False,
                                            enable_progress_bar=False, enable_model_summary=False, precision="32-true" if program.ON_CPU else "bf16-mixed",
                                            callbacks=[Histograms()])
        trainer.fit(Autoencoder(), train_dataloaders=Batches(steps, (self.BATCH, self.WIDTH)))


class Sensors(torch.utils.data.Dataset):
    """Recordings of many sensors, which are resampled and normalised when they are read."""

    def __init__(self, features):
        self.rows = [[random.random() for _ in range(features)] for _ in range(512)]

    def __len__(self):
        return 1 << 30

    def __getitem__(self, number):
        row = self.rows[number % 512]
        mean = sum(row) / len(row)  # SEEN of SensorLoader
        spread = sum((value - mean) ** 2 for value in row) / len(row)  # SEEN of SensorLoader
        return torch.tensor([(value - mean) / (spread + 1e-6) ** 0.5 for value in row]), number % 10  # SEEN of SensorLoader


class SensorLoader(program.Program):
    """A classifier under accelerate. Its DataLoader has no workers, and the predictions of each batch are gathered into lists."""

    family, faults, needs = "judgement", 2, ("accelerate",)
    BATCH, FEATURES, WIDTH = size(96, 4), size(1024, 32), size(4096, 32)

    def __init__(self, fixed):
        super().__init__(fixed)
        from accelerate import Accelerator
        self.accelerator = Accelerator(mixed_precision="no" if program.ON_CPU else "bf16", cpu=program.ON_CPU)
        model = nn.Sequential(nn.Linear(self.FEATURES, self.WIDTH), nn.ReLU(), nn.Linear(self.WIDTH, self.WIDTH), nn.ReLU(), nn.Linear(self.WIDTH, 10))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        options = {"num_workers": size(10, 1), "persistent_workers": True} if self.repaired(1) else {}
        loader = torch.utils.data.DataLoader(Sensors(self.FEATURES), self.BATCH, pin_memory=True, **options)  # FAULT 1
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
        self.batches = None
        self.predicted, self.wanted = collections.deque(maxlen=1000), collections.deque(maxlen=1000)

    def train(self, steps):
        self.batches = self.batches or iter(self.loader)
        for _ in steps:
            x, y = next(self.batches)  # SEEN 1
            logits = self.model(x)
            self.accelerator.backward(F.cross_entropy(logits, y))
            self.optimizer.step()
            self.optimizer.zero_grad()
            found, wanted = self.accelerator.gather_for_metrics((logits.argmax(1), y))
            if self.repaired(2):
                self.predicted.append(found)
                self.wanted.append(wanted)
            else:
                self.predicted.extend(found.tolist())  # FAULT 2
                self.wanted.extend(wanted.tolist())  # FAULT 2


class PatchBlock(nn.Module):
    def __init__(self, width, heads, attend):
        super().__init__()
        self.heads, self.attend = heads, attend
        self.norms, self.time = nn.ModuleList(nn.LayerNorm(width) for _ in range(2)), nn.Linear(width, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x, t):
        x = x + self.time(t)[:, None]
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norms[0](x)).chunk(3, 2))
        x = x + self.out(self.attend(q, k, v).transpose(1, 2).flatten(2))  # SEEN 1 of GuidedPictures
        return x + self.mlp(self.norms[1](x))


def attend_upcast(q, k, v):
    """Scores in float32, which cannot overflow."""
    scores = q.float() @ k.float().transpose(2, 3) * q.shape[3] ** -0.5  # FAULT 1 of GuidedPictures
    return (scores.softmax(3) @ v.float()).to(q.dtype)  # FAULT 1 of GuidedPictures


class GuidedPictures(program.Program):
    """Sampling from a diffusion transformer in latent space, as a pipeline does it: DDIM with guidance, both halves of it in one pass, and a
    callback that keeps small previews of what has come out so far. A step is one of fifty."""

    family, faults = "judgement", 2
    PICTURES, EDGE, WIDTH, HEADS, DEPTH, TIMES, SHOWN = size(8, 2), size(64, 8), size(512, 32), size(8, 2), size(8, 1), 50, size(128, 16)

    def __init__(self, fixed):
        super().__init__(fixed)
        attend = F.scaled_dot_product_attention if self.repaired(1) else attend_upcast
        options = {"device": "cuda", "dtype": torch.bfloat16}
        self.first, self.last = nn.Conv2d(4, self.WIDTH, 2, stride=2).to(**options), nn.Linear(self.WIDTH, 16).to(**options)
        self.blocks = nn.ModuleList(PatchBlock(self.WIDTH, self.HEADS, attend) for _ in range(self.DEPTH)).to(**options)
        self.times, self.classes = nn.Embedding(self.TIMES, self.WIDTH).to(**options), nn.Embedding(11, self.WIDTH).to(**options)
        self.kept = np.cumprod(np.linspace(0.9999, 0.98, 1000))[::-1][::1000 // self.TIMES].tolist() + [1.0]
        self.index = torch.arange(self.TIMES, device="cuda")
        self.wanted = torch.cat((torch.arange(self.PICTURES) % 10, torch.full((self.PICTURES,), 10))).cuda()
        self.colours = torch.randn(4, 3, device="cuda") / 2
        self.previews = collections.deque(maxlen=8)
        self.pinned = [torch.empty(self.PICTURES, self.SHOWN, self.SHOWN, 3, dtype=torch.uint8).pin_memory() for _ in range(8)]

    def noise(self, latents, step):
        x = torch.cat((latents, latents)).bfloat16()
        t = self.times(self.index[step]) + self.classes(self.wanted)
        x = self.first(x).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x, t)  # SEEN 1
        x = self.last(x).transpose(1, 2).unflatten(2, (self.EDGE // 2, -1))
        with_class, without = F.pixel_shuffle(x, 2).float().chunk(2)
        return without + 4.0 * (with_class - without)

    def preview(self, latents, step):
        pictures = torch.einsum("bchw,cr->brhw", latents, self.colours)
        pictures = F.interpolate(pictures, size=(self.SHOWN, self.SHOWN), mode="bilinear")
        if self.repaired(2):
            pictures = (pictures / 2 + 0.5).clamp(0, 1).mul(255).round().byte().permute(0, 2, 3, 1)
            self.previews.append(self.pinned[step % 8].copy_(pictures.contiguous(), non_blocking=True))
            return
        pictures = pictures.cpu().permute(0, 2, 3, 1).numpy()  # FAULT 2
        pictures = np.clip(pictures / 2 + 0.5, 0, 1)  # FAULT 2
        self.previews.append((pictures * 255).round().astype("uint8"))  # FAULT 2

    @torch.inference_mode()
    def train(self, steps):
        for step in steps:
            step %= self.TIMES
            if step == 0:
                latents = torch.randn(self.PICTURES, 4, self.EDGE, self.EDGE, device="cuda")
            noise = self.noise(latents, step)  # SEEN 1
            before, after = self.kept[step], self.kept[step + 1]
            clean = (latents - (1 - before) ** 0.5 * noise) / before ** 0.5
            latents = torch.add(clean * after ** 0.5, noise, alpha=(1 - after) ** 0.5)
            self.preview(clean, step)  # SEEN 2


program.run(__name__)
