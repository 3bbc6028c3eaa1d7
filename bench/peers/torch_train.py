#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""A training step in PyTorch: the peer of `bora bench train`, with the same fields in its one JSON line.

  python torch_train.py --model gpt2-124m --batch 4 --seq 256 --steps 10 --threads 2 [--compile]
  python torch_train.py --model gpt2-124m --batch 64 --seq 1024 --device cuda --dtype bf16 [--compile] [--parts 4]
  python torch_train.py --products --batch 4 --seq 256     F.linear on GPT-2's shapes, one JSON line each

AdamW (fused, betas 0.9 and 0.95, weight decay 0.1 on matrices), gradients clipped to norm 1, random tokens, the loss
read every step. With --dtype bf16 parameters and moments are fp32 and the passes bf16 (torch.autocast, the residual
stream too); products add up in fp32, and fp32's own are not rounded to tf32 unless --tf32. --compile compiles the
model, on a GPU with its loss. cuBLASLt has as much to work in as Bora gives it. Attention is PyTorch's fused one;
--attention says which of a GPU's. start_up_s runs from the start of the process to the end of the first step, less a
median step. matmul_share is the time of the step's matrix products, each run alone, over the step's time; products
inside the fused attention are left out on both sides.
"""

import argparse
import collections
import contextlib
import json
import os
import resource
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

import torch_models

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
ATTENTION = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
             "efficient": SDPBackend.EFFICIENT_ATTENTION}


def seconds_since_start():
    """Since the kernel started this process (field 22 of /proc/self/stat, man 5 proc)."""
    with open("/proc/self/stat", encoding="ascii") as file:
        ticks = int(file.read().rpartition(")")[2].split()[22 - 3])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown")


class Products(TorchDispatchMode):
    """Counts the matrix products of what runs inside: (size, stride and dtype of both operands) -> times called."""

    def __init__(self):
        super().__init__()
        self.shapes = collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        operands = {"aten::mm": args[0:2], "aten::bmm": args[0:2], "aten::addmm": args[1:3]}.get(func._schema.name)
        if operands:
            self.shapes[tuple((tuple(x.shape), tuple(x.stride()), x.dtype) for x in operands)] += 1
        return func(*args, **(kwargs or {}))


def wait_for(device):
    if device == "cuda":
        torch.cuda.synchronize()


def median_seconds(work, device="cpu", times=7):
    samples = []
    if device == "cuda":
        work()  # the first of its kind chooses among the library's kernels
    for _ in range(times):
        wait_for(device)
        started = time.perf_counter()
        work()
        wait_for(device)
        samples.append(time.perf_counter() - started)
    return statistics.median(samples)


def matmul_cost(shapes, show, device):
    """Of all the products, each shape run alone: seconds and operations together, operations/s of the fastest."""
    seconds = operations = rate = 0.0
    with torch.no_grad():
        for (a, b), count in shapes.items():
            x, y = (torch.empty_strided(size, stride, dtype=dtype, device=device).normal_()
                    for size, stride, dtype in (a, b))
            each = median_seconds(lambda: torch.matmul(x, y), device)
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
        started = time.perf_counter()
        step()
        if args.paced:  # others have the machine now; else the next step begins while the optimizer's ends
            wait_for(args.device)
        seconds = time.perf_counter() - started
        tell(seconds)
        yield seconds
    wait_for(args.device)


def passes(args):
    """The scope of a forward pass: its dtype, and which fused attention."""
    scope = contextlib.ExitStack()
    if args.dtype != "f32":
        scope.enter_context(torch.autocast(args.device, dtype=DTYPES[args.dtype]))
    if args.attention != "auto":
        scope.enter_context(sdpa_kernel(ATTENTION[args.attention]))
    return scope


def train(args):
    torch.manual_seed(0)
    if args.tf32:
        torch.set_float32_matmul_precision("high")
    with torch.device(args.device):
        model = torch_models.build(args.model, args.seq)
    optimizer = optimizer_for(model)
    rows = args.batch // args.lanes

    def loss_of(forward, ids):
        ends = torch.full((rows, 1), -100, device=args.device)
        targets = torch.cat((ids[:, 1:], ends), dim=1)
        return F.cross_entropy(forward(ids).view(-1, model.vocab).float(), targets.view(-1))

    forward, objective = model, loss_of
    if args.compile and args.device == "cuda":
        objective = torch.compile(loss_of)
    elif args.compile:
        forward = torch.compile(model)

    def one_loss(forward, objective):
        ids = torch.randint(model.vocab, (rows, args.seq), device=args.device)
        with passes(args):
            return objective(forward, ids)

    def step():
        optimizer.zero_grad(set_to_none=True)
        total = 0
        for _ in range(args.lanes):
            loss = one_loss(forward, objective) / args.lanes
            loss.backward()
            total = total + loss.detach()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total.item()

    step()
    wait_for(args.device)
    first_step_end = seconds_since_start()
    step()
    step()
    wait_for(args.device)
    times = sorted(time_steps(step, args))
    median = times[len(times) // 2]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    out = {
        "model": args.model, "batch": args.batch, "seq": args.seq,
        "tokens_per_s": args.batch * args.seq / median,
        "step_ms": median * 1e3, "step_ms_p95": times[min(len(times) - 1, len(times) * 95 // 100)] * 1e3,
        "peak_rss_mb": peak, "start_up_s": first_step_end - median, "dtype": args.dtype,
        "kernel_path": f"torch {torch.__version__} {'compile' if args.compile else 'eager'} "
                       f"{torch.backends.cpu.get_cpu_capability() if args.device == 'cpu' else args.attention}",
        "threads": torch.get_num_threads(), "cpu": cpu_model(),
    }
    if args.device == "cuda":
        out |= {"device": torch.cuda.get_device_name(), "peak_device_mb": torch.cuda.max_memory_allocated() / 2**20,
                "reserved_device_mb": torch.cuda.max_memory_reserved() / 2**20}
    optimizer.zero_grad(set_to_none=True)
    with Products() as products:
        one_loss(model, loss_of).backward()
    alone, operations, rate = (x * n for x, n in zip(matmul_cost(products.shapes, args.parts, args.device),
                                                     (args.lanes, args.lanes, 1)))
    out |= {"matmul_share": alone / median, "mfu": operations / median / rate,
            "gflops_per_s": operations / median * 1e-9}
    print(json.dumps(out))


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
    parser.add_argument("--lanes", type=int, default=1, help="the batch in so many passes, whose gradients are added")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--dtype", default="f32", choices=tuple(DTYPES), help="of the passes")
    parser.add_argument("--attention", default="auto", choices=("auto", *ATTENTION))
    parser.add_argument("--tf32", action="store_true", help="products of fp32 may round their factors to tf32")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model; on a GPU with its loss")
    parser.add_argument("--parts", action="store_true", help="also the time of each shape of product")
    parser.add_argument("--paced", action="store_true", help="a step for each line of input")
    parser.add_argument("--products", action="store_true", help="time F.linear alone, train nothing")
    args = parser.parse_args()
    if args.lanes < 1 or args.batch % args.lanes:
        parser.error(f"--batch is {args.batch}; it must be a multiple of --lanes, which is {args.lanes}")
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: PyTorch finds no GPU here")
    os.environ.setdefault("CUBLASLT_WORKSPACE_SIZE", "32768")  # KiB, as Bora's runs have; PyTorch's own is 1,024
    if args.threads:
        torch.set_num_threads(args.threads)
    (linear_products if args.products else train)(args)


if __name__ == "__main__":
    main()
