"""Programs of the judgement set without a planted fault: something else is the limit, such as the GPU, an algorithm that has to know a result
before it goes on, or work that the host has to do. What Tacho finds in them is to be carried out by hand: it may be right."""

import collections

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import program
from program import captured, size

BF16 = {"device": "cuda", "dtype": torch.bfloat16}


class ValidatedNetwork(program.Program):
    """A ResNet of torchvision, with a validation after each sixteenth step, whose accuracy is waited for. The GPU is the limit."""

    family, needs = "clean", ("torchvision",)
    BATCH, EDGE, NAME = size(160, 2), size(160, 32), size("resnet50", "resnet18")

    def __init__(self, fixed):
        super().__init__(fixed)
        from torchvision import models
        self.model = models.get_model(self.NAME, weights=None, num_classes=100).cuda().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 1000)
        self.images = torch.randn(self.BATCH, 3, self.EDGE, self.EDGE, device="cuda").to(memory_format=torch.channels_last)
        self.labels = torch.randint(100, (self.BATCH,), device="cuda")
        self.best = 0.0

    @torch.inference_mode()
    def validate(self):
        self.model.eval()
        hits = torch.zeros((), device="cuda")
        for images, labels in zip(self.images.split(self.BATCH // 2), self.labels.split(self.BATCH // 2)):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                hits += (self.model(images).argmax(1) == labels).sum()
        self.best = max(self.best, hits.item() / self.BATCH)
        self.model.train()

    def train(self, steps):
        for step in steps:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.cross_entropy(self.model(self.images), self.labels)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.schedule.step()
            if step % 16 == 15:
                self.validate()


class SetPredictions(program.Program):
    """Detection as DETR does it: queries are matched with the objects of each picture on the host, which needs what they cost. All costs are copied
    at once, and the loss needs the matching."""

    family = "clean"
    PICTURES, TOKENS, QUERIES, OBJECTS, WIDTH, DEPTH, CLASSES = size(48, 2), size(1024, 16), size(300, 12), size(12, 3), size(512, 16), size(6, 1), 92

    def __init__(self, fixed):
        super().__init__(fixed)
        layer = nn.TransformerDecoderLayer(self.WIDTH, 8, 4 * self.WIDTH, dropout=0.0, batch_first=True)
        self.decoder, self.queries = nn.TransformerDecoder(layer, self.DEPTH).cuda(), nn.Parameter(torch.randn(self.QUERIES, self.WIDTH, device="cuda"))
        self.names, self.places = nn.Linear(self.WIDTH, self.CLASSES).cuda(), nn.Linear(self.WIDTH, 4).cuda()
        parts = (self.decoder, self.names, self.places)
        self.optimizer = torch.optim.AdamW([self.queries, *(weight for part in parts for weight in part.parameters())], lr=1e-4, fused=True)
        self.memory = torch.randn(self.PICTURES, self.TOKENS, self.WIDTH, device="cuda")
        self.boxes = torch.rand(self.PICTURES, self.OBJECTS, 4, device="cuda")
        self.classes = torch.randint(self.CLASSES - 1, (self.PICTURES, self.OBJECTS), device="cuda")
        self.on_host = torch.empty(self.PICTURES, self.QUERIES, self.OBJECTS).pin_memory()
        self.chosen = torch.empty(self.PICTURES, self.OBJECTS, dtype=torch.long).pin_memory()
        self.copied = torch.cuda.Event()

    def match(self, costs):
        """The cheapest query for each object that no object before it has."""
        self.on_host.copy_(costs, non_blocking=True)
        self.copied.record()
        self.copied.synchronize()
        costs, pictures = self.on_host.numpy().copy(), np.arange(self.PICTURES)
        for number in range(self.OBJECTS):
            best = costs[:, :, number].argmin(1)
            self.chosen[:, number] = torch.from_numpy(best)
            costs[pictures, best] = np.inf
        return self.chosen.to("cuda", non_blocking=True)

    def train(self, steps):
        for _ in steps:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                out = self.decoder(self.queries.expand(self.PICTURES, -1, -1), self.memory)
                names, boxes = self.names(out).float(), self.places(out).float().sigmoid()
            with torch.no_grad():
                p = names.softmax(2).gather(2, self.classes[:, None].expand(-1, self.QUERIES, -1))
                chosen = self.match(5 * torch.cdist(boxes, self.boxes, p=1) - p)
            wanted = torch.full(names.shape[:2], self.CLASSES - 1, device="cuda").scatter(1, chosen, self.classes)
            found = boxes.gather(1, chosen[..., None].expand(-1, -1, 4))
            loss = F.cross_entropy(names.flatten(0, 1), wanted.flatten()) + 5 * F.l1_loss(found, self.boxes)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class LineSearch(program.Program):
    """A regression that LBFGS solves with a line search, which has to know each value of the loss before it takes the next step. Each of them reads
    all rows, so that the GPU is the limit."""

    family = "clean"
    ROWS, FEATURES, CLASSES = size(800000, 64), size(1024, 8), size(64, 4)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.x, self.y = torch.randn(self.ROWS, self.FEATURES, **BF16), torch.randint(self.CLASSES, (self.ROWS,), device="cuda")
        self.weight = torch.zeros(self.FEATURES, self.CLASSES, device="cuda", requires_grad=True)
        self.optimizer = torch.optim.LBFGS([self.weight], lr=1.0, max_iter=4, history_size=10, line_search_fn="strong_wolfe", tolerance_change=0.0)

    def loss(self):
        self.optimizer.zero_grad()
        loss = F.cross_entropy((self.x @ self.weight.bfloat16()).float(), self.y) + 1e-4 * self.weight.square().sum()
        loss.backward()
        return loss

    def train(self, steps):
        for step in steps:
            if step % 4 == 0:
                with torch.no_grad():
                    self.weight.normal_(std=0.01)
            self.optimizer.step(self.loss)


class GaussianProcess(program.Program):
    """The likelihood of a Gaussian process and its gradient. The matrix has a condition that needs double precision."""

    family = "clean"
    POINTS, FEATURES = size(4096, 24), 8

    def __init__(self, fixed):
        super().__init__(fixed)
        self.x = torch.randn(self.POINTS, self.FEATURES, device="cuda", dtype=torch.float64)
        self.y = self.x.sin().sum(1, keepdim=True)
        self.scales = torch.zeros(self.FEATURES, device="cuda", dtype=torch.float64, requires_grad=True)
        self.optimizer = torch.optim.Adam([self.scales], lr=1e-2, fused=True)
        self.noise = 1e-7 * torch.eye(self.POINTS, device="cuda", dtype=torch.float64)

    def train(self, steps):
        for _ in steps:
            x = self.x * self.scales.exp()
            squares = x.square().sum(1, keepdim=True)
            factor = torch.linalg.cholesky_ex(torch.exp(torch.addmm(-0.5 * squares - 0.5 * squares.T, x, x.T)) + self.noise).L
            solved = torch.linalg.solve_triangular(factor, self.y, upper=False)
            (0.5 * solved.square().sum() + factor.diagonal().log().sum()).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class PassageScores(program.Program):
    """A BERT of transformers scores passages for questions. Scores are copied to pinned memory and read when the next batch is on its way. The GPU is
    the limit."""

    family, needs = "clean", ("transformers",)
    PAIRS, LENGTH, WIDTH, DEPTH, WORDS = size(128, 2), size(256, 8), size(768, 32), size(6, 1), size(30522, 64)

    def __init__(self, fixed):
        super().__init__(fixed)
        from transformers import BertConfig, BertForSequenceClassification
        settings = BertConfig(vocab_size=self.WORDS, hidden_size=self.WIDTH, num_hidden_layers=self.DEPTH, num_attention_heads=size(12, 2),
                              intermediate_size=4 * self.WIDTH, num_labels=1)
        self.model = BertForSequenceClassification(settings).cuda().bfloat16().eval()
        self.pairs = [torch.randint(self.WORDS, (self.PAIRS, self.LENGTH)).pin_memory() for _ in range(4)]
        self.on_host = [torch.empty(self.PAIRS).pin_memory() for _ in range(2)]
        self.copied, self.best = [torch.cuda.Event() for _ in range(2)], collections.deque(maxlen=100)

    @torch.inference_mode()
    def train(self, steps):
        for step in steps:
            scores = self.model(input_ids=self.pairs[step % 4].to("cuda", non_blocking=True)).logits[:, 0]
            self.on_host[step % 2].copy_(scores.float(), non_blocking=True)
            self.copied[step % 2].record()
            if step:
                self.copied[1 - step % 2].synchronize()
                self.best.append(max(self.on_host[1 - step % 2].tolist()))


class FrozenFeatures(program.Program):
    """A head is trained on what a frozen ViT of timm sees. The ViT runs without autograd, in bfloat16, and the backward pass is as short as it looks.
    The GPU is the limit."""

    family, needs = "clean", ("timm", "torchvision")
    BATCH, NAME = size(192, 1), size("vit_base_patch32_224", "vit_tiny_patch16_224")

    def __init__(self, fixed):
        super().__init__(fixed)
        import timm
        self.eyes = timm.create_model(self.NAME, num_classes=0).cuda().bfloat16().eval().requires_grad_(False)
        self.head = nn.Sequential(nn.Linear(self.eyes.num_features, 512, **BF16), nn.GELU(), nn.Linear(512, 100, **BF16))
        self.optimizer = torch.optim.AdamW(self.head.parameters(), lr=1e-3, fused=True)
        self.images = torch.randn(self.BATCH, 3, 224, 224, **BF16)
        self.labels = torch.randint(100, (self.BATCH,), device="cuda")
        self.average = torch.zeros((), device="cuda")

    def train(self, steps):
        for _ in steps:
            with torch.no_grad():
                seen = self.eyes(self.images)
            loss = F.cross_entropy(self.head(seen).float(), self.labels)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.average.lerp_(loss.detach(), 0.01)


class StepInOneGraph(program.Program):
    """A recurrent network whose whole step, with the update, is one CUDA graph of many small kernels. The next batch is copied into the place that
    the graph reads."""

    family = "clean"
    BATCH, LENGTH, WIDTH = size(64, 2), size(48, 4), size(256, 8)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.cells = nn.ModuleList(nn.GRUCell(self.WIDTH, self.WIDTH) for _ in range(2)).cuda()
        self.head = nn.Linear(self.WIDTH, self.WIDTH).cuda()
        self.optimizer = torch.optim.AdamW([*self.cells.parameters(), *self.head.parameters()], lr=1e-3, fused=True, capturable=True)
        self.waves = torch.randn(16, self.LENGTH + 1, self.BATCH, self.WIDTH, device="cuda")
        self.now, self.loss = self.waves[0].clone(), torch.zeros((), device="cuda")
        torch.backends.cuda.matmul.allow_tf32 = True
        self.step = captured(self.learn)

    def learn(self):
        self.optimizer.zero_grad()
        states, loss = [torch.zeros_like(self.now[0]) for _ in self.cells], 0.0
        for before, after in zip(self.now, self.now[1:]):
            for number, cell in enumerate(self.cells):
                states[number] = before = cell(before, states[number])
            loss = loss + F.mse_loss(self.head(before), after)
        loss.backward()
        self.optimizer.step()
        self.loss.copy_(loss.detach())

    def train(self, steps):
        for step in steps:
            self.now.copy_(self.waves[step % 16])
            self.step()


class LargeGraph(program.Program):
    """Layers of torch_geometric on a graph with millions of edges, which is on the GPU as a whole. The memory of the GPU is the limit."""

    family, needs = "clean", ("torch_geometric",)
    NODES, EDGES, WIDTH = size(200000, 100), size(3000000, 400), size(128, 8)

    def __init__(self, fixed):
        super().__init__(fixed)
        from torch_geometric.nn import SAGEConv
        self.layers = nn.ModuleList(SAGEConv(self.WIDTH, self.WIDTH) for _ in range(2)).cuda()
        self.head = nn.Linear(self.WIDTH, 40).cuda()
        self.optimizer = torch.optim.Adam([*self.layers.parameters(), *self.head.parameters()], lr=1e-3, fused=True)
        self.x, self.y = torch.randn(self.NODES, self.WIDTH, device="cuda"), torch.randint(40, (self.NODES,), device="cuda")
        edges = torch.randint(self.NODES, (2, self.EDGES), device="cuda")
        self.edges = edges[:, edges[1].argsort()]
        self.losses = torch.zeros(100, device="cuda")

    def train(self, steps):
        torch.backends.cuda.matmul.allow_tf32 = True
        for step in steps:
            x = self.x
            for layer in self.layers:
                x = layer(x, self.edges).relu()
            loss = F.cross_entropy(self.head(x), self.y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.losses[step % 100] = loss.detach()


class Sequences:
    """Random sequences on the GPU, one batch for each step. Lightning takes it for a loader."""

    def __init__(self, steps, *shape):
        self.steps, self.x = steps, torch.randn(4, *shape, device="cuda")

    def __iter__(self):
        for step in self.steps:
            yield self.x[step % 4]


class LoggedByLightning(program.Program):
    """An encoder trained by Lightning, which logs the loss of each step without waiting for it, and has a schedule. The GPU is the limit."""

    family, needs = "clean", ("pytorch_lightning",)
    BATCH, LENGTH, WIDTH, DEPTH = size(64, 2), size(512, 8), size(512, 16), size(6, 1)

    def train(self, steps):
        import pytorch_lightning
        whole = self

        class Encoder(pytorch_lightning.LightningModule):
            def __init__(self):
                super().__init__()
                layer = nn.TransformerEncoderLayer(whole.WIDTH, 8, 4 * whole.WIDTH, dropout=0.0, batch_first=True, norm_first=True)
                self.body = nn.TransformerEncoder(layer, whole.DEPTH, enable_nested_tensor=False)

            def training_step(self, batch, _):
                loss = F.mse_loss(self.body(batch), batch)
                self.log("loss", loss)
                return loss

            def configure_optimizers(self):
                optimizer = torch.optim.AdamW(self.parameters(), lr=1e-4, fused=True)
                return [optimizer], [{"scheduler": torch.optim.lr_scheduler.LinearLR(optimizer), "interval": "step"}]

        trainer = pytorch_lightning.Trainer(accelerator="cpu" if program.ON_CPU else "gpu", devices=1, max_epochs=1, logger=False, enable_checkpointing=False,
                                            enable_progress_bar=False, enable_model_summary=False, precision="32-true" if program.ON_CPU else "bf16-mixed")
        trainer.fit(Encoder(), train_dataloaders=Sequences(steps, self.BATCH, self.LENGTH, self.WIDTH))


class TreeSearch(program.Program):
    """Games are searched as AlphaZero does it. Trees are on the host, and each evaluation says where the next one is: all games are evaluated
    at once, and the rest is NumPy's. The host is the limit by nature."""

    family = "clean"
    GAMES, MOVES, TURNS, WIDTH = size(256, 4), size(64, 6), size(6, 2), size(512, 16)

    def __init__(self, fixed):
        super().__init__(fixed)
        layers = [part for _ in range(4) for part in (nn.Linear(self.WIDTH, self.WIDTH, **BF16), nn.ReLU())]
        self.model = nn.Sequential(nn.Linear(self.MOVES, self.WIDTH, **BF16), *layers, nn.Linear(self.WIDTH, self.MOVES + 1, **BF16)).eval()
        self.boards = torch.empty(self.GAMES, self.MOVES, dtype=torch.bfloat16).pin_memory()
        self.answers = torch.empty(self.GAMES, self.MOVES + 1).pin_memory()
        self.games, self.copied = np.arange(self.GAMES), torch.cuda.Event()

    def evaluate(self, boards):
        self.boards.copy_(torch.from_numpy(boards))
        self.answers.copy_(self.model(self.boards.to("cuda", non_blocking=True)).float(), non_blocking=True)
        self.copied.record()
        self.copied.synchronize()
        answers = self.answers.numpy()
        chances = np.exp(answers[:, :-1] - answers[:, :-1].max(1, keepdims=True))
        return chances / chances.sum(1, keepdims=True), np.tanh(answers[:, -1])

    @torch.inference_mode()
    def train(self, steps):
        for _ in steps:
            visits, values = np.zeros((self.GAMES, self.MOVES), np.float32), np.zeros((self.GAMES, self.MOVES), np.float32)
            priors, _ = self.evaluate(np.zeros((self.GAMES, self.MOVES), np.float32))
            for _ in range(self.TURNS):
                total = np.sqrt(visits.sum(1, keepdims=True) + 1)
                best = (values / (visits + 1) + 1.5 * priors * total / (visits + 1)).argmax(1)
                boards = visits.copy()
                boards[self.games, best] += 1
                _, found = self.evaluate(boards)
                visits[self.games, best] += 1
                values[self.games, best] += found
            self.moves = visits.argmax(1)


program.run(__name__)
