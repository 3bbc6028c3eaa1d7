#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""The parts of on_gpu.sh, which says what they are, and starts this where there is a GPU."""

import argparse
import concurrent.futures
import csv
import json
import math
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from on_gpu_program import HALF, OUT, ROOT, STEPS, Failed, Part, Program, Skipped, gap, json_lines, tensors

WHOLE = 585  # seconds of all parts together
CLOSE = 1e-4  # to the reference, of a tensor's largest value; of fp32 on a GPU against the CPU's, of a loss
ATTENTION, RATES, EXPERTS = "attention_device_test", "attention_rates", "experts_device_test"
TRACE = "libgpu_trace.so"
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
WITHIN = 0.10  # the most memory, of what was said before
# name: (sequences, tokens of each, passes of Bora, passes of PyTorch, which keeps all logits of a pass; whether PyTorch's
# eager mode has its turn in ten minutes, most of which go by while torch.compile compiles)
MODELS = {"gpt2-124m": (64, 1024, 1, 2, True), "gpt2-1.5b": (32, 1024, 2, 4, False),
          "qwen2.5-1.5b": (16, 1024, 1, 4, False), "llama-8b-8": (2, 8192, 1, 2, False)}
MIXTURE = """model: {type: mixtral, seq_len: 32, hidden_dim: 32, intermediate_dim: 64, num_layers: 2, num_heads: 4,
  num_kv_heads: 2, n_routed_experts: 4}"""


# Of one machine.
TWO_WORKERS = ("mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n", "2")


def count_gpus():
    if shutil.which("nvidia-smi"):
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
        return sum(line.startswith("GPU ") for line in listed.splitlines())
    return len(list(pathlib.Path("/dev").glob("nvidia[0-9]*")))


def without_arguments(name):
    """Of a function: "void add<(int)8>(float*)" -> "void add<(int)8>"."""
    name, depth = name.replace("(anonymous namespace)::", ""), 0
    for i in reversed(range(len(name) if name.endswith(")") else 0)):
        depth += {")": 1, "(": -1}.get(name[i], 0)
        if depth == 0:
            return name[:i]
    return name


class Day(Program):
    """The parts; each returns a line about what it has found."""

    def load(self, part):
        self.computes = False
        said = self.run(part, self.bora, "version")
        part.numbers["version"] = dict(re.findall(r"^(\S+) +(.*)$", said, re.M))
        said = self.run(part, self.bora, "doctor", "--json", codes=(0, 1))
        part.numbers["doctor"] = json_lines(said)[-1]
        part.numbers["torch"] = str(self.torch)
        if shutil.which("nvidia-smi"):
            self.run(part, "nvidia-smi", codes=range(256))
        said = self.run(part, self.bora, "bench", "train", "--model", "quickstart", "--batch", 2, "--seq", 64, "--once",
                        "--device", self.device)
        part.numbers["step"] = json_lines(said)[-1]
        self.computes = True
        wrong = [f["name"] for f in part.numbers["doctor"].get("findings", []) if f["kind"] == "wrong"]
        return (f"{part.numbers['step'].get('device', self.device)}, torch in {self.torch}" +
                (f"; bora doctor: {', '.join(wrong)} wrong" if wrong else ""))

    def test(self, part, program):
        self.run(part, program, "--gtest_brief=1", f"--gtest_output=json:{OUT / program.name}.json",
                 env={"TEST_DEVICE": self.device})

    def ops(self, part):
        programs = sorted(p for p in self.tests.glob("*_device_test") if p.name not in (ATTENTION, EXPERTS))
        if not programs:
            raise Skipped("no test programs; scripts/on_gpu.sh --pack brings them")
        failed = []
        for program in programs:
            try:
                self.test(part, program)
            except Failed as e:
                failed.append(f"{program.name}: {e}")
        if failed:
            raise Failed("; ".join(failed))
        return f"{len(programs)} programs"

    def attention(self, part):
        program = self.tests / ATTENTION
        if not program.exists():
            raise Skipped(f"no {ATTENTION}; scripts/on_gpu.sh --pack brings it")
        self.test(part, program)
        line = "cuDNN and libtorch's FlashAttention as plain ops, and the same bits twice"
        report = json.loads((OUT / f"{ATTENTION}.json").read_text()) if (OUT / f"{ATTENTION}.json").exists() else {}
        left_out = sorted({test["skipped"][0]["message"].strip().splitlines()[-1]
                           for suite in report.get("testsuites", []) for test in suite["testsuite"]
                           if suite["name"] == "LibraryAttention" and test.get("skipped")})
        part.numbers["left_out"] = left_out
        return "; ".join([line, *(f"left out: {why}" for why in left_out)])

    def attention_rates(self, part):
        """By cuDNN, FlashAttention and plain operations, forward and backward at the models' shapes."""
        program = next((p for p in (self.tests / RATES, self.bora.parent.parent.parent / "bench" / RATES) if p.exists()),
                       None)
        if program is None:
            raise Skipped(f"no {RATES}; scripts/on_gpu.sh --pack brings it")
        part.numbers["rates"] = lines = json_lines(self.run(part, program, self.device))
        best = {}
        for line in lines:
            if line.get("rate", 0) > best.get(line["by"], 0):
                best[line["by"]] = line["rate"]
        if not best:
            raise Failed("; ".join(sorted({line["error"] for line in lines if "error" in line})) or "no rate")
        return ", ".join(f"{by} up to {rate:.0f}" for by, rate in best.items()) + " TFLOP/s"

    def parity(self, part):
        folders = [f.parent for where in (ROOT / "tests/parity/models", ROOT.parent / "shared/data/models")
                   for f in sorted(where.glob("*/reference.safetensors")) if f.parent.name != "whisper"]
        if not folders:
            raise Skipped("no reference models in tests/parity/models")
        failed = []
        for folder in folders:
            out = self.work / f"{folder.name}.safetensors"
            try:
                self.run(part, self.bora, "forward", "--model", folder, "--ids", folder / "reference.safetensors",
                         "--out", out, "--hidden", "--grads", "--device", self.device)
                worst, where = gap(tensors(out), tensors(folder / "reference.safetensors"))
            except Failed as e:
                failed.append(f"{folder.name}: {e}")
                continue
            part.numbers[folder.name] = {"worst": worst, "tensor": where}
            if not worst <= CLOSE:
                failed.append(f"{folder.name}: {where} differs by {worst:.1e}")
        if failed:
            raise Failed(f"{len(failed)} models; " + "; ".join(failed))
        return f"{len(part.numbers)} models, within {max(n['worst'] for n in part.numbers.values()):.1e}"

    def training(self, part):
        here = self.project("training_cpu")
        self.train(part, here, device="cpu")
        there = self.again(here, "training_device")
        self.train(part, there)
        losses = [[json.loads(line)["train/loss"] for line in (f / "runs/run/metrics.jsonl").read_text().splitlines()
                   if "train/loss" in line] for f in (here, there)]
        worst = max(abs(a - b) / a for a, b in zip(*losses))
        part.numbers = {"cpu": losses[0], "device": losses[1], "worst": worst}
        if len(losses[0]) != STEPS or len(losses[1]) != STEPS or not worst <= CLOSE:
            raise Failed(f"losses differ from the CPU's by {worst:.1e} of their own")
        return f"losses within {worst:.1e} of the CPU's"

    def bits(self, part, *flags):
        first = self.project(part.name)
        self.train(part, first, *flags)
        end = f"runs/run/step-{STEPS}"
        said, differ = [], []

        def compare(what, folder):
            found = self.run(part, self.bora, "diff", first / end, folder / end, codes=(0, 1))
            (said if "bit-equal" in found else differ).append(what)

        again = self.again(first, f"{part.name}_again")
        self.train(part, again, *flags)
        compare("twice", again)
        resumed = self.again(first, f"{part.name}_resumed", HALF)
        self.train(part, resumed, *flags)
        compare("after a resume", resumed)
        if shutil.which("mpirun"):
            workers = self.again(first, f"{part.name}_workers")
            self.train(part, workers, *flags, before=TWO_WORKERS)
            compare("with two workers", workers)
        part.numbers = {"same": said, "differ": differ}
        if differ:
            raise Failed(f"other bits {', '.join(differ)}")
        return f"the same bits {', '.join(said)}" + ("" if shutil.which("mpirun") else "; no mpirun for two workers")

    def bf16(self, part):
        """Heads of 8, so that FlashAttention takes them; no dropout of its probabilities. After a resume the copies of
        parameters in bf16 are rounded anew, which AdamW had written."""
        return self.bits(part, "--trainer.mp=p=f32,c=bf16", "--model.attn_pdrop=0")

    def fp8(self, part):
        """The same in fp8, where the GPU has it."""
        flags = ("--trainer.mp=p=f32,c=bf16", "--trainer.fp8=true", "--model.attn_pdrop=0")
        said = self.run(part, self.bora, "train", "config.yaml", f"--trainer.device={self.device}", "--dry_run", *flags,
                        cwd=self.project(f"{part.name}_asked"), codes=(0, 2))
        if "needs compute capability" in said:
            raise Skipped(re.search("needs compute capability[^;]*", said).group())
        return self.bits(part, *flags)

    def workers(self, part):
        """Two of them with a GPU each, whose messages go by NCCL, against two on one GPU, through the host: the same
        bits with whole parameters, with shards of them, and with a model that is divided."""
        if not shutil.which("mpirun"):
            raise Skipped("no mpirun for two workers")
        gpus = 2 if self.device == "test" else count_gpus()
        if gpus < 2:
            raise Skipped(f"NCCL wants a GPU for each of two workers, here {'is' if gpus == 1 else 'are'} {gpus}")
        on_one = {"device": "cuda:0"}
        if self.device == "test":
            on_one = {"device": "test", "env": {"TEST_TRANSPORT": "host"}}
        differ, first = [], self.project(part.name)
        ways = {"whole": "--trainer.fsdp_axis=null", "sharded": "--trainer.lanes=2",
                "divided": "--trainer.model_axis_size=2"}
        for name, flag in ways.items():
            direct, through = (self.again(first, f"{part.name}_{name}_{way}") for way in ("direct", "host"))
            said = self.train(part, direct, flag, before=TWO_WORKERS, device=self.device.split(":")[0])
            why = re.search("messages go through the memory of the host: (.*)", said)
            if why:
                raise (Skipped if "not built" in why.group(1) else Failed)(why.group(0))
            said = self.train(part, through, flag, before=TWO_WORKERS, **on_one)
            if "messages go through the memory of the host" not in said:
                raise Failed("two workers on one GPU do not go through the host")
            end = f"runs/run/step-{STEPS}"
            if "bit-equal" not in self.run(part, self.bora, "diff", direct / end, through / end, codes=(0, 1)):
                differ.append(name)
        part.numbers = {"same": [name for name in ways if name not in differ], "differ": differ}
        if differ:
            raise Failed(f"other bits from device to device than through the host: {', '.join(differ)}")
        return f"the same bits from device to device as through the host: {', '.join(ways)}"

    def graphs(self, part):
        """The same run with CUDA graphs and without: the same bits, and the time of a step of both."""
        first = self.project(part.name)
        flags = ("--trainer.mp=p=f32,c=bf16", "--model.attn_pdrop=0")
        said = self.train(part, first, *flags)
        why = re.search("no graph of a pass.*", said)
        if why:
            raise Failed(why.group(0))
        other = self.again(first, f"{part.name}_off")
        self.train(part, other, *flags, "--trainer.cuda_graphs=false")
        end = f"runs/run/step-{STEPS}"
        if "bit-equal" not in self.run(part, self.bora, "diff", first / end, other / end, codes=(0, 1)):
            raise Failed("other bits than without graphs")

        def step_ms(folder):
            lines = map(json.loads, (folder / "runs/run/timing.jsonl").read_text().splitlines())
            return 1e3 * statistics.median([line["throughput/duration"] for line in lines
                                            if "throughput/duration" in line][HALF:])

        part.numbers = {"step_ms": step_ms(first), "step_ms_without": step_ms(other)}
        return (f"the same bits as without; {part.numbers['step_ms']:.1f} ms a step, "
                f"{part.numbers['step_ms_without']:.1f} without")

    def experts(self, part):
        """All experts by one product against a product for each; a run with them twice, and without CUDA graphs: the same
        bits."""
        program = self.tests / EXPERTS
        if not program.exists():
            raise Skipped(f"no {EXPERTS}; scripts/on_gpu.sh --pack brings it")
        self.test(part, program)
        first = self.project(part.name)
        config = (first / "config.yaml").read_text()
        (first / "config.yaml").write_text(re.sub(r"model: \{.*?\}", MIXTURE, config, flags=re.DOTALL))
        said = self.train(part, first, "--trainer.mp=p=f32,c=bf16")
        why = re.search("experts on .* by a product for each.*|no graph of a pass.*", said)
        if why:
            raise (Skipped if "capabilities" in why.group(0) else Failed)(why.group(0))
        end = f"runs/run/step-{STEPS}"
        for what, flags in (("twice", ()), ("without graphs", ("--trainer.cuda_graphs=false",))):
            other = self.again(first, f"{part.name}_{what.split()[0]}")
            self.train(part, other, "--trainer.mp=p=f32,c=bf16", *flags)
            if "bit-equal" not in self.run(part, self.bora, "diff", first / end, other / end, codes=(0, 1)):
                raise Failed(f"other bits {what}")
        return "one product as a product for each; the same bits twice and without graphs"

    def offload(self, part):
        """Inputs of blocks in pinned memory of the host against blocks that are computed again alone, with CUDA graphs and
        without: the same bits, and less memory of the device."""
        flags = ("--trainer.mp=p=f32,c=bf16", "--model.num_layers=8", "--trainer.lanes=1", "--model.attn_pdrop=0",
                 "--trainer.train_batch_size=128", "--trainer.peak_flops=1e12")  # measured, it takes memory itself
        first = self.project(part.name)
        self.train(part, first, *flags, "--model.gradient_checkpointing=recompute")
        end, peaks = f"runs/run/step-{STEPS}", {}

        def peak(folder):
            lines = map(json.loads, (folder / "runs/run/timing.jsonl").read_text().splitlines())
            return max(line.get("memory/device_peak_mb", 0) for line in lines)

        peaks["recompute"] = peak(first)
        for name, graphs in (("offload", "true"), ("offload_one_by_one", "false")):
            other = self.again(first, f"{part.name}_{name}")
            self.train(part, other, *flags, "--model.gradient_checkpointing=offload", f"--trainer.cuda_graphs={graphs}")
            if "bit-equal" not in self.run(part, self.bora, "diff", first / end, other / end, codes=(0, 1)):
                raise Failed(f"other bits than of blocks that are computed again: {name}")
            peaks[name] = peak(other)
        part.numbers = {"peak_mb": peaks}
        line = f"the same bits; at most {peaks['offload']:.2f} MB, {peaks['recompute']:.2f} without"
        if max(peaks["offload"], peaks["offload_one_by_one"]) >= peaks["recompute"]:
            raise Failed(f"no less memory: {peaks}")
        return line

    def sanitizer(self, part):
        """Of initcheck all kernels are looked at: what libtorch's have written has been written, too."""
        tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
        if tool is None:
            raise Skipped("no compute-sanitizer (it comes with the CUDA toolkit)")
        of_bora = () if part.name == "initcheck" else ("--kernel-name", "kernel_substring=bora")
        said = self.run(part, tool, "--tool", part.name, *of_bora, "--error-exitcode", 99, self.bora, "bench", "train",
                        "--model", "quickstart", "--batch", 2, "--seq", 64, "--once", "--device", self.device)
        return next((line.strip("= ") for line in reversed(said.splitlines()) if "SUMMARY" in line), "nothing found")

    def memory(self, part):
        folder = self.project("memory")
        flags = ["--model.hidden_dim=768", "--model.num_heads=12", "--model.num_layers=12", "--model.seq_len=1024",
                 "--model.gradient_checkpointing=false", "--trainer.mp=p=f32,c=bf16", "--trainer.lanes=1",
                 "--data.num_validation_sequences=null"]
        flags += [f"--model.{kind}_pdrop=0" for kind in ("embed", "resid", "attn")]
        flags.append("--trainer.peak_flops=1e12")  # measured, it takes memory itself
        units = {"MB": 1, "GB": 1e3, "TB": 1e6}
        amount = r"([0-9.]+) ([MGT]B)"

        def megabytes(pattern, said):
            found = re.search(pattern, said)
            if not found:
                raise Failed(f"no line like '{pattern}'")
            return float(found.group(1)) * units[found.group(2)]

        planned = megabytes(f"memory +about {amount} on ", self.train(part, folder, "--dry_run", *flags))
        most = megabytes(f"memory +{amount} at most on ", self.train(part, folder, *flags))
        part.numbers = {"planned_mb": planned, "most_mb": most, "ratio": most / planned}
        line = f"{most:.0f} MB at most, {planned:.0f} MB planned"
        if abs(most / planned - 1) > WITHIN:
            raise Failed(line)
        return line

    def rates(self, part):
        said = self.run(part, sys.executable, ROOT / "bench/peers/torch_rates.py")
        part.numbers["rates"] = lines = json_lines(said)
        best = {kind: max(r["rate"] for r in lines if r["kind"] == kind) for kind in sorted({r["kind"] for r in lines})}
        if not all(best.get(kind) for kind in ("attention", "copy", "product")):
            raise Failed("; ".join(sorted({r["error"] for r in lines if "error" in r})))
        return ", ".join(f"{kind} up to {rate:.0f}" for kind, rate in best.items()) + " (TFLOP/s, GB/s)"

    def peers(self, part):
        sequences, tokens, passes, their_passes, eager = MODELS[part.name]
        shape = ["--model", part.name, "--batch", sequences, "--seq", tokens, "--steps", 10 if eager else 5]
        peer = [sys.executable, ROOT / "bench/peers/torch_train.py", *shape, "--lanes", their_passes, "--device",
                "cuda", "--dtype", "bf16"]
        programs = ({"eager": peer} if eager else {}) | {"compile": [*peer, "--compile"]}
        if self.computes:
            programs = {"bora": [self.bora, "bench", "train", *shape, "--lanes", passes, "--device", self.device,
                                 "--compute", "bf16"]} | programs
        speeds, failed, rounds, longest = {}, {}, 0, 0.0
        while rounds < 3 and time.monotonic() + 1.2 * longest < part.deadline:
            started = time.monotonic()
            for who, command in programs.items():
                if who in failed:
                    continue
                try:
                    line = json_lines(self.run(part, *command))[-1]
                except Failed as e:
                    failed[who] = str(e)
                    continue
                part.numbers.setdefault(who, []).append(line)
                speeds.setdefault(who, []).append(line["tokens_per_s"])
            longest, rounds = time.monotonic() - started, rounds + 1
            if not speeds:
                break
        medians = {who: statistics.median(values) for who, values in speeds.items()}
        part.numbers["median_tokens_per_s"] = medians
        text = ", ".join(f"{who} {speed:,.0f}" for who, speed in medians.items()) + f" tokens/s, {rounds} rounds"
        if "bora" in medians and "compile" in medians:
            text += f", {medians['bora'] / medians['compile']:.2f} x torch.compile"
        if not self.computes:
            failed["bora"] = "see load"
        if failed:
            raise Failed("; ".join([*(f"{who}: {why}" for who, why in failed.items()), *([text] if medians else [])]))
        return text

    def trace(self, part, steps, *words):
        """What `bora bench train` asks the GPU to do, by bench/gpu_trace.cpp: (kind, begin, end, name) of each thing."""
        library = next((p for p in (self.tests / TRACE, self.bora.parent.parent.parent / "bench" / TRACE)
                        if p.exists()), None)
        if library is None:
            raise Skipped(f"no {TRACE}; scripts/on_gpu.sh --pack brings it")
        file = self.work / f"{part.name}{steps}.csv"
        self.run(part, self.bora, "bench", "train", *words, "--steps", steps, "--device", self.device, "--compute",
                 "bf16", env={"CUDA_INJECTION64_PATH": str(library), "GPU_TRACE": str(file)})
        with file.open(newline="") as lines:  # the last one may be half-written
            rows = [row for row in csv.reader(lines) if len(row) == 7]
        if not rows:
            raise Failed("nothing was traced")
        return sorted((int(begin), int(end), kind, name) for kind, begin, end, _, _, _, name in rows)

    def waits(self, part):
        """From how often the host waits in runs of few and of more steps."""
        few, more, calls = 3, 8, []
        for steps in (few, more):
            rows = self.trace(part, steps, "--model", "quickstart", "--batch", 4, "--lanes", 2, "--seq", 64)
            calls.append(sum(kind == "wait" and name.startswith(WAITS) for _, _, kind, name in rows))
        each = (calls[1] - calls[0]) / (more - few)
        part.numbers = {"waits": calls, "steps": [few, more], "each": each}
        line = f"the host waits {each:.1f} times a step"
        if each > 1:
            raise Failed(line)
        return line

    def profile(self, part):
        """Of the last whole step: its kernels, and how long the GPU has nothing to do."""
        rows = [row for row in self.trace(part, 5, "--model", "gpt2-124m", "--batch", 16, "--seq", 1024)
                if row[2] != "wait"]
        ends = [end for _, end, _, name in rows if "AdamW" in name]
        ends = [end for end, later in zip(ends, [*ends[1:], math.inf]) if later - end > 5e6]  # nanoseconds
        if len(ends) < 2:
            raise Failed(f"{len(ends)} steps were traced")
        step = [row for row in rows if ends[-2] <= row[0] < ends[-1]]
        idle, last, times = 0, ends[-2], {}
        for begin, end, kind, name in step:
            idle += max(0, begin - last)
            last = max(last, end)
            name = without_arguments(name) if kind == "kernel" else f"{kind} {name}"
            times[name] = times.get(name, 0) + end - begin
        whole = ends[-1] - ends[-2]
        slowest = sorted(times, key=times.get, reverse=True)
        part.numbers = {"step_ms": whole / 1e6, "idle_ms": idle / 1e6, "things": len(step),
                        "ms": {name: times[name] / 1e6 for name in slowest[:30]}}
        apart = sum(ms for name, ms in times.items() if "GeluTanh" in name)
        if apart and any("sm90" in name for name in times):
            raise Failed(f"{100 * apart / whole:.1f} % are GELU in kernels of its own, which products should have within them: "
                         "FeedForward.HasSuchProductsOnItsDevice of core_device_test says whether cuBLASLt has such ones")
        return "; ".join([f"{100 * idle / whole:.1f} % idle",
                          *(f"{100 * times[name] / whole:.1f} % {name[:60]}" for name in slowest[:3])])


# name: (seconds at most, what it does, whether Bora must compute on the device). Those of a row run at once: all but the
# timings, each of which has the GPU for itself.
ROWS = (
    {"load": (30, Day.load, False)},
    {"ops": (150, Day.ops, True), "attention": (90, Day.attention, True), "parity": (150, Day.parity, True),
     "training": (60, Day.training, True), "bits": (90, Day.bits, True), "bf16": (90, Day.bf16, True),
     "fp8": (90, Day.fp8, True), "workers": (90, Day.workers, True), "experts": (90, Day.experts, True),
     "offload": (90, Day.offload, True), "memory": (60, Day.memory, True), "memcheck": (60, Day.sanitizer, True),
     "racecheck": (60, Day.sanitizer, True), "initcheck": (60, Day.sanitizer, True), "waits": (60, Day.waits, True)},
    {"graphs": (30, Day.graphs, True)}, {"attention_rates": (40, Day.attention_rates, True)},
    {"rates": (40, Day.rates, False)}, {"profile": (40, Day.profile, True)}, {"gpt2-124m": (130, Day.peers, False)},
    {"gpt2-1.5b": (150, Day.peers, False)}, {"qwen2.5-1.5b": (150, Day.peers, False)},
    {"llama-8b-8": (150, Day.peers, False)})
PARTS = {name: what for row in ROWS for name, what in row.items()}


def outcome(day, part, needs_device):
    """ok, skipped or FAILED, and a line about it. Whatever goes wrong, goes wrong in this part alone."""
    try:
        if needs_device and not day.computes:
            raise Skipped(f"the program does not compute on {day.device} here: see load")
        return "ok", PARTS[part.name][1](day, part)
    except Skipped as e:
        return "skipped", str(e)
    except Failed as e:
        return "FAILED", str(e)
    except Exception as e:  # a line that is not as it was, a file that is not there
        return "FAILED", f"{type(e).__name__}: {e}"


def main():
    parser = argparse.ArgumentParser(prog="scripts/on_gpu.sh", description="see the head of scripts/on_gpu.sh")
    parser.add_argument("--torch", help="folder of the package torch; default: that of python3")
    parser.add_argument("--bora", help="the program; default: that of a wheel or build in build/")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, ...")
    parser.add_argument("--limit", type=float, help="seconds of each part at most, in place of its own")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {' '.join(PARTS)}; default: all")
    args = parser.parse_args()
    for name in args.parts:
        if name not in PARTS:
            parser.error(f"{name} is not one of {', '.join(PARTS)}")
    OUT.mkdir(parents=True, exist_ok=True)
    began, results, telling = time.monotonic(), [], threading.Lock()
    with tempfile.TemporaryDirectory() as work, (OUT / "summary.txt").open("w") as summary:
        day = Day(args, pathlib.Path(work))

        def look(name):
            seconds, _, needs_device = PARTS[name]
            started = time.monotonic()
            left = WHOLE - (started - began)
            part = Part(name, min(args.limit or seconds, left))
            status, line = outcome(day, part, needs_device) if left > 1 else ("skipped", "no time left of ten minutes")
            took = time.monotonic() - started
            (OUT / f"{name}.json").write_text(json.dumps(part.numbers, indent=1) + "\n")
            with telling:
                results.append({"part": name, "status": status, "seconds": round(took, 1), "said": line})
                for file in (summary, sys.stdout):
                    print(f"{status:<8} {name:<13} {took:5.0f} s  {line}", file=file, flush=True)
                (OUT / "summary.json").write_text(json.dumps(
                    {"date": time.strftime("%Y-%m-%d"), "device": args.device, "parts": results}, indent=1) + "\n")

        for row in ROWS:
            names = [name for name in row if not args.parts or name in args.parts or name == "load"]  # which all need
            with concurrent.futures.ThreadPoolExecutor(max(len(names), 1)) as together:
                list(together.map(look, names))
    return 1 if any(r["status"] == "FAILED" for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
