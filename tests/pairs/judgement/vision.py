"""Programs of the judgement set that look at pictures."""

import collections
import math
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import program
from program import size


class Distillation(program.Program):
    """A small timm model learns from a large one. The teacher's forward pass is recorded by autograd, and the backward pass goes through
    all of it. The log has the accuracy of each batch."""

    family, faults, needs = "judgement", 2, ("timm", "torchvision")
    BATCH, EDGE, LARGE = size(160, 2), size(160, 32), size("resnet50", "resnet18")

    def __init__(self, fixed):
        super().__init__(fixed)
        import timm
        self.teacher = timm.create_model(self.LARGE, num_classes=1000).cuda().to(memory_format=torch.channels_last)
        self.student = timm.create_model("resnet18", num_classes=1000).cuda().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=0.01, momentum=0.9, fused=True)
        self.images = torch.randn(self.BATCH, 3, self.EDGE, self.EDGE, device="cuda").to(memory_format=torch.channels_last)
        self.labels = torch.randint(1000, (self.BATCH,), device="cuda")
        self.log = collections.deque(maxlen=100)

    def ask_teacher(self):
        if self.repaired(1):
            with torch.no_grad():
                return self.teacher(self.images)
        return self.teacher(self.images)  # FAULT 1

    def note(self, logits):
        hits = (logits.argmax(1) == self.labels).float().mean()
        self.log.append(hits.detach() if self.repaired(2) else round(100 * hits.item(), 2))  # FAULT 2

    def train(self, steps):
        for _ in steps:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                hints = self.ask_teacher()  # SEEN 1
                logits = self.student(self.images)
                soft = F.kl_div(F.log_softmax(logits / 4, 1), F.softmax(hints / 4, 1), reduction="batchmean") * 16
                loss = soft + F.cross_entropy(logits, self.labels)
            loss.backward()  # SEEN 1
            self.note(logits)  # SEEN 2
            self.optimizer.step()
            self.optimizer.zero_grad()


class ConfusionOnHost(program.Program):
    """A segmentation model of segmentation_models_pytorch. The mean IoU of each training batch is computed by NumPy."""

    family, needs = "judgement", ("segmentation_models_pytorch", "timm", "torchvision")
    BATCH, EDGE, CLASSES = size(24, 2), size(256, 32), 19

    def __init__(self, fixed):
        super().__init__(fixed)
        import segmentation_models_pytorch as smp
        self.model = smp.Unet("resnet18", encoder_weights=None, classes=self.CLASSES).cuda().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.images = torch.randn(self.BATCH, 3, self.EDGE, self.EDGE, device="cuda").to(memory_format=torch.channels_last)
        self.masks = torch.randint(self.CLASSES, (self.BATCH, self.EDGE, self.EDGE), device="cuda")
        self.matrix = np.zeros((self.CLASSES, self.CLASSES), dtype=np.int64)
        self.sums = torch.zeros(self.CLASSES ** 2, device="cuda")

    def count(self, logits):
        classes = logits.argmax(1)
        if self.repaired():
            cells = (self.masks * self.CLASSES + classes).flatten()
            self.sums.scatter_add_(0, cells, torch.ones_like(cells, dtype=self.sums.dtype))
            return
        predicted, wanted = classes.cpu().numpy(), self.masks.cpu().numpy()  # FAULT
        cells = self.CLASSES * wanted.ravel() + predicted.ravel()  # SEEN
        self.matrix += np.bincount(cells, minlength=self.CLASSES ** 2).reshape(self.CLASSES, -1)  # FAULT

    def train(self, steps):
        for _ in steps:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = self.model(self.images)
                loss = F.cross_entropy(logits, self.masks)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.count(logits.detach())  # SEEN


def erase_each(images):
    """Random erasing, image by image, as it is written for a data set and then called for a batch on the GPU."""
    count, channels, height, width = images.shape
    for image in images:  # SEEN of RandomErasing
        if random.random() > 0.8:
            continue
        h, w = random.randint(height // 8, height // 3), random.randint(width // 8, width // 3)
        top, left = random.randint(0, height - h), random.randint(0, width - w)
        image[:, top:top + h, left:left + w] = torch.randn(channels, h, w, device=image.device)  # FAULT of RandomErasing
    return images


def erase_all(images):
    count, _, height, width = images.shape
    draw = torch.rand(5, count, 1, 1, 1, device=images.device)
    h, w = height * (0.125 + 0.2 * draw[0]), width * (0.125 + 0.2 * draw[1])
    top, left = (height - h) * draw[2], (width - w) * draw[3]
    y, x = torch.arange(height, device=images.device).view(1, 1, -1, 1), torch.arange(width, device=images.device).view(1, 1, 1, -1)
    inside = (y >= top) & (y < top + h) & (x >= left) & (x < left + w) & (draw[4] < 0.8)
    return torch.where(inside, torch.randn_like(images), images)


class RandomErasing(program.Program):
    """A ViT of vit-pytorch, with random erasing of each image of the batch, one after the other."""

    family, needs = "judgement", ("vit_pytorch", "einops")
    BATCH, EDGE, WIDTH, DEPTH = size(384, 4), size(96, 32), size(384, 32), size(6, 2)

    def __init__(self, fixed):
        super().__init__(fixed)
        from vit_pytorch import SimpleViT
        self.model = SimpleViT(image_size=self.EDGE, patch_size=8, num_classes=200, dim=self.WIDTH, depth=self.DEPTH, heads=6, mlp_dim=4 * self.WIDTH).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.images = torch.rand(self.BATCH, 3, self.EDGE, self.EDGE, device="cuda")
        self.labels = torch.randint(200, (self.BATCH,), device="cuda")

    def train(self, steps):
        for _ in steps:
            images = self.images.clone()
            images = erase_all(images) if self.repaired() else erase_each(images)  # SEEN
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.cross_entropy(self.model(images), self.labels)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


def tower(channels, depth):
    layers, width = [], 3
    for number in range(depth):
        layers += [nn.Conv2d(width, channels, 3, stride=2 if number % 3 == 0 else 1, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(inplace=True)]
        width = channels
    return nn.Sequential(*layers)


def box_iou(boxes, others):
    low, high = torch.maximum(boxes[..., :, None, :2], others[..., None, :, :2]), torch.minimum(boxes[..., :, None, 2:], others[..., None, :, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    areas = [(each[..., 2:] - each[..., :2]).prod(-1) for each in (boxes, others)]
    return shared / (areas[0][..., :, None] + areas[1][..., None, :] - shared + 1e-6)


class AnchorMatching(program.Program):
    """A detector of one stage. The loss matches anchors image by image, with masks whose size the host has to know."""

    family = "judgement"
    BATCH, EDGE, CHANNELS, BOXES, CLASSES = size(24, 2), size(384, 64), size(128, 8), 20, 8

    def __init__(self, fixed):
        super().__init__(fixed)
        self.body = tower(self.CHANNELS, 12).cuda().to(memory_format=torch.channels_last)
        self.head = nn.Conv2d(self.CHANNELS, 3 * (4 + self.CLASSES), 1).cuda()
        self.optimizer = torch.optim.SGD([*self.body.parameters(), *self.head.parameters()], lr=1e-4, fused=True)
        self.images = torch.randn(self.BATCH, 3, self.EDGE, self.EDGE, device="cuda").to(memory_format=torch.channels_last)
        corners = torch.rand(self.BATCH, self.BOXES, 2, device="cuda") * 0.6
        self.boxes = torch.cat((corners, corners + 0.05 + 0.3 * torch.rand_like(corners)), 2)
        self.classes = torch.randint(self.CLASSES, (self.BATCH, self.BOXES), device="cuda")
        cells = math.ceil(self.EDGE / 16)
        centers = (torch.stack(torch.meshgrid(torch.arange(cells), torch.arange(cells), indexing="ij"), -1).view(-1, 1, 2) + 0.5) / cells
        half = torch.tensor([[0.05, 0.05], [0.1, 0.1], [0.2, 0.2]])
        self.anchors = torch.cat((centers - half, centers + half), -1).view(-1, 4).cuda()

    def loss_by_image(self, offsets, scores):
        total = torch.zeros((), device="cuda")
        for offset, score, boxes, classes in zip(offsets, scores, self.boxes, self.classes):
            best, which = box_iou(self.anchors, boxes).max(1)
            found = best > 0.4
            if not found.any():  # FAULT
                continue
            wanted = boxes[which[found]] - self.anchors[found]  # FAULT
            total = total + F.smooth_l1_loss(offset[found], wanted) + F.cross_entropy(score[found], classes[which[found]])  # FAULT
        return total / self.BATCH

    def loss_of_batch(self, offsets, scores):
        best, which = box_iou(self.anchors.expand(self.BATCH, -1, -1), self.boxes).max(2)
        found = (best > 0.4).float()
        count = found.sum(1).clamp(min=1)
        wanted = self.boxes.gather(1, which[..., None].expand(-1, -1, 4)) - self.anchors
        places = F.smooth_l1_loss(offsets, wanted, reduction="none").mean(2)
        names = F.cross_entropy(scores.transpose(1, 2), self.classes.gather(1, which), reduction="none")
        return (((places + names) * found).sum(1) / count).mean()

    def train(self, steps):
        for _ in steps:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                out = self.head(self.body(self.images))
            out = out.float().permute(0, 2, 3, 1).reshape(self.BATCH, len(self.anchors), -1)
            loss = (self.loss_of_batch if self.repaired() else self.loss_by_image)(out[..., :4], out[..., 4:])  # SEEN
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


def focal_of_all_classes(logits, labels):
    """The focal loss as the paper's formula has it: for each class of each pixel."""
    wanted = F.one_hot(labels, logits.shape[1]).permute(0, 3, 1, 2).float()
    p = torch.sigmoid(logits)  # FAULT of FocalLoss
    p_t = p * wanted + (1 - p) * (1 - wanted)  # FAULT of FocalLoss
    alpha_t = 0.25 * wanted + 0.75 * (1 - wanted)  # FAULT of FocalLoss
    return (-alpha_t * (1 - p_t) ** 2 * torch.log(p_t.clamp(min=1e-6))).mean()  # FAULT of FocalLoss


def focal_of_pixels(logits, labels):
    """The softmax variant: the factors are of pixels, not of classes."""
    log_p = -F.cross_entropy(logits, labels, reduction="none")
    return (-((1 - log_p.exp()) ** 2) * log_p).mean()


class FocalLoss(program.Program):
    """Dense prediction with a focal loss that is written out over pixels and classes."""

    family = "judgement"
    BATCH, EDGE, CLASSES = size(16, 1), size(256, 32), size(32, 4)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.body = tower(64, 3).cuda()
        self.head = nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(64, self.CLASSES, 1)).cuda()
        self.optimizer = torch.optim.SGD([*self.body.parameters(), *self.head.parameters()], lr=1e-3, fused=True)
        self.images = torch.randn(self.BATCH, 3, self.EDGE, self.EDGE, device="cuda")
        self.labels = torch.randint(self.CLASSES, (self.BATCH, self.EDGE, self.EDGE), device="cuda")

    def train(self, steps):
        loss_of = focal_of_pixels if self.repaired() else focal_of_all_classes
        for _ in steps:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = self.head(self.body(self.images))
            loss = loss_of(logits.float(), self.labels)  # SEEN
            loss.backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class LayerNorm2d(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(channels)

    def forward(self, x):
        x = x.permute(0, 2, 3, 1).contiguous()  # FAULT of ConvNextLayout
        return self.norm(x).permute(0, 3, 1, 2).contiguous()  # FAULT of ConvNextLayout


class LayerNormOfLast(LayerNorm2d):
    def forward(self, x):
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvBlock(nn.Module):
    def __init__(self, channels, norm):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 5, padding=2, groups=channels)
        self.norm = norm(channels)
        self.up, self.down = nn.Conv2d(channels, 4 * channels, 1), nn.Conv2d(4 * channels, channels, 1)

    def forward(self, x):
        y = self.norm(self.depthwise(x))  # SEEN of ConvNextLayout
        return x + self.down(F.gelu(self.up(y)))  # SEEN of ConvNextLayout


class ConvNextLayout(program.Program):
    """Blocks of a ConvNeXt in PyTorch's default layout, with a layer norm that moves the channels to the end and back."""

    family = "judgement"
    BATCH, EDGE, WIDTH, DEPTH = size(48, 1), size(56, 16), size(192, 16), size(6, 2)

    def __init__(self, fixed):
        super().__init__(fixed)
        norm = LayerNormOfLast if fixed else LayerNorm2d
        self.model = nn.Sequential(*(ConvBlock(self.WIDTH, norm) for _ in range(self.DEPTH))).cuda().bfloat16()
        self.x = torch.randn(self.BATCH, self.WIDTH, self.EDGE, self.EDGE, device="cuda", dtype=torch.bfloat16)
        if fixed:
            self.model, self.x = self.model.to(memory_format=torch.channels_last), self.x.to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)

    def train(self, steps):
        for _ in steps:
            loss = self.model(self.x).float().square().mean()  # SEEN
            loss.backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class HandMadeScaler(program.Program):
    """A timm MLP-Mixer in half precision. A loss scaler written by hand asks each gradient whether it is finite."""

    family, needs = "judgement", ("timm", "torchvision")
    BATCH, EDGE = size(256, 2), size(224, 64)

    def __init__(self, fixed):
        super().__init__(fixed)
        import timm
        self.model = timm.create_model("mixer_s32_224", img_size=self.EDGE, num_classes=100).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.images = torch.randn(self.BATCH, 3, self.EDGE, self.EDGE, device="cuda")
        self.labels = torch.randint(100, (self.BATCH,), device="cuda")
        self.scaler, self.scale, self.good = torch.amp.GradScaler("cuda"), 1024.0, 0

    def overflowed(self):
        for parameter in self.model.parameters():
            if not torch.isfinite(parameter.grad).all():  # FAULT
                return True
        return False

    def apply(self, loss):
        (loss * self.scale).backward()
        if self.overflowed():  # SEEN
            self.scale, self.good = self.scale / 2, 0
        else:
            torch._foreach_div_([parameter.grad for parameter in self.model.parameters()], self.scale)
            self.optimizer.step()
            self.good += 1
            if self.good % 2000 == 0:
                self.scale *= 2

    def train(self, steps):
        for _ in steps:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = F.cross_entropy(self.model(self.images), self.labels)
            if self.repaired():
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                self.apply(loss)  # SEEN
            self.optimizer.zero_grad()


class FeatureQueue:
    """The last features of a momentum encoder, as a Python queue of vectors."""

    def __init__(self, length, features):
        self.items = collections.deque((torch.randn(features, device="cuda") for _ in range(length)), maxlen=length)

    def tensor(self):
        return torch.stack(list(self.items))  # FAULT of MomentumContrast

    def push(self, batch):
        for row in batch:
            self.items.append(row)  # SEEN of MomentumContrast


class FeatureRing:
    """The same in a tensor that is overwritten in turn."""

    def __init__(self, length, features):
        self.rows, self.next = torch.randn(length, features, device="cuda"), 0

    def tensor(self):
        return self.rows.clone()

    def push(self, batch):
        self.rows[self.next:self.next + len(batch)] = batch
        self.next = (self.next + len(batch)) % len(self.rows)


class MomentumContrast(program.Program):
    """MoCo: two encoders and a queue of negatives, which is a Python deque of one tensor per sample."""

    family = "judgement"
    BATCH, EDGE, QUEUE = size(256, 4), size(96, 32), size(4096, 16)

    def __init__(self, fixed):
        super().__init__(fixed)
        self.query, self.key = ((nn.Sequential(tower(96, 9), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 128))).cuda().to(memory_format=torch.channels_last)
                                for _ in range(2))
        self.key.requires_grad_(False)
        self.optimizer = torch.optim.SGD(self.query.parameters(), lr=0.01, momentum=0.9, fused=True)
        self.queue = (FeatureRing if fixed else FeatureQueue)(self.QUEUE, 128)
        self.images = torch.randn(self.BATCH, 3, self.EDGE, self.EDGE, device="cuda").to(memory_format=torch.channels_last)
        self.zeros = torch.zeros(self.BATCH, dtype=torch.long, device="cuda")

    def train(self, steps):
        for _ in steps:
            with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
                torch._foreach_lerp_(list(self.key.parameters()), list(self.query.parameters()), 0.001)
                keys = F.normalize(self.key(self.images.flip(3)).float(), dim=1)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                queries = F.normalize(self.query(self.images).float(), dim=1)
            negatives = self.queue.tensor()  # SEEN
            logits = torch.cat(((queries * keys).sum(1, keepdim=True), queries @ negatives.T), 1) / 0.07
            F.cross_entropy(logits, self.zeros).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.queue.push(keys)  # SEEN


class CodebookUse(program.Program):
    """A VQ autoencoder with the codebook of vector-quantize-pytorch. Nobody allowed TF32 for its float32 layers, and how much of the
    codebook is used is logged for each batch."""

    family, faults, needs = "judgement", 2, ("vector_quantize_pytorch", "einops", "einx")
    TOKENS, WIDTH, CODES, DEPTH = size(16384, 64), size(1024, 32), size(1024, 16), size(4, 1)

    def __init__(self, fixed):
        super().__init__(fixed)
        from vector_quantize_pytorch import VectorQuantize
        width, layers = self.WIDTH, []
        for _ in range(self.DEPTH):
            layers += [nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)]
        self.encoder, self.decoder = nn.Sequential(*layers, nn.Linear(width, 64)).cuda(), nn.Sequential(nn.Linear(64, width), *layers).cuda()
        self.codebook = VectorQuantize(dim=64, codebook_size=self.CODES, decay=0.99, commitment_weight=0.25).cuda()
        self.optimizer = torch.optim.AdamW({*self.encoder.parameters(), *self.decoder.parameters()}, lr=1e-4, fused=True)
        self.x = torch.randn(1, self.TOKENS, width, device="cuda")
        self.history = collections.deque(maxlen=1000)

    def log_use(self, indices):
        if self.repaired(2):
            used = torch.zeros(self.CODES, device="cuda").index_fill_(0, indices.flatten(), 1.0)
            self.history.append(used.mean())
        else:
            self.history.append(indices.unique().numel() / self.CODES)  # FAULT 2

    def train(self, steps):
        torch.backends.cuda.matmul.allow_tf32 = self.repaired(1)  # FAULT 1
        for _ in steps:
            quantized, indices, extra = self.codebook(self.encoder(self.x))  # SEEN 1
            loss = F.mse_loss(self.decoder(quantized), self.x) + extra.sum()  # SEEN 1
            loss.backward()  # SEEN 1
            self.log_use(indices)  # SEEN 2
            self.optimizer.step()
            self.optimizer.zero_grad()


class RetinaBoxes(program.Program):
    """Detection with the RetinaNet of torchvision: the best candidates of each picture are decoded, and non-maximum suppression runs within
    each class, as the package does it."""

    family, needs = "judgement", ("torchvision",)
    BATCH, EDGE, CLASSES, CANDIDATES, MOST = size(12, 2), size(512, 64), size(12, 4), size(200, 20), size(100, 10)

    def __init__(self, fixed):
        super().__init__(fixed)
        from torchvision import models, ops
        self.ops = ops
        model = models.detection.retinanet_resnet50_fpn(weights=None, weights_backbone=None, num_classes=self.CLASSES).cuda().eval()
        nn.init.normal_(model.head.classification_head.cls_logits.weight, std=0.1)
        self.images = torch.randn(self.BATCH, 3, self.EDGE, self.EDGE, device="cuda").to(torch.bfloat16, memory_format=torch.channels_last)
        picture = models.detection.image_list.ImageList(self.images[:1].float(), [(self.EDGE, self.EDGE)])
        with torch.inference_mode():
            self.anchors = model.anchor_generator(picture, list(model.backbone(picture.tensors).values()))[0]
        self.backbone, self.head = (part.to(torch.bfloat16, memory_format=torch.channels_last) for part in (model.backbone, model.head))
        self.decode = model.box_coder.decode_single

    def candidates(self):
        out = self.head(list(self.backbone(self.images).values()))
        scores, places = out["cls_logits"].float().sigmoid().flatten(1).topk(self.CANDIDATES, dim=1)
        which = places // self.CLASSES
        offsets = out["bbox_regression"].float().gather(1, which[..., None].expand(-1, -1, 4))
        boxes = self.decode(offsets.flatten(0, 1), self.anchors[which.flatten()])
        return scores, self.ops.clip_boxes_to_image(boxes, (self.EDGE, self.EDGE)).view(self.BATCH, -1, 4), places % self.CLASSES

    def of_picture(self, scores, boxes, labels):
        kept = []
        for label in range(self.CLASSES):
            members = torch.where(labels == label)[0]  # FAULT
            if len(members):
                kept.append(members[self.ops.nms(boxes[members], scores[members], 0.5)])  # FAULT
        kept = torch.cat(kept)
        kept = kept[scores[kept].argsort(descending=True)[:self.MOST]]
        return {"boxes": boxes[kept], "scores": scores[kept], "labels": labels[kept]}

    def of_batch(self, scores, boxes, labels):
        groups = labels + self.CLASSES * torch.arange(self.BATCH, device="cuda")[:, None]
        kept = self.ops.batched_nms(boxes.flatten(0, 1), scores.flatten(), groups.flatten(), 0.5)
        best = torch.zeros_like(scores).flatten().index_fill(0, kept, 1.0).view_as(scores) * scores
        scores, order = best.topk(self.MOST, dim=1)
        return {"boxes": boxes.gather(1, order[..., None].expand(-1, -1, 4)), "scores": scores, "labels": labels.gather(1, order)}

    @torch.inference_mode()
    def train(self, steps):
        for _ in steps:
            scores, boxes, labels = self.candidates()
            if self.repaired():
                self.found = self.of_batch(scores, boxes, labels)
            else:
                self.found = [self.of_picture(*parts) for parts in zip(scores, boxes, labels)]  # SEEN


program.run(__name__)
