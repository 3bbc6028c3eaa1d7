#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""A training step in PyTorch: the peer of `bora bench train`, with the same fields in its one JSON line.

  python torch_train.py --model gpt2-124m --batch 4 --seq 256 --steps 10 --threads 2 [--compile]
  python torch_train.py --products --batch 4 --seq 256     F.linear on GPT-2's shapes, one JSON line each

fp32, AdamW (fused, betas 0.9 and 0.95, weight decay 0.1 on matrices), gradients clipped to norm 1, random tokens, the
loss read every step. start_up_s runs from the start of the process to the end of the first step, less a median step.
matmul_share is the time of the step's matrix products, each run alone, over the step's time; products inside the fused
attention are left out on both sides.
"""

import argparse
import collections
import json
import os
import resource
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import torch_models


def seconds_since_start():
    """Since the kernel started this process (field 22 of /proc/self/stat, man 5 proc)."""
    with open("/proc/self/stat", encoding="ascii") as file:
        ticks = int(file.read().rpartition(")")[2].split()[22 - 3])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown")


class Products(TorchDispatchMode):
    """Counts the matrix products of what runs inside: (sizes and strides of both operands) -> times called."""

    def __init__(self):
        super().__init__()
        self.shapes = collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        operands = {"aten::mm": args[0:2], "aten::bmm": args[0:2], "aten::addmm": args[1:3]}.get(func._schema.name)
        if operands:
            self.shapes[tuple((tuple(x.shape), tuple(x.stride())) for x in operands)] += 1
        return func(*args, **(kwargs or {}))


def median_seconds(work, times=7):
    samples = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        samples.append(time.perf_counter() - started)
    return statistics.median(samples)


def matmul_cost(shapes, show):
    """Of all the products, each shape run alone: seconds and operations together, operations/s of the fastest."""
    seconds = operations = rate = 0.0
    with torch.no_grad():
        for (a, b), count in shapes.items():
            x, y = (torch.empty_strided(*operand).normal_() for operand in (a, b))
            each = median_seconds(lambda: torch.matmul(x, y))
            work = 2.0 * x.numel() * y.shape[-1]
            seconds += each * count
            operations += work * count
            rate = max(rate, work / each)
            if show:
                print(f"{count:4} x {list(a[0])} {list(b[0])}  {each * 1e3:8.3f} ms  {work / each * 1e-9:6.1f} GF/s")
    return seconds, operations, rate


def optimizer_for(model):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95), fused=True)


def time_steps(step, args):
    """Seconds of each step. Paced: as `bora bench train --paced` does it."""
    def tell(line):
        if args.paced:
            print(line, flush=True)
            sys.stdin.readline()

    tell("ready")
    for _ in range(args.steps):
        seconds = step()
        tell(seconds)
        yield seconds


def train(args):
    torch.manual_seed(0)
    model = torch_models.build(args.model, args.seq)
    run = torch.compile(model) if args.compile else model
    optimizer = optimizer_for(model)

    def loss_of(forward):
        ids = torch.randint(model.vocab, (args.batch, args.seq))
        targets = torch.cat((ids[:, 1:], torch.full((args.batch, 1), -100)), dim=1)
        return F.cross_entropy(forward(ids).view(-1, model.vocab), targets.view(-1))

    def step():
        started = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(run)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        return time.perf_counter() - started

    step()
    first_step_end = seconds_since_start()
    step()
    step()
    times = sorted(time_steps(step, args))
    median = times[len(times) // 2]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    with Products() as products:
        loss_of(model).backward()
    alone, operations, rate = matmul_cost(products.shapes, args.parts)
    print(json.dumps({
        "model": args.model, "batch": args.batch, "seq": args.seq,
        "tokens_per_s": args.batch * args.seq / median,
        "step_ms": median * 1e3, "step_ms_p95": times[min(len(times) - 1, len(times) * 95 // 100)] * 1e3,
        "matmul_share": alone / median, "peak_rss_mb": peak, "start_up_s": first_step_end - median,
        "mfu": operations / median / rate, "gflops_per_s": operations / median * 1e-9,
        "kernel_path": f"torch {torch.__version__} {'compile' if args.compile else 'eager'} "
                       f"{torch.backends.cpu.get_cpu_capability()}",
        "threads": torch.get_num_threads(), "cpu": cpu_model(),
    }))


def linear_products(args):
    """The layers that bench/dot_bench times, so that the two lists can be laid side by side."""
    rows = args.batch * args.seq
    for name, columns, inner in (("c_attn", 2304, 768), ("c_proj", 768, 768), ("c_fc", 3072, 768),
                                 ("mlp_proj", 768, 3072), ("head", 50257, 768)):
        x = torch.randn(rows, inner, requires_grad=True)
        weight = torch.randn(columns, inner, requires_grad=True)
        grad = torch.randn(rows, columns)
        with torch.no_grad():
            forward = median_seconds(lambda: F.linear(x, weight))
        y = F.linear(x, weight)
        backward = median_seconds(lambda: torch.autograd.grad(y, (x, weight), grad, retain_graph=True))
        work = 2e-9 * rows * columns * inner
        for what, seconds, factor in (("forward", forward, 1), ("backward", backward, 2)):
            print(json.dumps({"case": f"{name} {what}", "m": rows, "n": columns, "k": inner,
                              "torch_ms": seconds * 1e3, "gflops_per_s": factor * work / seconds}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="gpt2-124m", choices=torch_models.NAMES)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=0, help="0: PyTorch's own choice")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    parser.add_argument("--parts", action="store_true", help="also the time of each shape of product")
    parser.add_argument("--paced", action="store_true", help="a step for each line of input")
    parser.add_argument("--products", action="store_true", help="time F.linear alone, train nothing")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    (linear_products if args.products else train)(args)


if __name__ == "__main__":
    main()
