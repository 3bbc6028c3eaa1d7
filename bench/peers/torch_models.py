# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""The benchmark's models as a PyTorch user would write them: plain modules, fused attention, fp32."""

import math

import torch
import torch.nn.functional as F
from torch import nn


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
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


def rotary_angles(length, size, base=10000.0):
    """cos and sin, each [length, size], for the half-split rotary embedding."""
    frequencies = base ** (-torch.arange(0, size, 2, dtype=torch.float32) / size)
    angles = torch.outer(torch.arange(length, dtype=torch.float32), frequencies).repeat(1, 2)
    return angles.cos(), angles.sin()


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, kv_heads, mlp):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, width // heads
        self.attn_norm, self.mlp_norm = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.q_proj = nn.Linear(width, heads * self.size, bias=False)
        self.k_proj = nn.Linear(width, kv_heads * self.size, bias=False)
        self.v_proj = nn.Linear(width, kv_heads * self.size, bias=False)
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
    def __init__(self, context, width, layers, heads, kv_heads, mlp, vocab, tied=False):
        super().__init__()
        self.vocab = vocab
        self.embed_tokens = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(LlamaBlock(width, heads, kv_heads, mlp) for _ in range(layers))
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.lm_head = nn.Linear(width, vocab, bias=False)
        if tied:
            self.lm_head.weight = self.embed_tokens.weight
        cos, sin = rotary_angles(context, width // heads)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        initialize(self)

    def forward(self, ids):
        x = self.embed_tokens(ids)
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


def build(name, context):
    """One of the benchmark's models for sequences of `context` tokens."""
    if name == "gpt2-124m":
        return Gpt2()
    sizes = {
        "llama-nano": dict(width=128, layers=4, heads=4, kv_heads=2, mlp=512, vocab=32000),
        "llama-mid": dict(width=512, layers=8, heads=8, kv_heads=4, mlp=1408, vocab=32000),
        "quickstart": dict(width=128, layers=4, heads=4, kv_heads=2, mlp=384, vocab=4096, tied=True),
    }
    return Llama(context, **sizes[name])


NAMES = ("gpt2-124m", "llama-nano", "llama-mid", "quickstart")
