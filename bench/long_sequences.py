#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Time and largest memory of training and of generation against the length of the sequence: attention keeps no matrix of
scores, so memory grows with the length and not with its square.

  bench/long_sequences.py                                     512 to 32,768 tokens
  bench/long_sequences.py --lengths 2048 8192 --svg memory.svg

Training is one step of one sequence, the first; generation reads a prompt of the length less 17 and writes 17 tokens,
after a turn to warm up. Memory is the system's record of the program's largest resident memory. `MB more` is what a
length takes beyond the shortest one, and `KB a token` that by the tokens more: a constant, where memory is linear. The
last column is what the scores of all heads of one layer would take in fp32 alone.
"""

import argparse
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = {"llama-nano": (4, "4 layers of 128"), "llama-mid": (8, "8 layers of 512"), "llama-125m": (12, "12 layers of 768")}


def measured(words):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "OPENBLAS_"))}
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout)


def rows(args, kind):
    out = []
    for length in args.lengths:
        words = [args.bora, "bench", kind, "--model", args.model, "--batch", "1", "--threads", str(args.threads)]
        if kind == "train":
            words += ["--seq", str(length), "--once"]
        else:
            words += ["--prompt", str(length - 17), "--tokens", "17", "--turns", "1"]
        told = measured(words)
        out.append((length, told, told["peak_rss_mb"]))
    return out


def table(args, kind, found):
    heads = MODELS[args.model][0]
    speed = "ms a step" if kind == "train" else "prompt tokens/s | ms a token"
    print(f"\n{'Training' if kind == 'train' else 'Generation'}, {args.model} ({MODELS[args.model][1]})\n")
    print(f"| tokens | {speed} | MB | MB more | KB a token | scores of a layer, MB |")
    print("|---:" * (6 if kind == "train" else 7) + "|")
    first = found[0]
    for length, told, memory in found:
        times = f"{told['step_ms']:,.0f}" if kind == "train" else \
            f"{told['prompt_tokens_per_s']:,.0f} | {told['step_ms']:.1f}"
        more = memory - first[2]
        each = f"{more * 1024 / (length - first[0]):.1f}" if length > first[0] else ""
        scores = heads * length * length * 4 / 1024 / 1024
        print(f"| {length:,} | {times} | {memory:,.0f} | {more:,.0f} | {each} | {scores:,.0f} |", flush=True)


def picture(args, all_found):
    """Memory by length, both axes linear, and the square of the length from the first point's share for comparison."""
    width, height, left, bottom = 640, 360, 70, 40
    most_x = max(length for found in all_found.values() for length, _, _ in found)
    most_y = max(memory for found in all_found.values() for _, _, memory in found) * 1.1
    at = lambda x, y: (left + (width - left - 20) * x / most_x, height - bottom - (height - bottom - 30) * y / most_y)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             'font-size="12"><rect width="100%" height="100%" fill="white"/>'
             f'<text x="{left}" y="18" font-size="14">{args.model}: largest memory by length of the sequence</text>']
    for i in range(5):
        x, _ = at(most_x * i / 4, 0)
        _, y = at(0, most_y * i / 4)
        parts.append(f'<line x1="{left}" x2="{width - 20}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                     f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#666">{most_y * i / 4:,.0f} MB</text>'
                     f'<text x="{x:.1f}" y="{height - bottom + 18}" text-anchor="middle" fill="#666">'
                     f'{most_x * i / 4:,.0f}</text>')
    for (kind, found), colour in zip(all_found.items(), ("#1f77b4", "#d62728")):
        points = [at(length, memory) for length, _, memory in found]
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="' +
                     " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        x, y = points[-1]
        parts.append(f'<text x="{x - 8:.1f}" y="{y - 8:.1f}" text-anchor="end" fill="{colour}">'
                     f'{"training" if kind == "train" else "generation"}</text>')
    args.svg.write_text("".join(parts) + "</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bora", default=str(ROOT / "build/release/apps/bora/bora"))
    parser.add_argument("--model", choices=list(MODELS), default="llama-nano")
    parser.add_argument("--lengths", nargs="+", type=int, default=[512, 2048, 8192, 32768])
    parser.add_argument("--kinds", nargs="+", choices=["train", "generate"], default=["train", "generate"])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--svg", type=pathlib.Path)
    args = parser.parse_args()
    all_found = {}
    for kind in args.kinds:
        all_found[kind] = rows(args, kind)
        table(args, kind, all_found[kind])
    if args.svg:
        picture(args, all_found)


if __name__ == "__main__":
    main()
