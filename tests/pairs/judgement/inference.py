"""Programs of the judgement set that use a model: sounds, texts, pictures and spikes that come in and have to be answered."""

import logging
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import program
from program import captured, size

BF16 = {"device": "cuda", "dtype": torch.bfloat16}
LOG = logging.getLogger("blocks")


class ClipDenoiser(program.Program):
    """Takes the noise out of clips of sound. Every second batch has a length that was not there before, and cuDNN was told to try its kernels
    for each new shape."""

    family = "judgement"
    CLIPS, FRAMES, CHANNELS, DEPTH = size(16, 1), size(16384, 32), size(128, 8), size(6, 2)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.first, self.last = nn.Linear(32, self.CHANNELS, **BF16), nn.Linear(self.CHANNELS, 32, **BF16)
        self.layers = nn.ModuleList(nn.Conv1d(self.CHANNELS, self.CHANNELS, 9, padding=4, **BF16) for _ in range(self.DEPTH))
        self.sound, self.count = torch.randn(self.CLIPS, 2 * self.FRAMES, 32, **BF16), 0 if fixed else self.FRAMES // 2  # shapes of its own

    def next_clips(self, step):
        self.count += step % 2
        return self.sound[:, :self.FRAMES + (self.count % self.FRAMES if step % 2 else 0)]

    def clean(self, frames):
        x = self.first(frames).transpose(1, 2)
        for layer in self.layers:
            x = x + F.gelu(layer(x))  # SEEN
        return frames - self.last(x.transpose(1, 2))

    @torch.inference_mode()
    def train(self, steps):
        torch.backends.cudnn.benchmark = not self.fixed  # FAULT
        for step in steps:
            self.cleaned = self.clean(self.next_clips(step))  # SEEN


class RetrievalIndex(program.Program):
    """Questions are turned into vectors by a BERT of transformers, and the best of some documents are found. no_grad() is called, but not
    entered; and all scores go to the host, where NumPy looks for the best."""

    family, faults, needs = "judgement", 2, ("transformers",)
    QUESTIONS, LENGTH, WIDTH, DEPTH, WORDS, DOCUMENTS = size(16, 2), size(32, 8), size(384, 32), size(12, 1), size(30522, 64), size(20000, 50)

    def __init__(self, fixed):
        super().__init__(fixed)
        from transformers import BertConfig, BertModel
        settings = BertConfig(vocab_size=self.WORDS, hidden_size=self.WIDTH, num_hidden_layers=self.DEPTH, num_attention_heads=size(12, 2),
                              intermediate_size=4 * self.WIDTH)
        self.model = BertModel(settings, add_pooling_layer=False).cuda().bfloat16().eval()
        self.questions = torch.randint(self.WORDS, (self.QUESTIONS, self.LENGTH), device="cuda")
        self.documents = F.normalize(torch.randn(self.DOCUMENTS, self.WIDTH, device="cuda"), dim=1).bfloat16()

    def vectors(self):
        return F.normalize(self.model(input_ids=self.questions).last_hidden_state.mean(1), dim=1)  # SEEN 1

    def ask(self):
        if self.repaired(1):
            with torch.no_grad():
                return self.vectors()
        torch.no_grad()  # FAULT 1
        return self.vectors()  # SEEN 1

    def find(self, vectors):
        scores = vectors @ self.documents.T
        if self.repaired(2):
            return scores.topk(10, dim=1).indices.tolist()
        scores = scores.detach().float().cpu().numpy()  # FAULT 2
        best = np.argpartition(-scores, 10, axis=1)[:, :10]  # FAULT 2
        order = np.take_along_axis(-scores, best, 1).argsort(1)  # FAULT 2
        return np.take_along_axis(best, order, 1).tolist()  # FAULT 2

    def train(self, steps):
        for _ in steps:
            self.found = self.find(self.ask())  # SEEN 1, 2


class MixerBlock(nn.Module):
    """A block of an MLP-Mixer, which writes a line for those who look for errors."""

    def __init__(self, tokens, width, logged):
        super().__init__()
        self.logged, self.norms = logged, nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.across = nn.Sequential(nn.Linear(tokens, tokens), nn.GELU(), nn.Linear(tokens, tokens))
        self.within = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        y = self.norms[0](x)  # SEEN of LoggedBlocks
        if self.logged:
            LOG.debug("shape %s", tuple(y.shape))  # FAULT of LoggedBlocks
        x = x + self.across(y.transpose(1, 2)).transpose(1, 2)  # SEEN of LoggedBlocks
        return x + self.within(self.norms[1](x))  # SEEN of LoggedBlocks


class LoggedBlocks(program.Program):
    """A compiled MLP-Mixer answers eight small requests in a step. Each block calls a logger, which torch.compile cannot compile; nothing is
    logged."""

    family = "judgement"
    REQUESTS, BATCH, TOKENS, WIDTH, DEPTH = size(8, 1), size(8, 1), size(64, 4), size(256, 8), size(6, 2)

    def __init__(self, fixed):
        super().__init__(fixed)
        blocks = nn.Sequential(*(MixerBlock(self.TOKENS, self.WIDTH, not fixed) for _ in range(self.DEPTH))).to(**BF16).eval()
        self.model = torch.compile(blocks, disable=program.ON_CPU)
        self.requests = torch.randn(self.REQUESTS, self.BATCH, self.TOKENS, self.WIDTH, **BF16)

    @torch.no_grad()
    def train(self, steps):
        for _ in steps:
            self.answers = [self.model(request) for request in self.requests]  # SEEN


def develop(x):
    """Colours of a photograph as a network wants them."""
    x = (1.1 * (x / 255) - 0.02).clamp(0, 1)
    return ((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14) - 0.5).to(torch.bfloat16)


def develop_size(x):  # SEEN of PhotoSizes
    return develop(x)  # SEEN of PhotoSizes


def develop_any(x):
    return develop(x)


class PhotoSizes(program.Program):
    """Photographs are developed by a compiled function and then looked at by a transformer. In each fourth step they have a size that was not
    there before, and the function is compiled for each size: the limit of compilations was raised."""

    family = "judgement"
    BATCH, LEAST, EDGE, WIDTH, DEPTH = size(32, 1), size(256, 16), size(224, 16), size(512, 16), size(6, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        torch._dynamo.config.recompile_limit = 1000
        self.develop = torch.compile(develop_any, dynamic=True, disable=program.ON_CPU) if fixed else \
            torch.compile(develop_size, dynamic=False, disable=program.ON_CPU)  # FAULT
        layer = nn.TransformerEncoderLayer(self.WIDTH, 8, 4 * self.WIDTH, dropout=0.0, batch_first=True, norm_first=True, **BF16)
        self.patches = nn.Conv2d(3, self.WIDTH, 16, stride=16, **BF16)
        self.body = nn.TransformerEncoder(layer, self.DEPTH, enable_nested_tensor=False).eval()
        self.photos = torch.randint(256, (self.BATCH, 3, 3 * self.LEAST, 3 * self.LEAST), dtype=torch.uint8, device="cuda")
        self.count = random.randrange(size(8000, 1))  # sizes of which no run before left something in the cache

    def next_photos(self, step):
        height = width = 3 * self.LEAST // 2
        if step % 4 == 0:
            self.count += 1
            height, width = self.LEAST + 2 * (self.count % (self.LEAST // 2)), self.LEAST + 2 * (self.count // (self.LEAST // 2)) + 6
        return self.photos[:, :, :height, :width].contiguous()

    @torch.no_grad()
    def train(self, steps):
        for step in steps:
            photos = self.develop(self.next_photos(step))  # SEEN
            photos = F.interpolate(photos, size=(self.EDGE, self.EDGE), mode="bilinear")
            self.seen = self.body(self.patches(photos).flatten(2).transpose(1, 2)).mean(1)


class SpikingNetwork(program.Program):
    """Neurons that leak and fire, in three layers, for 64 moments. Each moment of each layer takes some small kernels, which are launched one
    by one. Repaired: all of them are one CUDA graph."""

    family = "judgement"
    BATCH, WIDTH, MOMENTS = size(256, 4), size(512, 16), size(64, 4)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.layers = nn.ModuleList(nn.Linear(self.WIDTH, self.WIDTH, bias=False, **BF16) for _ in range(3)).requires_grad_(False)
        self.spikes_in = (torch.rand(self.MOMENTS, self.BATCH, self.WIDTH, device="cuda") < 0.2).bfloat16()
        self.rates = torch.zeros(self.BATCH, self.WIDTH, **BF16)
        self.run = captured(self.simulate) if fixed else self.simulate

    def simulate(self):
        charges = [torch.zeros_like(self.rates) for _ in self.layers]
        self.rates.zero_()
        for spikes in self.spikes_in:
            for number, layer in enumerate(self.layers):
                charge = 0.9 * charges[number] + layer(spikes)  # FAULT
                spikes = (charge > 1.0).bfloat16()  # FAULT
                charges[number] = charge - spikes  # FAULT
            self.rates += spikes / self.MOMENTS  # FAULT

    def train(self, steps):
        for _ in steps:
            self.run()  # SEEN


class PromptToPicture(program.Program):
    """Prompts are encoded, and pictures made of them, each by a model of its own. Between them, in every second step, the memory of the first is given
    back by the helper of accelerate, which collects Python's garbage and frees what PyTorch keeps for later. There is room for both."""

    family, needs = "judgement", ("accelerate",)
    BATCH, LENGTH, WIDTH, DEPTH, CHANNELS, EDGE = size(32, 1), size(256, 8), size(1024, 16), size(4, 1), size(256, 8), size(32, 4)

    def __init__(self, fixed):
        super().__init__(fixed)
        from accelerate.utils import release_memory
        self.release = release_memory
        layer = nn.TransformerEncoderLayer(self.WIDTH, 8, 4 * self.WIDTH, dropout=0.0, batch_first=True, norm_first=True, **BF16)
        self.words = torch.randn(self.BATCH, self.LENGTH, self.WIDTH, **BF16)
        self.encoder = nn.TransformerEncoder(layer, self.DEPTH, enable_nested_tensor=False).eval()
        c = self.CHANNELS
        parts = [part for _ in range(3) for part in (nn.Conv2d(c, c, 3, padding=1), nn.SiLU(), nn.Upsample(scale_factor=2))]
        self.start, self.decoder = nn.Linear(self.WIDTH, c * 4, **BF16), nn.Sequential(*parts, nn.Conv2d(c, 3, 3, padding=1)).to(**BF16)
        self.decoder = self.decoder.to(memory_format=torch.channels_last)

    def picture(self, step):
        hidden = self.encoder(self.words)  # SEEN
        start = self.start(hidden.mean(1)).unflatten(1, (-1, 2, 2)).repeat(1, 1, self.EDGE // 2, self.EDGE // 2)
        start = start.contiguous(memory_format=torch.channels_last)
        if step % 2 and not self.fixed:
            hidden = self.release(hidden)  # FAULT
        return self.decoder(start)  # SEEN

    @torch.inference_mode()
    def train(self, steps):
        for step in steps:
            self.made = self.picture(step)  # SEEN


program.run(__name__)
