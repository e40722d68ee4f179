"""Programs of the judgement set that learn from records: molecules of a data set, what people bought, what they read."""

import collections

import torch
import torch.nn.functional as F
from torch import nn

import program
from program import size


class Drugs(torch.utils.data.Dataset):
    """Molecules in memory, which two transforms of torch_geometric prepare whenever they are read."""

    def __init__(self, features):
        from torch_geometric import transforms
        from torch_geometric.data import Data
        self.prepare = transforms.Compose([transforms.AddSelfLoops(), transforms.NormalizeFeatures()])
        self.molecules = []
        for number in range(512):
            atoms = 16 + number % 16
            edges = torch.randint(atoms, (2, 2 * atoms))
            self.molecules.append(Data(x=torch.rand(atoms, features), edge_index=edges, y=torch.tensor([number % 2])))

    def __len__(self):
        return 1 << 20

    def __getitem__(self, number):
        return self.prepare(self.molecules[number % 512])  # SEEN of DrugLoader


class DrugLoader(program.Program):
    """A network on graphs with the loader of torch_geometric as its examples have it: without workers. So the loop prepares each molecule, and
    puts the batches together."""

    family, needs = "judgement", ("torch_geometric",)
    BATCH, FEATURES, WIDTH = size(128, 4), 32, size(256, 8)

    def __init__(self, fixed):
        super().__init__(fixed)
        from torch_geometric.loader import DataLoader
        from torch_geometric.nn import GraphConv, global_add_pool
        self.layers = nn.ModuleList(GraphConv(before, self.WIDTH) for before in (self.FEATURES, self.WIDTH, self.WIDTH)).cuda()
        self.head, self.pool = nn.Linear(self.WIDTH, 2).cuda(), global_add_pool
        self.optimizer = torch.optim.Adam([*self.layers.parameters(), *self.head.parameters()], lr=1e-3, fused=True)
        options = {"num_workers": size(7, 1), "persistent_workers": True} if fixed else {}
        self.loader = DataLoader(Drugs(self.FEATURES), self.BATCH, pin_memory=True, **options)  # FAULT
        self.batches = None

    def train(self, steps):
        self.batches = self.batches or iter(self.loader)
        for _ in steps:
            batch = next(self.batches).to("cuda", non_blocking=True)  # SEEN
            x = batch.x
            for layer in self.layers:
                x = layer(x, batch.edge_index).relu()
            F.cross_entropy(self.head(self.pool(x, batch.batch, self.BATCH)), batch.y).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class Ring:
    """Buffers for the batches that are on their way."""

    def __init__(self, count, pinned, *shape):
        self.buffers = [torch.empty(shape).pin_memory() if pinned else torch.empty(shape) for _ in range(count)]  # FAULT of HistoryTable
        self.copied, self.number = [torch.cuda.Event() for _ in range(count)], 0

    def send(self, table, rows):
        number = self.number = (self.number + 1) % len(self.buffers)
        self.copied[number].synchronize()
        torch.index_select(table, 0, rows, out=self.buffers[number])
        sent = self.buffers[number].to("cuda", non_blocking=True)  # FAULT of HistoryTable
        self.copied[number].record()
        return sent


class HistoryTable(program.Program):
    """A recommender whose vectors of articles are kept on the host, because all of them are too many for the GPU. A generator looks up those of
    a batch, and copies them with non_blocking=True, but from pageable memory."""

    family = "judgement"
    PEOPLE, HISTORY, ARTICLES, WIDTH = size(4096, 8), 16, size(400000, 100), size(128, 8)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.table = torch.rand(self.ARTICLES, self.WIDTH)
        self.rows = torch.randint(self.ARTICLES, (8, self.PEOPLE * self.HISTORY))
        self.ring = Ring(3, fixed, self.PEOPLE * self.HISTORY, self.WIDTH)
        self.question = nn.Linear(self.WIDTH, 4 * self.WIDTH).cuda()
        self.body = nn.Sequential(nn.Linear(4 * self.WIDTH, 4 * self.WIDTH), nn.ReLU(), nn.Linear(4 * self.WIDTH, self.WIDTH)).cuda()
        self.optimizer = torch.optim.AdamW([*self.question.parameters(), *self.body.parameters()], lr=1e-4, fused=True)

    def batches(self, steps):
        for step in steps:
            vectors = self.ring.send(self.table, self.rows[step % 8])  # SEEN
            yield vectors.view(self.PEOPLE, self.HISTORY, self.WIDTH)

    def train(self, steps):
        torch.backends.cuda.matmul.allow_tf32 = True
        for vectors in self.batches(steps):  # SEEN
            with torch.autocast("cuda", dtype=torch.bfloat16):
                found = self.body(F.relu(self.question(vectors[:, :-1]))).mean(1)
            loss = F.cross_entropy(found.float() @ vectors[:, -1].T, torch.arange(self.PEOPLE, device="cuda"))
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class PopularNegatives(program.Program):
    """Two towers learn what people buy. Things that they did not buy are drawn by how popular they are, which is known on the host, and so they are
    drawn there."""

    family = "judgement"
    BATCH, NEGATIVES, THINGS, WIDTH = size(2048, 8), 16, size(200000, 100), size(128, 8)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.tables = nn.ModuleList(nn.Embedding(self.THINGS, self.WIDTH, sparse=True) for _ in range(2)).cuda()
        self.towers = nn.ModuleList(nn.Sequential(nn.Linear(self.WIDTH, 512), nn.ReLU(), nn.Linear(512, self.WIDTH)) for _ in range(2)).cuda()
        self.optimizers = [torch.optim.SGD(self.tables.parameters(), lr=0.01), torch.optim.AdamW(self.towers.parameters(), lr=1e-4, fused=True)]
        self.popular = torch.rand(self.THINGS) ** 8 + 1e-6
        if fixed:
            self.popular = self.popular.cuda()
        self.bought = torch.randint(self.THINGS, (2, self.BATCH), device="cuda")
        self.log = collections.deque(maxlen=100)

    def negatives(self):
        drawn = torch.multinomial(self.popular, self.BATCH * self.NEGATIVES, replacement=True)  # FAULT
        return drawn.view(self.BATCH, self.NEGATIVES).to("cuda")  # SEEN

    def train(self, steps):
        torch.backends.cuda.matmul.allow_tf32 = True
        for _ in steps:
            things = torch.cat((self.bought[1][:, None], self.negatives()), 1)  # SEEN
            person = self.towers[0](self.tables[0](self.bought[0]))
            scores = (self.towers[1](self.tables[1](things)) @ person[:, :, None])[..., 0]
            loss = F.cross_entropy(scores, torch.zeros(self.BATCH, dtype=torch.long, device="cuda"))
            loss.backward()
            for optimizer in self.optimizers:
                optimizer.step()
                optimizer.zero_grad()
            self.log.append(loss.detach())


program.run(__name__)
