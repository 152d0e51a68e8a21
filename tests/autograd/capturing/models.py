"""Well-known kinds of models, small, as people write them. Needs torch."""

import torch
from torch import nn
from torch.nn import functional as F


class CNN(nn.Module):
    """Two convolutions with pooling, as for digits."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.conv2 = nn.Conv2d(4, 6, 3, stride=2)
        self.fc = nn.Linear(6 * 1 * 1, 5)

    def forward(self, x, y):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.avg_pool2d(F.relu(self.conv2(x)), 1)
        logits = self.fc(torch.flatten(x, 1))
        return F.nll_loss(F.log_softmax(logits, dim=1), y)


class ResidualBlock(nn.Module):
    """ReLU in place and batch norm, as in ResNet."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
                                  nn.MaxPool2d(3, 2, 1))  # fmt: skip
        self.layer1 = ResidualBlock(4, 4, 1)
        self.layer2 = ResidualBlock(4, 6, 2)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(6, 3)

    def forward(self, x):
        x = self.layer2(self.layer1(self.stem(x)))
        return self.fc(torch.flatten(self.pool(x), 1))


class VAE(nn.Module):
    """An encoder of means and variances, a sample, a decoder by transposed convolution."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Conv1d(1, 3, 2, stride=2)
        self.mean, self.logvar = nn.Linear(9, 2), nn.Linear(9, 2)
        self.up = nn.Linear(2, 9)
        self.decoder = nn.ConvTranspose1d(3, 1, 2, stride=2)

    def forward(self, x):
        h = F.elu(self.encoder(x)).flatten(1)
        mean, logvar = self.mean(h), self.logvar(h)
        std = torch.exp(0.5 * logvar)
        z = mean + torch.randn_like(std) * std
        out = torch.sigmoid(self.decoder(self.up(z).view(-1, 3, 3)))
        likelihood = F.binary_cross_entropy(out, torch.sigmoid(x), reduction="sum")
        kl = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())
        return likelihood + kl


class ViT(nn.Module):
    """Patches by a convolution, a class token, an encoder."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, stride=4)
        self.cls = nn.Parameter(torch.randn(1, 1, 8))
        self.positions = nn.Parameter(torch.randn(1, 5, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.positions
        return self.head(self.encoder(x)[:, 0])


class RMSNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(d) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def rotated(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


class LlamaBlock(nn.Module):
    """Grouped heads, rotary positions, SwiGLU."""

    def __init__(self, d=8, heads=4, kv_heads=2):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, d // heads
        self.q_proj = nn.Linear(d, d, bias=False)
        self.k_proj = nn.Linear(d, kv_heads * self.size, bias=False)
        self.v_proj = nn.Linear(d, kv_heads * self.size, bias=False)
        self.o_proj = nn.Linear(d, d, bias=False)
        self.gate_proj, self.up_proj = nn.Linear(d, 12, bias=False), nn.Linear(d, 12, bias=False)
        self.down_proj = nn.Linear(12, d, bias=False)
        self.input_norm, self.post_norm = RMSNorm(d), RMSNorm(d)

    def attend(self, x):
        B, T, _ = x.shape
        q = self.q_proj(x).view(B, T, self.heads, self.size).transpose(1, 2)
        k = self.k_proj(x).view(B, T, self.kv_heads, self.size).transpose(1, 2)
        v = self.v_proj(x).view(B, T, self.kv_heads, self.size).transpose(1, 2)
        angles = torch.arange(T)[:, None] / 100.0 ** (torch.arange(0, self.size, 2) / self.size)
        angles = torch.cat((angles, angles), dim=-1)
        q, k = rotated(q, angles.cos(), angles.sin()), rotated(k, angles.cos(), angles.sin())
        k, v = (t[:, :, None].expand(B, self.kv_heads, 2, T, self.size).reshape(B, self.heads, T, -1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(B, T, -1))

    def forward(self, x):
        x = x + self.attend(self.input_norm(x))
        h = self.post_norm(x)
        return x + self.down_proj(F.silu(self.gate_proj(h)) * self.up_proj(h))


class MixtureOfExperts(nn.Module):
    """The two best experts of each token, in the usual loop over experts."""

    def __init__(self, d=6, experts=4):
        super().__init__()
        self.gate = nn.Linear(d, experts, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, 8), nn.SiLU(), nn.Linear(8, d)) for _ in range(experts))

    def forward(self, x):
        tokens = x.view(-1, x.shape[-1])
        weights, chosen = torch.topk(F.softmax(self.gate(tokens), dim=-1), 2, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(tokens)
        for i, expert in enumerate(self.experts):
            rows, slot = torch.where(chosen == i)
            if len(rows):
                out.index_add_(0, rows, expert(tokens[rows]) * weights[rows, slot, None])
        return out.view(x.shape)


class UNet(nn.Module):
    """Down and up again: group norm, interpolation, transposed convolution, a skip."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.GroupNorm(2, 4)
        self.instance = nn.InstanceNorm2d(4, affine=True)
        self.up = nn.ConvTranspose2d(4, 4, 3, stride=2, padding=1, output_padding=1)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        h = F.silu(self.norm(self.down(x)))
        low = self.up(self.instance(F.max_pool2d(h, 2)))
        smooth = F.interpolate(F.avg_pool2d(h, 2), scale_factor=2, mode="bilinear", align_corners=False)
        return self.out(torch.cat([low + smooth, h], dim=1))


class ManualLSTM(nn.Module):
    """An LSTM cell in a loop, results written into a tensor."""

    def __init__(self, inputs=3, hidden=4):
        super().__init__()
        self.cell = nn.LSTMCell(inputs, hidden)
        self.hidden = hidden

    def forward(self, x):
        h = c = x.new_zeros(x.shape[1], self.hidden)
        out = x.new_empty(len(x), x.shape[1], self.hidden)
        for t in range(len(x)):
            h, c = self.cell(x[t], (h, c))
            out[t] = h
        return out


MODELS = {
    "CNN": lambda: (CNN(), torch.randn(2, 1, 8, 8), torch.tensor([1, 4])),
    "ResNet": lambda: (ResNet(), torch.randn(2, 3, 16, 16)),
    "ResNet, evaluated": lambda: (ResNet().eval(), torch.randn(2, 3, 16, 16)),
    "VAE": lambda: (VAE(), torch.randn(2, 1, 6)),
    "ViT": lambda: (ViT(), torch.randn(2, 3, 8, 8)),
    "Llama block": lambda: (LlamaBlock(), torch.randn(2, 5, 8)),
    "mixture of experts": lambda: (MixtureOfExperts(), torch.randn(2, 4, 6)),
    "U-net": lambda: (UNet(), torch.randn(1, 2, 8, 8)),
    "LSTM": lambda: (nn.LSTM(3, 4, num_layers=2, bidirectional=True), torch.randn(5, 2, 3)),
    "GRU": lambda: (nn.GRU(3, 4, num_layers=2, batch_first=True), torch.randn(2, 5, 3)),
    "RNN": lambda: (nn.RNN(3, 4), torch.randn(5, 2, 3)),
    "LSTM by hand": lambda: (ManualLSTM(), torch.randn(5, 2, 3)),
    "transformer": lambda: (nn.Transformer(8, 2, 1, 1, 16, batch_first=True), *torch.randn(2, 2, 4, 8)),
    "multihead attention": lambda: (nn.MultiheadAttention(8, 2, batch_first=True), *torch.randn(3, 2, 4, 8)),
}
