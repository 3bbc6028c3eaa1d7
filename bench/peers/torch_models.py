# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""The benchmark's models as a PyTorch user would write them: plain modules, fused attention, parameters in fp32.

Under torch.autocast the residual stream has the dtype of the passes, so that it moves half the bytes."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def as_passes(x):
    """In the dtype of autocast, where that is on for the device."""
    kind = x.device.type
    return x.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else x


class Gpt2Block(nn.Module):
    """Pre-norm GPT-2 block (Radford et al. 2019) with biases."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.mlp_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        batch, length, width = x.shape
        heads = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(heads).transpose(1, 2) for part in self.c_attn(x).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, width))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, vocab=50257, context=1024, width=768, layers=12, heads=12):
        super().__init__()
        self.vocab = vocab
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Gpt2Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        self.head.weight = self.wte.weight
        initialize(self, residual=("c_proj", "mlp_proj"), layers=layers)

    def forward(self, ids):
        x = as_passes(self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device)))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


def rotary_angles(length, size, base=10000.0):
    """cos and sin, each [length, size], for the half-split rotary embedding."""
    frequencies = base ** (-torch.arange(0, size, 2, dtype=torch.float32) / size)
    angles = torch.outer(torch.arange(length, dtype=torch.float32), frequencies).repeat(1, 2)
    return angles.cos(), angles.sin()


def rotate(x, cos, sin):
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class RmsNorm(nn.RMSNorm):
    """PyTorch has a fused kernel where the weight has the dtype of the input alone."""

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.eps)


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, kv_heads, mlp, bias=False):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, width // heads
        self.attn_norm, self.mlp_norm = RmsNorm(width, eps=1e-5), RmsNorm(width, eps=1e-5)
        self.q_proj = nn.Linear(width, heads * self.size, bias=bias)
        self.k_proj = nn.Linear(width, kv_heads * self.size, bias=bias)
        self.v_proj = nn.Linear(width, kv_heads * self.size, bias=bias)
        self.o_proj = nn.Linear(heads * self.size, width, bias=False)
        self.gate_proj, self.up_proj = nn.Linear(width, mlp, bias=False), nn.Linear(width, mlp, bias=False)
        self.down_proj = nn.Linear(mlp, width, bias=False)

    def attention(self, x, cos, sin):
        batch, length, width = x.shape
        q = self.q_proj(x).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, self.kv_heads, self.size).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.kv_heads, self.size).transpose(1, 2)
        y = F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True,
                                           enable_gqa=True)
        return self.o_proj(y.transpose(1, 2).contiguous().view(batch, length, width))

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attn_norm(x), cos, sin)
        y = self.mlp_norm(x)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))


class Llama(nn.Module):
    def __init__(self, context, width, layers, heads, kv_heads, mlp, vocab, tied=False, bias=False):
        super().__init__()
        self.vocab = vocab
        self.embed_tokens = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(LlamaBlock(width, heads, kv_heads, mlp, bias) for _ in range(layers))
        self.norm = RmsNorm(width, eps=1e-5)
        self.lm_head = nn.Linear(width, vocab, bias=False)
        if tied:
            self.lm_head.weight = self.embed_tokens.weight
        cos, sin = rotary_angles(context, width // heads)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        initialize(self)

    def forward(self, ids):
        x = as_passes(self.embed_tokens(ids))
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.lm_head(self.norm(x))


def initialize(model, residual=(), layers=1):
    for name, module in model.named_modules():
        if isinstance(module, (nn.Linear, nn.Embedding)):
            shrink = math.sqrt(2 * layers) if name.endswith(tuple(residual) or ("\0",)) else 1.0
            nn.init.normal_(module.weight, std=0.02 / shrink)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


GPT2 = {"gpt2-124m": {}, "gpt2-1.5b": dict(width=1600, layers=48, heads=25)}
LLAMA = {
    "llama-nano": dict(width=128, layers=4, heads=4, kv_heads=2, mlp=512, vocab=32000),
    "llama-mid": dict(width=512, layers=8, heads=8, kv_heads=4, mlp=1408, vocab=32000),
    "quickstart": dict(width=128, layers=4, heads=4, kv_heads=2, mlp=384, vocab=4096, tied=True),
    "qwen2.5-1.5b": dict(width=1536, layers=28, heads=12, kv_heads=2, mlp=8960, vocab=151936, tied=True, bias=True),
    "llama-8b-8": dict(width=4096, layers=8, heads=32, kv_heads=8, mlp=14336, vocab=128256),  # 8 of its 32 layers
}
NAMES = (*GPT2, *LLAMA)


def build(name, context):
    """One of the benchmark's models for sequences of `context` tokens."""
    return Gpt2(**GPT2[name]) if name in GPT2 else Llama(context, **LLAMA[name])
