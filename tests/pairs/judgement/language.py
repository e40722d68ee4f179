"""Programs of the judgement set that work with text."""

import math
import random
import string

import torch
import torch.nn.functional as F
from torch import nn

import program
from program import size

BF16 = {"device": "cuda", "dtype": torch.bfloat16}


class CellByCell(nn.Module):
    """An LSTM of two layers as a first lesson writes it: a loop over time around cells."""

    def __init__(self, width):
        super().__init__()
        self.cells = nn.ModuleList(nn.LSTMCell(width, width) for _ in range(2))

    def forward(self, x):
        states = [(torch.zeros_like(x[0]), torch.zeros_like(x[0])) for _ in self.cells]
        out = []
        for step in x:  # SEEN of CharacterLstm
            for number, cell in enumerate(self.cells):
                states[number] = cell(step, states[number])  # FAULT of CharacterLstm
                step = states[number][0]
            out.append(step)
        return torch.stack(out)


class WholeSequence(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lstm = nn.LSTM(width, width, num_layers=2)

    def forward(self, x):
        return self.lstm(x)[0]


class CharacterLstm(program.Program):
    """A character model that calls LSTM cells one step of time after the other. Repaired: nn.LSTM, which cuDNN runs as a whole."""

    family = "judgement"
    LENGTH, BATCH, WIDTH = size(96, 6), size(128, 4), size(512, 16)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.table = nn.Embedding(96, self.WIDTH).cuda()
        self.body = (WholeSequence if fixed else CellByCell)(self.WIDTH).cuda()
        self.head = nn.Linear(self.WIDTH, 96).cuda()
        self.optimizer = torch.optim.Adam([*self.table.parameters(), *self.body.parameters(), *self.head.parameters()], lr=1e-3, fused=True)
        self.text = torch.randint(96, (self.LENGTH + 1, self.BATCH), device="cuda")

    def train(self, steps):
        for _ in steps:
            logits = self.head(self.body(self.table(self.text[:-1])))  # SEEN
            loss = F.cross_entropy(logits.flatten(0, 1), self.text[1:].flatten())
            loss.backward()  # SEEN
            nn.utils.clip_grad_norm_(self.body.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()


class Pieces:
    """A tokenizer that takes the longest known piece, and falls back to letters."""

    def __init__(self, seed=1):
        draw = random.Random(seed)
        self.ids = {letter: number for number, letter in enumerate(string.ascii_lowercase + " .,")}
        while len(self.ids) < 4000:
            self.ids.setdefault("".join(draw.choices("etaoinshrdlu ", k=draw.randint(2, 5))), len(self.ids))

    def encode(self, text, limit):
        out, place = [], 0
        while place < len(text) and len(out) < limit:  # SEEN 2 of TextToGpt
            for length in range(min(5, len(text) - place), 0, -1):  # SEEN 2 of TextToGpt
                number = self.ids.get(text[place:place + length])  # SEEN 2 of TextToGpt
                if number is not None:  # SEEN 2 of TextToGpt
                    break
            out.append(number)
            place += length
        return out + [0] * (limit - len(out))


class TextToGpt(program.Program):
    """A GPT of x-transformers. The documents of a batch are tokenized when they are drawn, in the loop; and attention is not the fused
    one, which is the package's default."""

    family, faults, needs = "judgement", 2, ("x_transformers", "einops", "einx", "loguru")
    BATCH, LENGTH, WIDTH, DEPTH = size(16, 2), size(1024, 32), size(768, 32), size(8, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        from x_transformers import Decoder, TransformerWrapper
        self.model = TransformerWrapper(num_tokens=4096, max_seq_len=self.LENGTH,
                                        attn_layers=Decoder(dim=self.WIDTH, depth=self.DEPTH, heads=8,
                                                            attn_flash=self.repaired(1))).cuda()  # FAULT 1
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.pieces, draw = Pieces(), random.Random(2)
        self.documents = ["".join(draw.choices("etaoinshrdlu  .,bcfgmpw", k=6 * self.LENGTH)) for _ in range(64)]
        self.encoded = [self.pieces.encode(text, self.LENGTH + 1) for text in self.documents] if self.repaired(2) else None
        self.encoded = torch.tensor(self.encoded).pin_memory() if self.encoded else None

    def collate(self, chosen):
        return torch.tensor([self.pieces.encode(self.documents[number], self.LENGTH + 1) for number in chosen])  # FAULT 2

    def draw(self):
        chosen = random.sample(range(len(self.documents)), self.BATCH)
        batch = self.encoded[chosen] if self.repaired(2) else self.collate(chosen)  # SEEN 2
        return batch.pin_memory().to("cuda", non_blocking=True)

    def train(self, steps):
        for _ in steps:
            tokens = self.draw()  # SEEN 2
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = self.model(tokens[:, :-1])  # SEEN 1
                loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()  # SEEN 1
            self.optimizer.step()
            self.optimizer.zero_grad()


def punish_each(logits, generated, penalty):
    """The repetition penalty, token by token."""
    for row in range(len(generated)):
        for token in set(generated[row].tolist()):  # SEEN of RepetitionPenalty
            logits[row, token] /= penalty  # FAULT of RepetitionPenalty
    return logits


def punish_all(logits, generated, penalty):
    return logits.scatter(1, generated, logits.gather(1, generated) / penalty)


class RepetitionPenalty(program.Program):
    """Sampling from a GPT-2 of transformers with its cache. The penalty for repetitions is applied to one logit after the other."""

    family, needs = "judgement", ("transformers",)
    BATCH, PROMPT, NEW, WIDTH, DEPTH = size(8, 2), size(32, 4), size(64, 4), size(768, 32), size(12, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        from transformers import GPT2Config, GPT2LMHeadModel
        settings = GPT2Config(n_embd=self.WIDTH, n_layer=self.DEPTH, n_head=self.WIDTH // 16 if program.ON_CPU else 12, n_positions=256, vocab_size=50304)
        self.model = GPT2LMHeadModel(settings).cuda().bfloat16().eval()
        self.prompt = torch.randint(50000, (self.BATCH, self.PROMPT), device="cuda")

    @torch.inference_mode()
    def train(self, steps):
        from transformers import DynamicCache
        punish = punish_all if self.repaired() else punish_each
        for step in steps:
            if step % self.NEW == 0:
                cache, generated = DynamicCache(), self.prompt
                last = generated
            logits = self.model(input_ids=last, past_key_values=cache, use_cache=True).logits[:, -1].float()
            logits = punish(logits, generated, 1.2)  # SEEN
            values, tokens = logits.div(0.8).topk(50, dim=1)
            last = tokens.gather(1, torch.multinomial(values.softmax(1), 1))
            generated = torch.cat((generated, last), 1)


class EmaOfState:
    """An average of a model's weights by their names, one after the other, as many training scripts have it."""

    def __init__(self, model, decay):
        self.decay, self.state = decay, {name: value.detach().clone() for name, value in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for name, value in model.state_dict().items():  # SEEN 1 of MaskedWords
            old = self.state[name]
            self.state[name] = self.decay * old + (1 - self.decay) * value.detach()  # FAULT 1 of MaskedWords


class EmaAtOnce(EmaOfState):
    @torch.no_grad()
    def update(self, model):
        torch._foreach_lerp_(list(self.state.values()), list(model.state_dict().values()), 1 - self.decay)


class MaskedWords(program.Program):
    """Pretraining of a BERT of transformers. An average of the weights is kept by a loop, and the masks of
    the data collator are drawn on the host, in the loop."""

    family, faults, needs = "judgement", 2, ("transformers",)
    BATCH, LENGTH, WIDTH, DEPTH = size(32, 2), size(128, 16), size(512, 32), size(12, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        from transformers import BertConfig, BertForMaskedLM
        settings = BertConfig(vocab_size=30528, hidden_size=self.WIDTH, num_hidden_layers=self.DEPTH, num_attention_heads=8, intermediate_size=4 * self.WIDTH,
                              hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        self.model = BertForMaskedLM(settings).cuda().bfloat16()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=True)
        self.ema = (EmaAtOnce if self.repaired(1) else EmaOfState)(self.model, 0.999)
        self.tokens = torch.randint(200, 30000, (64, self.BATCH, self.LENGTH), device="cuda")

    def mask(self, tokens):
        if self.repaired(2):
            draw, words = torch.rand(tokens.shape, device="cuda"), torch.randint(200, 30000, tokens.shape, device="cuda")
            inputs = torch.where(draw < 0.12, 103, torch.where(draw < 0.135, words, tokens))
            return inputs, torch.where(draw < 0.15, tokens, -100)
        inputs, labels = tokens.clone(), tokens.clone()
        chosen = torch.bernoulli(torch.full(tokens.shape, 0.15)).bool()
        masked = torch.bernoulli(torch.full(tokens.shape, 0.8)).bool() & chosen
        swapped = (torch.bernoulli(torch.full(tokens.shape, 0.5)).bool() & chosen & ~masked).to("cuda")  # FAULT 2
        labels.masked_fill_(~chosen.to("cuda"), -100)  # FAULT 2
        inputs.masked_fill_(masked.to("cuda"), 103)  # FAULT 2
        inputs[swapped] = torch.randint(200, 30000, tokens.shape, device="cuda")[swapped]  # FAULT 2
        return inputs, labels

    def train(self, steps):
        for step in steps:
            inputs, labels = self.mask(self.tokens[step % 64])  # SEEN 2
            self.model(input_ids=inputs, labels=labels).loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.ema.update(self.model)  # SEEN 1


class TinyMicrobatches(program.Program):
    """Fine-tuning of a T5 of transformers with batches of two, eight of which make a step, on a GPU with room for all sixteen."""

    family, needs = "judgement", ("transformers",)
    BATCH, PARTS, LENGTH, WIDTH, DEPTH = size(16, 4), size(8, 2), size(128, 8), size(512, 32), size(4, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        from transformers import T5Config, T5ForConditionalGeneration
        settings = T5Config(vocab_size=32128, d_model=self.WIDTH, d_kv=64 if not program.ON_CPU else 8, d_ff=4 * self.WIDTH, num_layers=self.DEPTH, num_heads=8,
                            decoder_start_token_id=0, dropout_rate=0.0)
        self.model = T5ForConditionalGeneration(settings).cuda().bfloat16()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=True)
        self.source, self.target = (torch.randint(1, 32000, (self.BATCH, self.LENGTH), device="cuda") for _ in range(2))

    def train(self, steps):
        parts = 1 if self.repaired() else self.PARTS
        for _ in steps:
            for source, target in zip(self.source.chunk(parts), self.target.chunk(parts)):  # SEEN
                loss = self.model(input_ids=source, labels=target).loss / parts  # FAULT
                loss.backward()  # FAULT
            self.optimizer.step()
            self.optimizer.zero_grad()


class Decoder(nn.Module):
    """A small decoder with a cache of fixed length. `place` is a tensor, so that nothing depends on a value of the host."""

    def __init__(self, width, depth, heads, length, rows, words):
        super().__init__()
        self.heads, self.table, self.positions = heads, nn.Embedding(words, width, **BF16), nn.Embedding(length, width, **BF16)
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width, **BF16) for _ in range(depth))
        self.out = nn.ModuleList(nn.Linear(width, width, **BF16) for _ in range(depth))
        self.mlp = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width, **BF16), nn.GELU(), nn.Linear(4 * width, width, **BF16)) for _ in range(depth))
        self.cache = torch.zeros(depth, 2, rows, heads, length, width // heads, **BF16)
        self.index = torch.arange(length, device="cuda")

    def forward(self, tokens, place):
        x = self.table(tokens) + self.positions(place)
        rows, width = x.shape
        seen = (self.index <= place).view(1, 1, 1, -1)
        for number, (qkv, out, mlp) in enumerate(zip(self.qkv, self.out, self.mlp)):
            q, k, v = (part.view(rows, self.heads, 1, -1) for part in qkv(F.layer_norm(x, (width,))).chunk(3, 1))
            keys, values = self.cache[number]
            keys.index_copy_(2, place.view(1), k)
            values.index_copy_(2, place.view(1), v)
            x = x + out(F.scaled_dot_product_attention(q, keys, values, attn_mask=seen).reshape(rows, width))
            x = x + mlp(F.layer_norm(x, (width,)))
        return x @ self.table.weight.T


def choose_by_hand(scores, beams, words):
    """The best beams of each sentence, picked on the host."""
    values, flat = scores.view(-1, beams * words).topk(2 * beams, dim=1)
    chosen, sources, sums = [], [], []
    for sentence in range(len(values)):
        for rank in range(beams):
            place = flat[sentence, rank].item()  # FAULT of BeamSearch
            sums.append(values[sentence, rank].item())  # FAULT of BeamSearch
            chosen.append(place % words)
            sources.append(sentence * beams + place // words)
    return torch.tensor(chosen, device="cuda"), torch.tensor(sources, device="cuda"), torch.tensor(sums, device="cuda")  # SEEN of BeamSearch


def choose_on_gpu(scores, beams, words):
    values, flat = scores.view(-1, beams * words).topk(beams, dim=1)
    first = torch.arange(0, len(values) * beams, beams, device="cuda").view(-1, 1)
    return (flat % words).flatten(), (first + flat // words).flatten(), values.flatten()


class BeamSearch(program.Program):
    """Beam search over a batch of sentences. The candidates are read value by value to reorder the beams."""

    family = "judgement"
    SENTENCES, BEAMS, WORDS, WIDTH, DEPTH, LENGTH = size(16, 2), size(5, 2), size(8192, 64), size(512, 32), size(6, 1), size(64, 8)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.rows = self.SENTENCES * self.BEAMS
        self.model = Decoder(self.WIDTH, self.DEPTH, 8, self.LENGTH, self.rows, self.WORDS)
        self.places = torch.arange(self.LENGTH, device="cuda")

    @torch.inference_mode()
    def train(self, steps):
        choose = choose_on_gpu if self.repaired() else choose_by_hand
        for step in steps:
            if step % self.LENGTH == 0:
                tokens, sums = torch.ones(self.rows, dtype=torch.long, device="cuda"), torch.zeros(self.rows, device="cuda")
            log_p = self.model(tokens, self.places[step % self.LENGTH]).float().log_softmax(1)
            tokens, sources, sums = choose(sums.view(-1, 1) + log_p, self.BEAMS, self.WORDS)  # SEEN
            self.model.cache.copy_(self.model.cache.index_select(2, sources))


class LoopOverExperts(nn.Module):
    """A mixture of experts, expert by expert, with the tokens of each looked up."""

    def __init__(self, width, experts):
        super().__init__()
        self.router = nn.Linear(width, experts, **BF16)
        self.up = nn.Parameter(0.02 * torch.randn(experts, width, 2 * width, **BF16))
        self.down = nn.Parameter(0.02 * torch.randn(experts, 2 * width, width, **BF16))

    def forward(self, x):
        weights, chosen = self.router(x).softmax(1).max(1)
        out = torch.zeros_like(x)
        for expert in range(len(self.up)):
            rows = torch.where(chosen == expert)[0]  # FAULT of ExpertLoop
            if rows.numel() == 0:
                continue
            y = F.gelu(x[rows] @ self.up[expert]) @ self.down[expert]  # SEEN of ExpertLoop
            out.index_add_(0, rows, y * weights[rows, None])  # SEEN of ExpertLoop
        return x + out


class ExpertCapacity(LoopOverExperts):
    """The same with room for a fixed number of tokens in each expert, so that one product does all."""

    def forward(self, x):
        experts = len(self.up)
        weights, chosen = self.router(x).softmax(1).max(1)
        room = 2 * len(x) // experts
        order = chosen.argsort(stable=True)
        first = torch.searchsorted(chosen[order], torch.arange(experts, device=x.device))
        rank = torch.arange(len(x), device=x.device) - first[chosen[order]]
        places = torch.where(rank < room, chosen[order] * room + rank, experts * room)
        slots = torch.zeros(experts * room + 1, x.shape[1], dtype=x.dtype, device=x.device).index_copy(0, places, x[order])
        y = torch.bmm(F.gelu(torch.bmm(slots[:-1].view(experts, room, -1), self.up)), self.down).flatten(0, 1)
        y = torch.cat((y, y[:1] * 0))[places] * weights[order, None]
        return x + torch.zeros_like(x).index_copy(0, order, y)


class ExpertLoop(program.Program):
    """Layers with a mixture of experts, which a loop visits one by one and asks for its tokens."""

    family = "judgement"
    TOKENS, WIDTH, EXPERTS, DEPTH = size(8192, 64), size(768, 16), size(16, 4), size(4, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        layer = ExpertCapacity if fixed else LoopOverExperts
        self.layers = nn.Sequential(*(layer(self.WIDTH, self.EXPERTS) for _ in range(self.DEPTH))).cuda()
        self.optimizer = torch.optim.AdamW(self.layers.parameters(), lr=1e-5, fused=True)
        self.x = torch.randn(self.TOKENS, self.WIDTH, **BF16)

    def train(self, steps):
        for _ in steps:
            loss = self.layers(self.x).float().square().mean()  # SEEN
            loss.backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class Rollback:
    """Keeps the weights of the last step, in case that the next one diverges."""

    def __init__(self, model, on_gpu):
        self.model, self.on_gpu = model, on_gpu
        self.kept = [value.detach().clone() for value in model.state_dict().values()] if on_gpu else {}

    def keep(self):
        if self.on_gpu:
            torch._foreach_copy_(self.kept, [value.detach() for value in self.model.state_dict().values()])
        else:
            self.kept = {name: value.detach().cpu() for name, value in self.model.state_dict().items()}  # FAULT of SafeWeights


class SafeWeights(program.Program):
    """Training of a small transformer that keeps its weights of the last step on the host."""

    family = "judgement"
    BATCH, LENGTH, WIDTH, DEPTH = size(32, 2), size(512, 16), size(512, 32), size(6, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        layer = nn.TransformerEncoderLayer(self.WIDTH, 8, 4 * self.WIDTH, dropout=0.0, batch_first=True, norm_first=True, **BF16)
        self.model = nn.TransformerEncoder(layer, self.DEPTH, enable_nested_tensor=False)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.rollback = Rollback(self.model, on_gpu=fixed)
        self.x = torch.randn(self.BATCH, self.LENGTH, self.WIDTH, **BF16)

    def train(self, steps):
        for _ in steps:
            self.rollback.keep()  # SEEN
            F.mse_loss(self.model(self.x), self.x).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


def new_gelu(x):
    """GELU as Google's BERT and OpenAI's GPT have it."""
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))  # FAULT of StoryGpt


def tanh_gelu(x):
    return F.gelu(x, approximate="tanh")


class GptBlock(nn.Module):
    def __init__(self, width, heads, gelu):
        super().__init__()
        self.heads, self.gelu = heads, gelu
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norms[0](x)).chunk(3, 2))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(self.gelu(self.up(self.norms[1](x))))  # SEEN of StoryGpt


class StoryGpt(program.Program):
    """A GPT of the size of a lesson, trained as nanoGPT is: mixed precision, weights decayed by group, a warm-up and a cosine of the learning
    rate, gradients clipped, and batches from one long array of tokens."""

    family = "judgement"
    BATCH, LENGTH, WIDTH, HEADS, DEPTH, WORDS = size(12, 2), size(1024, 16), size(768, 32), size(12, 2), size(6, 2), size(50304, 64)

    def __init__(self, fixed):
        super().__init__(fixed)
        blocks = (GptBlock(self.WIDTH, self.HEADS, tanh_gelu if fixed else new_gelu) for _ in range(self.DEPTH))
        self.table, self.positions = nn.Embedding(self.WORDS, self.WIDTH).cuda(), nn.Embedding(self.LENGTH, self.WIDTH).cuda()
        self.body = nn.Sequential(*blocks, nn.LayerNorm(self.WIDTH)).cuda()
        self.parameters = [*self.table.parameters(), *self.positions.parameters(), *self.body.parameters()]
        groups = [{"params": [p for p in self.parameters if p.dim() >= 2], "weight_decay": 0.1}, {"params": [p for p in self.parameters if p.dim() < 2]}]
        self.optimizer = torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
        for embedding in (self.table, self.positions):
            nn.init.normal_(embedding.weight, std=0.02)
        self.text = torch.randint(self.WORDS, (1 << 20,))

    def draw(self):
        starts = torch.randint(len(self.text) - self.LENGTH - 1, (self.BATCH,)).tolist()
        rows = torch.stack([self.text[start:start + self.LENGTH + 1] for start in starts]).pin_memory().to("cuda", non_blocking=True)
        return rows[:, :-1], rows[:, 1:]

    def rate(self, step):
        return 6e-4 * (step + 1) / 20 if step < 20 else 6e-5 + 2.7e-4 * (1 + math.cos(math.pi * min(1.0, (step - 20) / 2000)))

    def train(self, steps):
        places = torch.arange(self.LENGTH, device="cuda")
        x, y = self.draw()
        for step in steps:
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate(step)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = self.body(self.table(x) + self.positions(places)) @ self.table.weight.T  # SEEN
                loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            x, y = self.draw()
            loss.backward()  # SEEN
            nn.utils.clip_grad_norm_(self.parameters, 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            if step % 50 == 49:
                self.last_loss = loss.item()


def rule_by_row(logits, tokens, first_time, end):
    """Whisper's rules for marks of time: they come in pairs, and one is taken if all together are likelier than any word."""
    for row in range(len(tokens)):  # SEEN 1 of Transcripts
        said = tokens[row].tolist()  # FAULT 1 of Transcripts
        if said[-1] >= first_time:
            if said[-2] >= first_time:
                logits[row, first_time:] = -math.inf  # FAULT 1 of Transcripts
            else:
                logits[row, :end] = -math.inf  # FAULT 1 of Transcripts
    log_p = logits.log_softmax(1)
    for row in range(len(tokens)):  # SEEN 1 of Transcripts
        of_times = log_p[row, first_time:].logsumexp(0)  # FAULT 1 of Transcripts
        if of_times > log_p[row, :first_time].max():  # FAULT 1 of Transcripts
            logits[row, :first_time] = -math.inf  # FAULT 1 of Transcripts
    return logits


def rule_by_batch(logits, tokens, first_time, end):
    last, before = (tokens[:, -1:] >= first_time), (tokens[:, -2:-1] >= first_time)
    index = torch.arange(logits.shape[1], device=logits.device)
    logits = logits.masked_fill((last & before & (index >= first_time)) | (last & ~before & (index < end)), -math.inf)
    log_p = logits.log_softmax(1)
    likelier = log_p[:, first_time:].logsumexp(1, keepdim=True) > log_p[:, :first_time].amax(1, keepdim=True)
    return logits.masked_fill(likelier & (index < first_time), -math.inf)


class Transcripts(program.Program):
    """Greedy decoding with a Whisper of transformers, several windows of sound at once, with marks of time between the words. A step is a token."""

    family, faults, needs = "judgement", 2, ("transformers",)
    ROWS, WIDTH, DEPTH, SOUNDS, NEW = size(16, 2), size(768, 32), size(12, 1), size(1500, 20), size(64, 4)
    WORDS, END, FIRST_TIME = size(51865, 128), size(50257, 100), size(50364, 110)

    def __init__(self, fixed):
        super().__init__(fixed)
        from transformers import WhisperConfig, WhisperForConditionalGeneration
        heads = self.WIDTH // 64 if self.WIDTH >= 64 else 2
        settings = WhisperConfig(vocab_size=self.WORDS, d_model=self.WIDTH, encoder_layers=1, decoder_layers=self.DEPTH, encoder_attention_heads=heads,
                                 decoder_attention_heads=heads, encoder_ffn_dim=4 * self.WIDTH, decoder_ffn_dim=4 * self.WIDTH,
                                 max_source_positions=self.SOUNDS, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3)
        self.model = WhisperForConditionalGeneration(settings).cuda().bfloat16().eval()
        self.sounds = torch.randn(self.ROWS, self.SOUNDS, self.WIDTH, **BF16)
        self.prompt = torch.tensor([[3, 4, 5, self.FIRST_TIME]] * self.ROWS, device="cuda")

    def decode(self, step):
        if step % self.NEW == 0:
            self.cache, self.tokens = None, self.prompt
        unread = self.tokens if self.cache is None else self.tokens[:, -1:]
        out = self.model(encoder_outputs=(self.sounds,), decoder_input_ids=unread, past_key_values=self.cache, use_cache=True)  # FAULT 2
        self.cache = out.past_key_values
        rule = rule_by_batch if self.repaired(1) else rule_by_row
        logits = rule(out.logits[:, -1].float(), self.tokens, self.FIRST_TIME, self.END)  # SEEN 1
        self.tokens = torch.cat((self.tokens, logits.argmax(1, keepdim=True)), 1)

    def train(self, steps):
        for step in steps:
            if self.repaired(2):
                with torch.inference_mode():
                    self.decode(step)
            else:
                self.decode(step)  # SEEN 2


program.run(__name__)
