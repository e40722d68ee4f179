"""Pairs in which a DataLoader is slower than the GPU."""

import random
import re

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

import pair
from models import BF16, adamw

WORDS, LENGTH, BATCH = 2048, 1024, 32


class Texts(Dataset):
    """Texts that become the numbers of their words when they are read."""

    def __init__(self):
        words = [f"Word{number}" for number in range(WORDS)]
        self.vocabulary = {word.lower(): number for number, word in enumerate(words)}
        self.texts = [" ".join(random.choices(words, k=LENGTH)) for _ in range(256)]

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        words = re.findall(r"\w+|[^\w\s]", self.texts[index % 256].lower())  # SEEN of NoWorkers, FewWorkers
        return torch.tensor([self.vocabulary.get(word, 0) for word in words])  # SEEN of NoWorkers, FewWorkers


class Tokens(Dataset):
    """The same, with the numbers at hand."""

    def __init__(self):
        self.rows = torch.randint(WORDS, (256, LENGTH))

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        return self.rows[index % 256]


def collate_by_element(rows):
    return torch.tensor([[int(token) for token in row] for row in rows])  # FAULT of SlowCollate


class LanguageModel(nn.Module):
    """Predicts a word from the one before it. The embedding is not trained."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 1024, **BF16).requires_grad_(False)
        self.up, self.down = nn.Linear(1024, 4096, **BF16), nn.Linear(4096, 1024, **BF16)
        self.head = nn.Linear(1024, WORDS, **BF16)

    def forward(self, tokens):
        x = self.embedding(tokens)
        return self.head(self.down(F.relu(self.up(x))))


class Loading(pair.Pair):
    def __init__(self, fixed):
        super().__init__(fixed)
        self.batches = iter(self.loader())
        self.model = LanguageModel()
        self.optimizer = adamw(self.model)

    def learn(self, tokens):
        scores = self.model(tokens[:, :-1])
        F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


class NoWorkers(Loading):
    """The training itself reads the texts. Fixed: eight workers do."""

    family = "host"

    def loader(self):
        workers = 8 if self.fixed else 0
        return DataLoader(Texts(), batch_size=BATCH, num_workers=workers, pin_memory=True)  # FAULT

    def train(self, steps):
        for _, batch in zip(steps, self.batches):  # SEEN
            self.learn(batch.to("cuda", non_blocking=True))


class FewWorkers(Loading):
    """One worker reads the texts, slower than the GPU learns. Fixed: eight do."""

    family = "host"

    def loader(self):
        workers = 8 if self.fixed else 1
        return DataLoader(Texts(), batch_size=BATCH, num_workers=workers, pin_memory=True)  # FAULT

    def train(self, steps):
        for _, batch in zip(steps, self.batches):  # SEEN
            self.learn(batch.to("cuda", non_blocking=True))


class SlowCollate(Loading):
    """Workers put batches together number by number. Fixed: torch.stack()."""

    family = "host"

    def loader(self):
        collate = torch.stack if self.fixed else collate_by_element
        return DataLoader(Tokens(), batch_size=BATCH, num_workers=2, pin_memory=True, collate_fn=collate)  # SEEN

    def train(self, steps):
        for _, batch in zip(steps, self.batches):  # SEEN
            self.learn(batch.to("cuda", non_blocking=True))


pair.run(__name__)
