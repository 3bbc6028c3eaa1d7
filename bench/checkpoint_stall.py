#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""How long saving in the background stops training, and what that is at the default interval of 15 minutes.

  bench/checkpoint_stall.py                                   a GPT-2 of 124 M parameters, 6 checkpoints
  bench/checkpoint_stall.py --layers 4 --hidden 256 --saves 20

One run with a timeline. Of each save: the stop of the training thread (the copy into a buffer, and a wait where the save
before is still being written), the time of writing beside the training, and how much longer the steps are that are begun
meanwhile than the median of the others: writers take processor time. Needs Python 3.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

CONFIG = """
data: {{train_urls: [text.txt], train_tokenizer: {{vocab_size: 300}}, cache_dir: cache}}
model: {{type: gpt2, seq_len: 128, hidden_dim: {hidden}, num_heads: 8, num_layers: {layers}}}
trainer:
  id: run
  train_batch_size: {batch}
  num_train_steps: {steps}
  steps_per_eval: 0
  profiler: true
  profiler_start_step: 3
  profiler_num_steps: {steps}
  checkpointer: {{base_path: runs, save_interval: null, keep: [{{every: {every}}}]}}
optimizer: {{learning_rate: 1e-4}}
"""
INTERVAL = 15 * 60


def spans(events, name, thread=None):
    """(begin, end) in seconds, in order."""
    found = [(e["ts"] / 1e6, (e["ts"] + e["dur"]) / 1e6) for e in events
             if e.get("ph") == "X" and e["name"] == name and (thread is None or e["tid"] == thread)]
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bora", default=str(HERE.parent / "build/release/apps/bora/bora"))
    parser.add_argument("--layers", type=int, default=17)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--every", type=int, default=8, help="steps between checkpoints")
    parser.add_argument("--saves", type=int, default=6)
    a = parser.parse_args()
    a.steps = a.every * (a.saves + 1)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bora_stall_"))
    try:
        (folder / "config.yaml").write_text(CONFIG.format(**vars(a)))
        (folder / "text.txt").write_text("the moon is a compiler of dreams and light falls on water .\n" * 2000)
        run = subprocess.run([str(pathlib.Path(a.bora).resolve()), "train", "config.yaml"], cwd=folder, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if run.returncode != 0:
            raise SystemExit(run.stdout)
        trace, = folder.glob("runs/run/trace-step-*.json")
        events = json.loads(trace.read_text())
        size = sum(f.stat().st_size for f in (folder / f"runs/run/step-{a.every}").glob("*"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    events = events["traceEvents"] if isinstance(events, dict) else events
    steps = spans(events, "step")
    training = next(e["tid"] for e in events if e.get("ph") == "X" and e["name"] == "step")
    snapshots = spans(events, "checkpoint snapshot", training)
    # The last one ends the run, and waits for its files.
    stops = [s for s in spans(events, "checkpoint", training) if any(s[0] <= n[0] <= s[1] for n in snapshots)][:a.saves]
    writes = spans(events, "checkpoint write")[:len(stops)]
    beside = [s for s in steps if any(s[0] < w[1] and w[0] < s[1] for w in writes)]
    alone = [s for s in steps if s not in beside]
    length = lambda spans_: [end - begin for begin, end in spans_]
    step = statistics.median(length(alone))
    stop, write = statistics.median(length(stops)), statistics.median(length(writes))
    slower = max(0.0, sum(length(beside)) - step * len(beside)) / len(stops)
    print(f"GPT-2, {a.layers} layers x {a.hidden}, {a.batch} x 128 tokens; a checkpoint has {size / 1e6:,.0f} MB; "
          f"{len(stops)} saves, {len(steps)} steps\n")
    print("| | seconds |\n|---|---:|")
    print(f"| a step, nothing being written | {step:.3f} |")
    print(f"| training stops for a save: median, most | {stop:.4f}, {max(length(stops)):.4f} |")
    print(f"| a save is being written beside training | {write:.3f} |")
    print(f"| which steps meanwhile are longer by, together | {slower:.3f} |\n")
    print(f"a save every {INTERVAL // 60} minutes stops training for {stop / INTERVAL:.4%} of the time, "
          f"{(stop + slower) / INTERVAL:.4%} with the longer steps; writing takes {write / stop:.0f} x the stop")
    return 0


if __name__ == "__main__":
    sys.exit(main())
