#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Trains the quickstart in fp32 and with bf16 passes, with three seeds, and prints how the losses compare.

  bench/precision.py [--steps 2000] [--seeds 3] [--folder build/precision] [--bora ./bora]

Runs that --folder holds already are read, not repeated. Losses are means over the hundred steps before the one named;
"apart" is the difference of the two precisions, beside the largest difference of two seeds in fp32.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = ("f32", "bf16")


def run_of(folder, kind, seed, args):
    """Where the run's files lie."""
    place = folder / f"{kind}-{seed}"
    if not list(place.glob("*/summary.json")):
        command = [args.bora, "train", str(ROOT / "recipes/quickstart.yaml"), f"--trainer.num_train_steps={args.steps}",
                   f"--trainer.seed={seed}", f"--trainer.mp=p=f32,c={kind}", f"--trainer.checkpointer.base_path={place}",
                   f"--data.cache_dir={folder / 'cache'}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return next(place.glob("*/summary.json")).parent


def losses(run, steps):
    with open(run / "metrics.jsonl") as lines:
        found = {line["step"]: line["train/loss"] for line in map(json.loads, lines) if "train/loss" in line}
    return {step: statistics.fmean(found[s] for s in range(step - 100, step)) for step in steps}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/precision")
    parser.add_argument("--bora", default=str(ROOT / "bora"))
    args = parser.parse_args()
    shown = [args.steps * i // 4 for i in range(1, 5)]
    if shown[0] < 100:
        parser.error("--steps must be 400 or more: losses are means over a hundred")
    args.folder.mkdir(parents=True, exist_ok=True)
    found = {(kind, seed): losses(run_of(args.folder, kind, seed, args), shown)
             for seed in range(args.seeds) for kind in KINDS}
    print("| loss before step | " + " | ".join(f"seed {s}, {k}" for s in range(args.seeds) for k in KINDS) + " | apart | seeds |")
    print("|---:" * (2 * args.seeds + 3) + "|")
    for step in shown:
        row = [found[k, s][step] for s in range(args.seeds) for k in KINDS]
        apart = max(abs(found["bf16", s][step] - found["f32", s][step]) for s in range(args.seeds))
        plain = [found["f32", s][step] for s in range(args.seeds)]
        print(f"| {step:,} | " + " | ".join(f"{x:.3f}" for x in row) + f" | {apart:.3f} | {max(plain) - min(plain):.3f} |")


main()
