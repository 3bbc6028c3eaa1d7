#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""What a GPU reaches at the shapes of the benchmark's models, by PyTorch's kernels in bf16; one JSON line each.

  python torch_rates.py

kind product: TFLOP/s of a layer's products, forward and for both gradients. kind attention: causal, forward and
backward, flash and cuDNN, flash also with its deterministic backward. kind copy: GB/s, bytes read and written within
the GPU, bytes from pinned host memory. Each is the median of ten runs after three, by the GPU's own clock.
"""

import json
import statistics

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

TOKENS = 8192
# name: (width, queries' and keys' and values' columns, inner columns, vocabulary)
MODELS = {"gpt2-124m": (768, 2304, 3072, 50257), "gpt2-1.5b": (1600, 4800, 6400, 50257),
          "qwen2.5-1.5b": (1536, 2048, 17920, 151936), "llama-8b-8": (4096, 6144, 28672, 128256)}
# name: (sequences, heads, tokens, width of a head); heads of keys and values as many as of queries
ATTENTION = {"gpt2-124m": (16, 12, 1024, 64), "gpt2-1.5b": (8, 25, 1024, 64), "qwen2.5-1.5b": (8, 12, 1024, 128),
             "llama-8b-8": (1, 32, 8192, 128)}


def seconds(work):
    times = []
    for turn in range(13):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        if turn >= 3:
            times.append(begin.elapsed_time(end) * 1e-3)
    return statistics.median(times)


def tell(kind, case, work, amount, unit):
    """`amount` of operations or bytes in one run of `work`, in units of 10^12 or 10^9."""
    try:
        took = seconds(work)
    except RuntimeError as e:
        print(json.dumps({"kind": kind, "case": case, "rate": 0, "error": str(e).splitlines()[0]}), flush=True)
        return
    scale = 1e-12 if unit == "TFLOP/s" else 1e-9
    print(json.dumps({"kind": kind, "case": case, "ms": took * 1e3, "rate": amount / took * scale, "unit": unit}),
          flush=True)


def random(*sizes):
    return torch.randn(*sizes, device="cuda", dtype=torch.bfloat16)


def products():
    for name, (width, heads, inner, vocab) in MODELS.items():
        for case, columns in (("queries, keys, values", heads), ("inner", inner), ("scores", vocab)):
            x, weight, grad = random(TOKENS, width), random(columns, width), random(TOKENS, columns)
            work = 2 * TOKENS * width * columns
            for what, run in (("forward", lambda: x @ weight.T), ("to x", lambda: grad @ weight),
                              ("to the weight", lambda: grad.T @ x)):
                tell("product", f"{name} {case} {what}", run, work, "TFLOP/s")


def attention():
    for name, (batch, heads, length, width) in ATTENTION.items():
        q, k, v = (random(batch, heads, length, width).requires_grad_() for _ in range(3))
        grad = random(batch, heads, length, width)
        work = 2 * batch * heads * length * length * width  # two products, half of them beyond the diagonal
        for label, backend, deterministic in (("flash", SDPBackend.FLASH_ATTENTION, False),
                                              ("flash, deterministic", SDPBackend.FLASH_ATTENTION, True),
                                              ("cuDNN", SDPBackend.CUDNN_ATTENTION, False)):
            torch.use_deterministic_algorithms(deterministic)
            with sdpa_kernel(backend):
                tell("attention", f"{name} {label} forward",
                     lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True), work, "TFLOP/s")
                try:
                    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                except RuntimeError:
                    continue
                tell("attention", f"{name} {label} backward",
                     lambda: torch.autograd.grad(y, (q, k, v), grad, retain_graph=True), 2.5 * work, "TFLOP/s")
    torch.use_deterministic_algorithms(False)


def copies():
    size = 1 << 28
    here = torch.empty(size, dtype=torch.float32, device="cuda")
    there = torch.empty_like(here)
    host = torch.empty(size // 4, dtype=torch.float32, pin_memory=True)
    tell("copy", "within the GPU", lambda: there.copy_(here), 8 * size, "GB/s")
    tell("copy", "from the host", lambda: here[:size // 4].copy_(host, non_blocking=True), size, "GB/s")


products()
attention()
copies()
