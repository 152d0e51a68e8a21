"""Well-known architectures beyond those of `models`, small, written as their papers' code usually is. Needs torch."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class ConvNeXtBlock(nn.Module):
    """Depthwise convolution, layer norm on channels last, a scale for each channel."""

    def __init__(self, d=6):
        super().__init__()
        self.dwconv = nn.Conv2d(d, d, 7, padding=3, groups=d)
        self.norm = nn.LayerNorm(d, eps=1e-6)
        self.pwconv1, self.pwconv2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.gamma = nn.Parameter(0.1 * torch.ones(d))

    def forward(self, x):
        y = self.dwconv(x).permute(0, 2, 3, 1)
        y = self.gamma * self.pwconv2(F.gelu(self.pwconv1(self.norm(y))))
        return x + y.permute(0, 3, 1, 2)


class DenseNet(nn.Module):
    """Each layer sees all that came before."""

    def __init__(self, d=4, growth=3, layers=3):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(d + i * growth), nn.ReLU(inplace=True),
                          nn.Conv2d(d + i * growth, growth, 3, padding=1, bias=False))
            for i in range(layers))  # fmt: skip
        width = d + layers * growth
        self.transition = nn.Sequential(nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, 4, 1), nn.AvgPool2d(2, 2))
        self.classifier = nn.Linear(4, 3)

    def forward(self, x):
        features = [x]
        for layer in self.layers:
            features.append(layer(torch.cat(features, 1)))
        out = F.relu(self.transition(torch.cat(features, 1)), inplace=True)
        out = F.adaptive_avg_pool2d(out, (1, 1))
        return self.classifier(torch.flatten(out, 1))


class MobileNetBlock(nn.Module):
    """An inverted residual: expand, depthwise, squeeze and excite, project."""

    def __init__(self, d=4, wide=8):
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(d, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6())
        self.depthwise = nn.Sequential(
            nn.Conv2d(wide, wide, 3, 1, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6()
        )
        self.reduce, self.back = nn.Conv2d(wide, 2, 1), nn.Conv2d(2, wide, 1)
        self.project = nn.Sequential(nn.Conv2d(wide, d, 1, bias=False), nn.BatchNorm2d(d))

    def forward(self, x):
        y = self.depthwise(self.expand(x))
        scale = torch.sigmoid(self.back(F.relu(self.reduce(F.adaptive_avg_pool2d(y, 1)))))
        return x + self.project(scale * y)


class EfficientNetBlock(nn.Module):
    """SiLU, squeeze and excite by a sigmoid, and a path that is dropped at random."""

    def __init__(self, d=4):
        super().__init__()
        self.conv = nn.Conv2d(d, d, 3, padding=1, groups=2)
        self.bn = nn.BatchNorm2d(d, eps=1e-3, momentum=0.01)
        self.down, self.up = nn.Conv2d(d, 1, 1), nn.Conv2d(1, d, 1)

    def forward(self, x):
        y = F.silu(self.bn(self.conv(x)), inplace=True)
        y = y * torch.sigmoid(self.up(F.silu(self.down(y.mean((2, 3), keepdim=True)))))
        keep = torch.empty((len(y), 1, 1, 1)).bernoulli_(0.7)
        return x + y * keep.div_(0.7)


class DCGAN(nn.Module):
    """A generator of transposed convolutions judged by a discriminator of strided ones."""

    def __init__(self, z=3):
        super().__init__()
        self.generator = nn.Sequential(
            nn.ConvTranspose2d(z, 6, 3, 1, 0, bias=False), nn.BatchNorm2d(6), nn.ReLU(True),
            nn.ConvTranspose2d(6, 1, 4, 2, 1, bias=False), nn.Tanh())  # fmt: skip
        self.discriminator = nn.Sequential(
            nn.Conv2d(1, 4, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(4, 1, 3, 1, 0, bias=False))  # fmt: skip

    def forward(self, noise):
        fake = self.generator(noise)
        score = self.discriminator(fake).view(-1)
        return F.binary_cross_entropy_with_logits(score, torch.ones_like(score))


class BERT(nn.Module):
    """Three embeddings, attention with an additive mask, a head whose weights are the table of words."""

    def __init__(self, vocabulary=9, d=8, heads=2):
        super().__init__()
        self.word = nn.Embedding(vocabulary, d, padding_idx=0)
        self.position, self.kind = nn.Embedding(8, d), nn.Embedding(2, d)
        self.norm = nn.LayerNorm(d, eps=1e-12)
        self.query, self.key, self.value, self.dense = (nn.Linear(d, d) for _ in range(4))
        self.out_norm, self.pooler = nn.LayerNorm(d), nn.Linear(d, d)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.heads = heads
        self.dropout = nn.Dropout(0.1)

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, ids, kinds):
        mask = (ids != 0)[:, None, None, :]
        places = torch.arange(ids.shape[1]).expand_as(ids)
        x = self.dropout(self.norm(self.word(ids) + self.kind(kinds) + self.position(places)))
        scores = (
            self.split(self.query(x)) @ self.split(self.key(x)).transpose(-1, -2) / math.sqrt(x.shape[-1] // self.heads)
        )
        scores = scores + (1.0 - mask.to(scores.dtype)) * torch.finfo(scores.dtype).min
        context = (self.dropout(scores.softmax(-1)) @ self.split(self.value(x))).permute(0, 2, 1, 3).contiguous()
        x = self.out_norm(x + self.dense(context.view(*x.shape)))
        pooled = torch.tanh(self.pooler(x[:, 0]))
        logits = x @ self.word.weight.T + self.bias
        labels = torch.where(torch.rand(ids.shape) < 0.5, ids, -100)
        labels[:, 0] = ids[:, 0]
        return F.cross_entropy(logits.transpose(1, 2), labels) + pooled.pow(2).mean()


class T5Attention(nn.Module):
    """No scaling; a bias for each distance, in buckets that grow with it."""

    def __init__(self, d=8, heads=2, buckets=8):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.relative_attention_bias = nn.Embedding(buckets, heads)
        self.weight = nn.Parameter(torch.ones(d))
        self.heads, self.buckets = heads, buckets

    def bucket(self, distance):
        half = self.buckets // 2
        found = (distance > 0).long() * half
        distance = distance.abs()
        exact = half // 2
        far = exact + (torch.log(distance.clamp(min=1) / exact) / math.log(16 / exact) * (half - exact)).long()
        return found + torch.where(distance < exact, distance, far.clamp(max=half - 1))

    def forward(self, x):
        variance = x.pow(2).mean(-1, keepdim=True)
        h = self.weight * (x * torch.rsqrt(variance + 1e-6))
        q, k, v = (f(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        places = torch.arange(x.shape[1])
        bias = self.relative_attention_bias(self.bucket(places[None] - places[:, None])).permute(2, 0, 1)[None]
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) + bias
        weights = F.softmax(scores, dim=-1)
        return x + self.o((weights @ v).transpose(1, 2).flatten(2))


class TransformerXL(nn.Module):
    """Attention over a memory of earlier states, positions by the shift of a padded tensor."""

    def __init__(self, d=8, heads=2):
        super().__init__()
        self.heads, self.size = heads, d // heads
        self.qkv, self.r, self.o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False), nn.Linear(d, d)
        self.r_w_bias, self.r_r_bias = (nn.Parameter(torch.randn(heads, self.size)) for _ in range(2))
        self.norm = nn.LayerNorm(d)

    def shift(self, x):
        zero = torch.zeros((*x.shape[:3], 1), dtype=x.dtype)
        padded = torch.cat([zero, x], dim=3)
        padded = padded.view(*x.shape[:2], x.shape[3] + 1, x.shape[2])
        return padded[:, :, 1:].view_as(x)

    def forward(self, x, memory):
        B, T, d = x.shape
        whole = torch.cat([memory.detach(), x], 1)
        K = whole.shape[1]
        q, k, v = torch.chunk(self.qkv(whole), 3, dim=-1)
        q, k, v = (t.view(B, -1, self.heads, self.size) for t in (q[:, -T:], k, v))
        places = torch.arange(K - 1, -1, -1.0)
        angles = torch.outer(places, 1 / 10000 ** (torch.arange(0.0, d, 2) / d))
        r = self.r(torch.cat([angles.sin(), angles.cos()], -1)).view(K, self.heads, self.size)
        content = torch.einsum("bind,bjnd->bnij", q + self.r_w_bias, k)
        position = self.shift(torch.einsum("bind,jnd->bnij", q + self.r_r_bias, r))
        scores = (content + position) / self.size**0.5
        mask = torch.triu(torch.ones(T, K, dtype=torch.bool), 1 + K - T)
        weights = scores.masked_fill(mask[None, None], float("-inf")).softmax(-1)
        out = torch.einsum("bnij,bjnd->bind", weights, v).reshape(B, T, d)
        return self.norm(x + self.o(out))


class Mamba(nn.Module):
    """A selective state space: a causal depthwise convolution, then a recurrence along time."""

    def __init__(self, d=4, state=3, kernel=3):
        super().__init__()
        self.in_proj = nn.Linear(d, 2 * d, bias=False)
        self.conv1d = nn.Conv1d(d, d, kernel, groups=d, padding=kernel - 1)
        self.x_proj, self.dt_proj = nn.Linear(d, 1 + 2 * state, bias=False), nn.Linear(1, d)
        self.A_log = nn.Parameter(torch.log(torch.arange(1.0, state + 1)).repeat(d, 1))
        self.D = nn.Parameter(torch.ones(d))
        self.out_proj = nn.Linear(d, d, bias=False)
        self.state = state

    def forward(self, u):
        B, T, d = u.shape
        x, z = self.in_proj(u).chunk(2, dim=-1)
        x = F.silu(self.conv1d(x.transpose(1, 2))[..., :T].transpose(1, 2))
        dt, Bs, Cs = self.x_proj(x).split([1, self.state, self.state], dim=-1)
        dt = F.softplus(self.dt_proj(dt))
        A = -torch.exp(self.A_log.float()).to(u.dtype)
        decay = torch.exp(torch.einsum("btd,dn->btdn", dt, A))
        drive = torch.einsum("btd,btn,btd->btdn", dt, Bs, x)
        h, out = u.new_zeros(B, d, self.state), []
        for t in range(T):
            h = decay[:, t] * h + drive[:, t]
            out.append(torch.einsum("bdn,bn->bd", h, Cs[:, t]))
        y = torch.stack(out, 1) + x * self.D
        return self.out_proj(y * F.silu(z))


class GAT(nn.Module):
    """Graph attention: a softmax over the edges of each node, by scatter."""

    def __init__(self, d=3, out=4, heads=2):
        super().__init__()
        self.lin = nn.Linear(d, heads * out, bias=False)
        self.source, self.target = (nn.Parameter(torch.randn(1, heads, out)) for _ in range(2))
        self.heads, self.out = heads, out

    def forward(self, x, edges):
        h = self.lin(x).view(-1, self.heads, self.out)
        score = ((h * self.source).sum(-1))[edges[0]] + ((h * self.target).sum(-1))[edges[1]]
        score = F.leaky_relu(score, 0.2)
        to = edges[1][:, None].expand_as(score)
        largest = torch.full((len(x), self.heads), -torch.inf).scatter_reduce(0, to, score.detach(), "amax")
        e = torch.exp(score - largest[edges[1]])
        total = torch.zeros(len(x), self.heads).scatter_add_(0, to, e)
        weight = e / (total[edges[1]] + 1e-16)
        out = torch.zeros_like(h).index_add(0, edges[1], h[edges[0]] * weight[..., None])
        return F.elu(out.flatten(1))


class GraphSAGE(nn.Module):
    """The mean, and the largest, of the neighbours."""

    def __init__(self, d=3):
        super().__init__()
        self.own, self.mean, self.top = nn.Linear(d, 4), nn.Linear(d, 4, bias=False), nn.Linear(d, 4, bias=False)

    def forward(self, x, edges):
        to = edges[1][:, None].expand(-1, x.shape[1])
        mean = torch.zeros_like(x).scatter_reduce(0, to, x[edges[0]], "mean", include_self=False)
        top = torch.zeros_like(x).scatter_reduce(0, to, x[edges[0]], "amax", include_self=False)
        return F.normalize(self.own(x) + self.mean(mean) + self.top(top), dim=-1)


class Wav2Vec(nn.Module):
    """A stack of strided convolutions over sound, weight-normed positions, a quantizer that rounds straight through."""

    def __init__(self, d=4):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(1, d, 5, 3, bias=False), nn.Conv1d(d, d, 3, 2, bias=False)])
        self.norm = nn.GroupNorm(d, d)
        self.position = nn.utils.parametrizations.weight_norm(nn.Conv1d(d, d, 4, padding=2, groups=2), dim=2)
        self.codes = nn.Parameter(torch.rand(1, 5, d))
        self.logits = nn.Linear(d, 5)

    def forward(self, sound):
        x = F.gelu(self.norm(self.convs[0](sound[:, None])))
        x = F.gelu(self.convs[1](x))
        x = x + F.gelu(self.position(x)[..., :-1])
        x = x.transpose(1, 2)
        noise = -torch.empty_like(self.logits(x)).exponential_().log()
        soft = ((self.logits(x) + noise) / 2).softmax(-1)
        chosen = soft @ self.codes[0]
        similar = torch.cosine_similarity(x, chosen, dim=-1)
        return -(similar / 0.1).logsumexp(-1).mean()


class NeRF(nn.Module):
    """Positions as sines, an MLP, colours added up along each ray by how much light is left."""

    def __init__(self, d=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3 + 3 * 2 * 2, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())
        self.density, self.colour = nn.Linear(d, 1), nn.Linear(d, 3)

    def forward(self, points, depths):
        encoded = torch.cat(
            [points, *(f(2.0**i * math.pi * points) for i in range(2) for f in (torch.sin, torch.cos))], -1
        )
        h = self.layers(encoded)
        sigma, rgb = F.relu(self.density(h)[..., 0]), torch.sigmoid(self.colour(h))
        steps = torch.cat([depths[..., 1:] - depths[..., :-1], torch.full_like(depths[..., :1], 1e10)], -1)
        alpha = 1.0 - torch.exp(-sigma * steps)
        left = torch.cumprod(torch.cat([torch.ones_like(alpha[..., :1]), 1.0 - alpha + 1e-10], -1), -1)[..., :-1]
        weights = alpha * left
        return (weights[..., None] * rgb).sum(-2), weights.sum(-1)


class RealNVP(nn.Module):
    """A normalizing flow: coupling layers, masks, and the logarithm of the density."""

    def __init__(self, d=4):
        super().__init__()
        self.scale, self.shift = (
            nn.ModuleList(nn.Sequential(nn.Linear(d, 6), nn.Tanh(), nn.Linear(6, d)) for _ in range(2))
            for _ in range(2)
        )
        self.register_buffer("mask", torch.tensor([[1.0, 0.0] * (d // 2), [0.0, 1.0] * (d // 2)]))

    def forward(self, x):
        log_det = x.new_zeros(x.shape[0])
        for mask, scale, shift in zip(self.mask, self.scale, self.shift):
            kept = x * mask
            s = torch.tanh(scale(kept)) * (1 - mask)
            x = kept + (1 - mask) * (x * torch.exp(s) + shift(kept))
            log_det += s.sum(dim=1)
        prior = torch.distributions.MultivariateNormal(torch.zeros(x.shape[1]), torch.eye(x.shape[1]))
        return -(prior.log_prob(x) + log_det).mean()


class DiffusionUNet(nn.Module):
    """Time by sines, group norm, attention over pixels, nearest upsampling."""

    def __init__(self, d=4):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(4, d), nn.SiLU(), nn.Linear(d, 2 * d))
        self.first = nn.Conv2d(1, d, 3, padding=1)
        self.norm = nn.GroupNorm(2, d)
        self.down = nn.Conv2d(d, d, 3, stride=2, padding=1)
        self.attend = nn.MultiheadAttention(d, 2, batch_first=True)
        self.up, self.last = nn.Conv2d(d, d, 3, padding=1), nn.Conv2d(2 * d, 1, 3, padding=1)

    def forward(self, noisy, t, noise):
        angles = t[:, None].to(noisy.dtype) * torch.exp(-math.log(100) * torch.arange(2) / 2)
        scale, shift = self.time(torch.cat([angles.sin(), angles.cos()], -1))[:, :, None, None].chunk(2, 1)
        h = self.first(noisy)
        h = F.silu(self.norm(h) * (scale + 1) + shift)
        low = self.down(h)
        B, C, H, W = low.shape
        pixels = low.flatten(2).transpose(1, 2)
        low = low + self.attend(pixels, pixels, pixels, need_weights=False)[0].transpose(1, 2).reshape(B, C, H, W)
        high = self.up(F.interpolate(low, scale_factor=2.0, mode="nearest"))
        return F.mse_loss(self.last(torch.cat([high, h], 1)), noise)


class Seq2Seq(nn.Module):
    """A packed encoder, additive attention, a decoder cell fed with its own best guess."""

    def __init__(self, vocabulary=7, d=4):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, d)
        self.encoder, self.decoder = nn.GRU(d, d, batch_first=True), nn.GRUCell(2 * d, d)
        self.W, self.U, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, 1)
        self.out = nn.Linear(d, vocabulary)

    def forward(self, source, lengths, target):
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(source), lengths, batch_first=True, enforce_sorted=False)
        states, h = self.encoder(packed)
        states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
        h, word, loss = h[0], target[:, 0], 0.0
        mask = torch.arange(states.shape[1])[None] >= lengths[:, None]
        for t in range(1, target.shape[1]):
            scores = self.v(torch.tanh(self.W(states) + self.U(h)[:, None]))[..., 0]
            weights = scores.masked_fill(mask, -1e9).softmax(-1)
            context = torch.bmm(weights[:, None], states)[:, 0]
            h = self.decoder(torch.cat([self.embed(word), context], -1), h)
            logits = self.out(h)
            loss = loss + F.cross_entropy(logits, target[:, t], label_smoothing=0.1)
            word = logits.argmax(-1)
        return loss / (target.shape[1] - 1)


class TCN(nn.Module):
    """Dilated causal convolutions with weight norm and a residual."""

    def __init__(self, d=3):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.utils.parametrizations.weight_norm(nn.Conv1d(d, d, 2, padding=2**i, dilation=2**i)) for i in range(3)
        )
        self.dropout = nn.Dropout1d(0.3)

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = F.relu(x + self.dropout(F.relu(layer(x)[..., : -(2**i)])))
        return x


class Perceiver(nn.Module):
    """A few learnt latents attend to many inputs, then to themselves."""

    def __init__(self, inputs=3, d=8):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(4, d) * 0.02)
        self.cross = nn.MultiheadAttention(d, 2, kdim=inputs, vdim=inputs, batch_first=True)
        self.own = nn.TransformerEncoderLayer(d, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(d, 2)

    def forward(self, x):
        latents = self.latents.unsqueeze(0).repeat(len(x), 1, 1)
        latents = latents + self.cross(latents, x, x)[0]
        for _ in range(2):
            latents = self.own(latents)
        return self.head(latents.mean(dim=1))


class Mixer(nn.Module):
    """MLPs over patches, then over channels."""

    def __init__(self, patches=4, d=6):
        super().__init__()
        self.patch = nn.Unfold(2, stride=2)
        self.embed = nn.Linear(3 * 4, d)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.tokens = nn.Sequential(nn.Linear(patches, 8), nn.GELU(), nn.Linear(8, patches))
        self.channels = nn.Sequential(nn.Linear(d, 8), nn.GELU(approximate="tanh"), nn.Linear(8, d))

    def forward(self, x):
        x = self.embed(self.patch(x).mT)
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(self.norm2(x))
        return x.mean(1)


class Siamese(nn.Module):
    """One encoder, used three times; the distance of a triplet, and a contrastive loss of all pairs."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 3, 3), nn.PReLU(), nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(12, 4)
        )

    def forward(self, anchor, positive, negative):
        a, p, n = self.encoder(anchor), self.encoder(positive), self.encoder(negative)
        far = torch.cdist(a, n)
        a, p = F.normalize(a), F.normalize(p)
        logits = a @ p.T / 0.1
        contrast = F.cross_entropy(logits, torch.arange(len(a)))
        return F.triplet_margin_loss(a, p, n, margin=1.0) + contrast + F.relu(1 - far).mean()


class Autoencoder(nn.Module):
    """Max pooling whose places guide the unpooling, pixels that become resolution."""

    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv2d(1, 4, 3, padding=1), nn.ConvTranspose2d(4, 4, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)
        self.pad = nn.ReflectionPad2d(1)
        self.last = nn.Conv2d(1, 1, 3)

    def forward(self, x):
        h, places = F.max_pool2d(torch.relu(self.down(x)), 2, return_indices=True)
        h = F.max_unpool2d(h, places, 2)
        h = F.avg_pool2d(self.up(h), 2)
        out = self.last(self.pad(self.shuffle(h)))
        return F.smooth_l1_loss(out, x) + F.l1_loss(out, x)


class VQVAE(nn.Module):
    """The nearest code, straight through, with the two losses that teach it."""

    def __init__(self, d=3, codes=5):
        super().__init__()
        self.encode, self.decode = nn.Conv1d(1, d, 3, padding=1), nn.Conv1d(d, 1, 3, padding=1)
        self.codes = nn.Embedding(codes, d)

    def forward(self, x):
        z = self.encode(x).permute(0, 2, 1).contiguous()
        flat = z.view(-1, z.shape[-1])
        distance = (flat**2).sum(1, keepdim=True) + (self.codes.weight**2).sum(1) - 2 * flat @ self.codes.weight.t()
        nearest = distance.argmin(1)
        chosen = self.codes(nearest).view(z.shape)
        loss = F.mse_loss(chosen, z.detach()) + 0.25 * F.mse_loss(chosen.detach(), z)
        out = self.decode((z + (chosen - z).detach()).permute(0, 2, 1))
        return loss + F.huber_loss(out, x)


class DeepFM(nn.Module):
    """Bags of features, pairs of them by the square of a sum, and an MLP."""

    def __init__(self, fields=9, d=3):
        super().__init__()
        self.table, self.linear = nn.Embedding(fields, d), nn.EmbeddingBag(fields, 1, mode="sum")
        self.deep = nn.Sequential(
            nn.Linear(3 * d, 4), nn.BatchNorm1d(4), nn.SELU(), nn.AlphaDropout(0.2), nn.Linear(4, 1)
        )

    def forward(self, ids, clicked):
        e = self.table(ids)
        pairs = 0.5 * (e.sum(1).square() - e.square().sum(1)).sum(1)
        score = self.linear(ids)[:, 0] + pairs + self.deep(e.flatten(1)).squeeze(-1)
        return F.binary_cross_entropy(torch.sigmoid(score), clicked)


class ActorCritic(nn.Module):
    """PPO: distributions, a clipped ratio, an entropy."""

    def __init__(self):
        super().__init__()
        self.body, self.policy, self.value = nn.Linear(3, 6), nn.Linear(6, 4), nn.Linear(6, 1)
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, states, actions, old, advantages, returns):
        h = torch.tanh(self.body(states))
        chosen = torch.distributions.Categorical(logits=self.policy(h))
        ratio = (chosen.log_prob(actions) - old).exp()
        gain = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        values = torch.distributions.Normal(self.value(h).squeeze(-1), self.log_std.exp())
        return -gain - 0.5 * values.log_prob(returns).mean() - 0.01 * chosen.entropy().mean()


class SpectralNorm(nn.Module):
    """A discriminator whose weights are divided by their largest singular value."""

    def __init__(self):
        super().__init__()
        self.one = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 5))
        self.two = nn.utils.parametrizations.spectral_norm(nn.Linear(5, 1))

    def forward(self, real, fake):
        score = lambda x: self.two(F.leaky_relu(self.one(x), 0.1))  # noqa: E731
        return F.relu(1 - score(real)).mean() + F.relu(1 + score(fake)).mean()


EDGES = torch.tensor([[0, 1, 2, 3, 0, 2, 4, 4], [1, 2, 3, 0, 2, 0, 1, 4]])


def ids(*shape, below, seed=0):
    return torch.randint(1, below, shape, generator=torch.Generator().manual_seed(seed))


ZOO = {
    "ConvNeXt": lambda: (ConvNeXtBlock(), torch.randn(1, 6, 5, 5)),
    "DenseNet": lambda: (DenseNet(), torch.randn(2, 4, 4, 4)),
    "MobileNet": lambda: (MobileNetBlock(), torch.randn(2, 4, 5, 5)),
    "EfficientNet": lambda: (EfficientNetBlock(), torch.randn(3, 4, 4, 4)),
    "DCGAN": lambda: (DCGAN(), torch.randn(2, 3, 1, 1)),
    "BERT": lambda: (BERT(), torch.tensor([[3, 5, 2, 8, 0], [1, 4, 7, 0, 0]]), ids(2, 5, below=2) - 1),
    "T5": lambda: (T5Attention(), torch.randn(2, 6, 8)),
    "Transformer-XL": lambda: (TransformerXL(), torch.randn(2, 3, 8), torch.randn(2, 2, 8)),
    "Mamba": lambda: (Mamba(), torch.randn(2, 4, 4)),
    "GAT": lambda: (GAT(), torch.randn(5, 3), EDGES),
    "GraphSAGE": lambda: (GraphSAGE(), torch.randn(5, 3), EDGES),
    "wav2vec": lambda: (Wav2Vec(), torch.randn(2, 40)),
    "NeRF": lambda: (NeRF(), torch.randn(2, 4, 3), torch.sort(torch.rand(2, 4))[0]),
    "RealNVP": lambda: (RealNVP(), torch.randn(3, 4)),
    "diffusion U-net": lambda: (
        DiffusionUNet(),
        torch.randn(2, 1, 4, 4),
        torch.tensor([3, 60]),
        torch.randn(2, 1, 4, 4),
    ),
    "seq2seq": lambda: (Seq2Seq(), ids(2, 4, below=7), torch.tensor([3, 4]), ids(2, 4, below=7, seed=1)),
    "TCN": lambda: (TCN(), torch.randn(2, 3, 8)),
    "Perceiver": lambda: (Perceiver(), torch.randn(2, 7, 3)),
    "MLP-Mixer": lambda: (Mixer(), torch.randn(2, 3, 4, 4)),
    "Siamese": lambda: (Siamese(), *torch.randn(3, 2, 1, 6, 6)),
    "autoencoder": lambda: (Autoencoder(), torch.randn(2, 1, 4, 4)),
    "VQ-VAE": lambda: (VQVAE(), torch.randn(2, 1, 6)),
    "DeepFM": lambda: (DeepFM(), ids(4, 3, below=9), torch.rand(4)),
    "PPO": lambda: (
        ActorCritic(),
        torch.randn(4, 3),
        ids(4, below=4),
        torch.randn(4) - 1.4,
        torch.randn(4),
        torch.randn(4),
    ),
    "spectral norm": lambda: (SpectralNorm(), *torch.randn(2, 4, 3)),
}
