"""Programs of the judgement set without a planted fault. Some keep the GPU busy, some are slow on the host by their nature. What Tacho
finds in them is to be carried out by hand: it may be right."""

import collections

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import program
from program import captured, size

BF16 = {"device": "cuda", "dtype": torch.bfloat16}


class ImageClassifier(program.Program):
    """A ViT of timm in bfloat16, with attention and an optimizer that are fused. The GPU is the limit."""

    family, needs = "clean", ("timm", "torchvision")
    BATCH, EDGE, NAME = size(192, 1), size(224, 224), size("vit_small_patch16_224", "vit_tiny_patch16_224")

    def __init__(self, fixed):
        super().__init__(fixed)
        import timm
        self.model = timm.create_model(self.NAME, num_classes=1000).cuda().bfloat16()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.images = torch.randn(self.BATCH, 3, self.EDGE, self.EDGE, **BF16)
        self.labels = torch.randint(1000, (self.BATCH,), device="cuda")
        self.losses = torch.zeros(100, device="cuda")

    def train(self, steps):
        for step in steps:
            loss = F.cross_entropy(self.model(self.images).float(), self.labels)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.losses[step % 100] = loss.detach()


class LlamaScores(program.Program):
    """A Llama of transformers gives log-likelihoods of long documents. The GPU is the limit."""

    family, needs = "clean", ("transformers",)
    BATCH, LENGTH, WIDTH, DEPTH = size(8, 1), size(2048, 16), size(1024, 32), size(8, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        from transformers import LlamaConfig, LlamaForCausalLM
        settings = LlamaConfig(vocab_size=32000, hidden_size=self.WIDTH, intermediate_size=4 * self.WIDTH, num_hidden_layers=self.DEPTH, num_attention_heads=8)
        self.model = LlamaForCausalLM(settings).cuda().bfloat16().eval()
        self.tokens = torch.randint(32000, (self.BATCH, self.LENGTH), device="cuda")
        self.scores = collections.deque(maxlen=50)

    @torch.inference_mode()
    def train(self, steps):
        for _ in steps:
            logits = self.model(input_ids=self.tokens, use_cache=False).logits
            self.scores.append(-F.cross_entropy(logits[:, :-1].flatten(0, 1), self.tokens[:, 1:].flatten()))


class Molecules(program.Program):
    """A GIN of torch_geometric on batches of small graphs that are on the GPU. The kernels are short by nature."""

    family, needs = "clean", ("torch_geometric",)
    GRAPHS, WIDTH = size(256, 4), size(128, 8)

    def __init__(self, fixed):
        super().__init__(fixed)
        from torch_geometric.nn import GINConv, global_add_pool
        layers = [nn.Sequential(nn.Linear(self.WIDTH, self.WIDTH), nn.ReLU(), nn.Linear(self.WIDTH, self.WIDTH)) for _ in range(4)]
        self.layers, self.head, self.pool = nn.ModuleList(map(GINConv, layers)).cuda(), nn.Linear(self.WIDTH, 12).cuda(), global_add_pool
        self.optimizer = torch.optim.Adam([*self.layers.parameters(), *self.head.parameters()], lr=1e-3, fused=True)
        atoms = 24
        ends = torch.randint(atoms, (2, self.GRAPHS, 52)) + atoms * torch.arange(self.GRAPHS).view(1, -1, 1)
        self.edges = ends.flatten(1).cuda()
        self.owner = torch.arange(self.GRAPHS).repeat_interleave(atoms).cuda()
        self.x, self.y = torch.randn(self.GRAPHS * atoms, self.WIDTH, device="cuda"), torch.randint(12, (self.GRAPHS,), device="cuda")

    def train(self, steps):
        for _ in steps:
            x = self.x
            for layer in self.layers:
                x = layer(x, self.edges).relu()
            F.cross_entropy(self.head(self.pool(x, self.owner, self.GRAPHS)), self.y).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class ReplayLearner(program.Program):
    """A small Q-network that plays in environments on the host and learns from what it saw. The host is the limit by nature."""

    family = "clean"
    ENVIRONMENTS, WIDTH, BATCH = size(64, 4), size(256, 16), size(512, 8)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.body = nn.Sequential(nn.Linear(16, self.WIDTH), nn.ReLU(), nn.Linear(self.WIDTH, self.WIDTH), nn.ReLU(), nn.Linear(self.WIDTH, 4)).cuda()
        self.optimizer = torch.optim.Adam(self.body.parameters(), lr=1e-3, fused=True)
        self.state = np.random.randn(self.ENVIRONMENTS, 16).astype(np.float32)
        self.memory = torch.zeros(65536, 34, device="cuda")
        self.next = 0

    def play(self):
        with torch.no_grad():
            actions = self.body(torch.from_numpy(self.state).cuda()).argmax(1).cpu().numpy()
        before = self.state
        self.state = np.tanh(np.roll(before, 1, axis=1) + 0.1 * actions[:, None]).astype(np.float32)
        rows = np.concatenate((before, self.state, actions[:, None], self.state[:, :1]), axis=1).astype(np.float32)
        self.memory[self.next:self.next + self.ENVIRONMENTS] = torch.from_numpy(rows).cuda()
        self.next = (self.next + self.ENVIRONMENTS) % len(self.memory)

    def train(self, steps):
        for _ in steps:
            for _ in range(4):
                self.play()
            rows = self.memory[torch.randint(len(self.memory), (self.BATCH,), device="cuda")]
            with torch.no_grad():
                wanted = rows[:, 33] + 0.99 * self.body(rows[:, 16:32]).amax(1)
            chosen = self.body(rows[:, :16]).gather(1, rows[:, 32:33].long())[:, 0]
            F.smooth_l1_loss(chosen, wanted).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class GraphDecoder(program.Program):
    """Greedy decoding with a cache of fixed length. A token is one launch of a CUDA graph, and tokens are read when a text is done."""

    family = "clean"
    ROWS, WORDS, WIDTH, DEPTH, LENGTH = size(32, 2), size(16384, 64), size(1024, 32), size(12, 1), size(64, 8)

    def __init__(self, fixed):
        super().__init__(fixed)
        from language import Decoder
        self.model = Decoder(self.WIDTH, self.DEPTH, 8, self.LENGTH, self.ROWS, self.WORDS).requires_grad_(False)
        self.tokens, self.place = torch.ones(self.ROWS, dtype=torch.long, device="cuda"), torch.zeros((), dtype=torch.long, device="cuda")
        self.text = torch.zeros(self.ROWS, self.LENGTH, dtype=torch.long, device="cuda")
        self.step = captured(self.decode)

    def decode(self):
        self.tokens.copy_(self.model(self.tokens, self.place).argmax(1))
        self.text.index_copy_(1, self.place.view(1), self.tokens[:, None])
        self.place.copy_((self.place + 1) % self.LENGTH)

    def train(self, steps):
        for step in steps:
            self.step()
            if step % self.LENGTH == self.LENGTH - 1:
                self.texts = self.text.tolist()


class Adversaries(program.Program):
    """A DCGAN with channels_last and bfloat16; both losses stay on the GPU."""

    family = "clean"
    BATCH, CHANNELS = size(256, 2), size(128, 4)

    def __init__(self, fixed):
        super().__init__(fixed)
        c = self.CHANNELS

        def up(before, after):
            return nn.ConvTranspose2d(before, after, 4, 2, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)

        def down(before, after):
            return nn.Conv2d(before, after, 4, 2, 1, bias=False), nn.BatchNorm2d(after), nn.LeakyReLU(0.2, inplace=True)

        self.maker = nn.Sequential(nn.ConvTranspose2d(64, 4 * c, 4, bias=False), nn.BatchNorm2d(4 * c), nn.ReLU(inplace=True), *up(4 * c, 2 * c), *up(2 * c, c),
                                   *up(c, c), nn.ConvTranspose2d(c, 8, 4, 2, 1), nn.Tanh()).cuda().to(memory_format=torch.channels_last)
        self.judge = nn.Sequential(*down(8, c), *down(c, 2 * c), *down(2 * c, 4 * c), nn.Conv2d(4 * c, 8, 4), nn.Flatten()).cuda()
        self.judge = self.judge.to(memory_format=torch.channels_last)
        self.optimizers = [torch.optim.Adam(model.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True) for model in (self.maker, self.judge)]
        self.real = torch.randn(self.BATCH, 8, 64, 64, device="cuda").to(memory_format=torch.channels_last)

    def train(self, steps):
        for _ in steps:
            noise = torch.randn(self.BATCH, 64, 1, 1, device="cuda")
            with torch.autocast("cuda", dtype=torch.bfloat16):
                made = self.maker(noise)
                loss = F.softplus(-self.judge(self.real).float()).mean() + F.softplus(self.judge(made.detach()).float()).mean()
            loss.backward()
            self.optimizers[1].step()
            self.optimizers[1].zero_grad()
            self.judge.requires_grad_(False)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.softplus(-self.judge(made).float()).mean()
            loss.backward()
            self.judge.requires_grad_(True)
            self.optimizers[0].step()
            self.optimizers[0].zero_grad()


class Patches(torch.utils.data.Dataset):
    def __init__(self, edge):
        self.pictures = torch.randint(256, (64, 3, 2 * edge, 2 * edge), dtype=torch.uint8)
        self.edge = edge

    def __len__(self):
        return 1 << 30

    def __getitem__(self, number):
        top, left = torch.randint(self.edge, (2,)).tolist()
        return self.pictures[number % 64, :, top:top + self.edge, left:left + self.edge], number % 100


class LoadedPictures(program.Program):
    """A convolutional network fed by a DataLoader with enough workers, pinned memory and copies that nothing waits for."""

    family = "clean"
    BATCH, EDGE, CHANNELS = size(128, 2), size(128, 16), size(256, 8)

    def __init__(self, fixed):
        super().__init__(fixed)
        from vision import tower
        self.model = nn.Sequential(tower(self.CHANNELS, 9), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(self.CHANNELS, 104)).cuda()
        self.model = self.model.to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, fused=True)
        self.batches = iter(torch.utils.data.DataLoader(Patches(self.EDGE), self.BATCH, num_workers=size(6, 1), pin_memory=True, prefetch_factor=4))

    def train(self, steps):
        for _ in steps:
            pictures, labels = (part.to("cuda", non_blocking=True) for part in next(self.batches))
            pictures = pictures.to(torch.float32, memory_format=torch.channels_last).div_(255)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.cross_entropy(self.model(pictures), labels)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class LongEncoder(program.Program):
    """An encoder of x-transformers with its fused attention, trained on long sequences."""

    family, needs = "clean", ("x_transformers", "einops", "einx", "loguru")
    BATCH, LENGTH, WIDTH, DEPTH = size(4, 1), size(4096, 16), size(512, 32), size(6, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        from x_transformers import ContinuousTransformerWrapper, Encoder
        self.model = ContinuousTransformerWrapper(dim_in=64, dim_out=64, max_seq_len=self.LENGTH,
                                                  attn_layers=Encoder(dim=self.WIDTH, depth=self.DEPTH, heads=8, attn_flash=True)).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.x = torch.randn(self.BATCH, self.LENGTH, 64, device="cuda")

    def train(self, steps):
        for _ in steps:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.mse_loss(self.model(self.x), self.x)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class SmallTables(program.Program):
    """A network for rows of a table, as small as most of them are, on data that is on the GPU. The launches are the limit."""

    family = "clean"
    ROWS, BATCH, FEATURES = size(200000, 200), size(1024, 8), size(64, 8)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.x, self.y = torch.randn(self.ROWS, self.FEATURES, device="cuda"), torch.rand(self.ROWS, 1, device="cuda")
        layers = [part for _ in range(4) for part in (nn.Linear(self.FEATURES, self.FEATURES), nn.BatchNorm1d(self.FEATURES), nn.SiLU())]
        self.model = nn.Sequential(*layers, nn.Linear(self.FEATURES, 1)).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, fused=True)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 10000)

    def train(self, steps):
        for _ in steps:
            for _ in range(4):
                rows = torch.randint(self.ROWS, (self.BATCH,), device="cuda")
                F.mse_loss(self.model(self.x[rows]), self.y[rows]).backward()
                self.optimizer.step()
                self.optimizer.zero_grad()
            self.schedule.step()


class FittedField(program.Program):
    """A field of positions that is fitted to a picture, in bfloat16 and with Fourier features. The GPU is the limit."""

    family = "clean"
    POINTS, WIDTH, DEPTH = size(131072, 64), size(1024, 16), size(6, 2)

    def __init__(self, fixed):
        super().__init__(fixed)
        layers = [part for _ in range(self.DEPTH) for part in (nn.Linear(self.WIDTH, self.WIDTH, **BF16), nn.ReLU(inplace=True))]
        self.model = nn.Sequential(*layers, nn.Linear(self.WIDTH, 8, **BF16))
        self.waves = torch.randn(2, self.WIDTH // 2, **BF16)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, fused=True)
        self.picture = torch.rand(1024 * 1024, 8, **BF16)

    def train(self, steps):
        for _ in steps:
            places = torch.randint(1024 * 1024, (self.POINTS,), device="cuda")
            xy = torch.stack((places % 1024, places // 1024), 1).bfloat16() / 1024
            angles = xy @ self.waves
            loss = F.mse_loss(self.model(torch.cat((angles.sin(), angles.cos()), 1)), self.picture[places])
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class Ahead:
    """Copies a batch on a stream of its own while the one before it is used; two buffers take turns."""

    def __init__(self, batches):
        self.batches, self.stream, self.number = batches, torch.cuda.Stream(), 0
        self.buffers = [torch.empty_like(batches[0], device="cuda") for _ in range(2)]
        self.fetch()

    def fetch(self):
        self.stream.wait_stream(torch.cuda.current_stream())  # for the steps that used this buffer
        with torch.cuda.stream(self.stream):
            self.buffers[self.number % 2].copy_(self.batches[self.number % len(self.batches)], non_blocking=True)
        self.number += 1

    def take(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.buffers[(self.number - 1) % 2]
        self.fetch()
        return batch


class MaskedPatches(program.Program):
    """A masked autoencoder: batches are copied ahead, weights are averaged, gradients clipped, and losses are read some steps after they were
    copied to pinned memory. The GPU is the limit."""

    family = "clean"
    BATCH, EDGE, PATCH, WIDTH, DEPTH = size(256, 2), size(224, 32), size(16, 8), size(768, 64), size(8, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.count, small = (self.EDGE // self.PATCH) ** 2, self.WIDTH // 2
        self.first, self.narrow, self.last = nn.Linear(3 * self.PATCH ** 2, self.WIDTH), nn.Linear(self.WIDTH, small), nn.Linear(small, 3 * self.PATCH ** 2)
        self.encoder, self.decoder = self.layers(self.WIDTH, self.DEPTH), self.layers(small, 2)
        self.places = [torch.randn(self.count, width, device="cuda") / 50 for width in (self.WIDTH, small)]
        self.blank = nn.Parameter(torch.zeros(small, device="cuda"))
        self.model = nn.ModuleList((self.first, self.narrow, self.last, self.encoder, self.decoder)).cuda()
        self.weights = [self.blank, *self.model.parameters()]
        self.average = [weight.detach().clone() for weight in self.weights]
        self.optimizer = torch.optim.AdamW(self.weights, lr=1e-4, betas=(0.9, 0.95), weight_decay=0.05, fused=True)
        self.schedule = torch.optim.lr_scheduler.LinearLR(self.optimizer, 0.1, 1.0, total_iters=1000)
        self.pictures = Ahead([torch.randint(256, (self.BATCH, 3, self.EDGE, self.EDGE), dtype=torch.uint8).pin_memory() for _ in range(3)])
        self.on_host, self.copied, self.log = [torch.zeros(()).pin_memory() for _ in range(2)], collections.deque(), []

    @staticmethod
    def layers(width, depth):
        layer = nn.TransformerEncoderLayer(width, width // 64 or 1, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        return nn.TransformerEncoder(layer, depth, norm=nn.LayerNorm(width), enable_nested_tensor=False)

    def loss(self, pictures):
        patches = F.pixel_unshuffle(pictures, self.PATCH).flatten(2).transpose(1, 2)
        order = torch.rand(self.BATCH, self.count, device="cuda").argsort(1)
        seen, hidden = order[:, :self.count // 4], order[:, self.count // 4:]
        x = self.first(patches.take_along_dim(seen[..., None], 1)) + self.places[0][seen]
        x = torch.cat((self.narrow(self.encoder(x)) + self.places[1][seen], self.blank + self.places[1][hidden]), 1)
        made = self.last(self.decoder(x)[:, self.count // 4:])
        return F.mse_loss(made.float(), F.layer_norm(patches.take_along_dim(hidden[..., None], 1), patches.shape[2:]))

    def read_loss(self, step, loss):
        if step % 10 == 0:
            done = torch.cuda.Event()
            number = step // 10 % 2
            self.on_host[number].copy_(loss.detach(), non_blocking=True)
            done.record()
            self.copied.append((done, number))
        elif step % 10 == 5 and self.copied:
            done, number = self.copied.popleft()
            done.synchronize()
            self.log.append(self.on_host[number].item())

    def train(self, steps):
        for step in steps:
            pictures = self.pictures.take() / 255
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = self.loss(pictures)
            loss.backward()
            nn.utils.clip_grad_norm_(self.weights, 1.0, foreach=True)
            self.optimizer.step()
            self.schedule.step()
            self.optimizer.zero_grad()
            torch._foreach_lerp_(self.average, [weight.detach() for weight in self.weights], 0.001)
            self.read_loss(step, loss)


program.run(__name__)
