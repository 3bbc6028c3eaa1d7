#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Runs on a GPU, rehearsed without one: Bora, its plug-in and libtorch's own part for CUDA on a stand-in for CUDA.

rehearse.py BUILD WHEEL TORCH CUDA FOLDER

BUILD: of the preset cuda, with the target cuda_stand_in; WHEEL: of Bora, with the CUDA plug-in; TORCH and CUDA: what
scripts/setup.sh and scripts/setup.sh --libtorch-cuda keep; FOLDER: for all that is made. The stand-in computes nothing
(plugins/cuda/stand_ins/runtime): what is seen is what the program asks of CUDA. Operations that libtorch has not, or
not in a fixed order; launches of no block; a wait where a graph is being noted; how often the host waits; kernels of a
layer; the most memory against what was planned. Exit code 1 if something is wrong, each in a line.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import stand_in

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BF16 = "--trainer.mp=p=f32,c=bf16"
STEPS = 8
LONGEST = 180  # seconds of a run
# What a test says of rows of experts that it counts on the device, where all reads as 0.
OF_WRONG_VALUES = "grouped_linear: there are 0 rows for"
# Of a layer in training in bf16, in a graph.
MOST_KERNELS = 30
TEXT = "".join(f"The moon number {i} is {i * 7919 % 1000} times as bright as the star {i * 104729 % 9973}.\n"
               for i in range(6000))
FAMILIES = ("backpack gemma gemma2 gemma3 gpt2 gpt_neox gpt_oss gptj granite llama mistral mixtral mpt olmo2 olmo3 "
            "olmoe phi3 qwen2 qwen2_moe qwen3 qwen3_moe smollm3").split()
WAYS = {"fp32": ["--trainer.mp=f32"], "fp8": [BF16, "--trainer.fp8=true"], "lanes": [BF16, "--trainer.lanes=4"],
        "recomputed": [BF16, "--model.gradient_checkpointing=true"],
        "offloaded": [BF16, "--model.gradient_checkpointing=offload"],
        "moments in bf16": [BF16, "--optimizer.state_dtype=bf16"], "one by one": [BF16, "--trainer.cuda_graphs=false"]}


WITHIN = 0.1
LARGER = ["--model.hidden_dim=768", "--model.intermediate_dim=2048", "--model.num_layers=12", "--model.num_heads=12",
          "--model.num_kv_heads=4", "--model.seq_len=512", "--trainer.train_batch_size=16", BF16]
PLANNED = [("gpt2_124m", "fp32", ["--trainer.mp=f32"]), ("gpt2_124m", "bf16", [BF16]),
           ("gpt2_124m", "fp8", [BF16, "--trainer.fp8=true", "--trainer.train_batch_size=32"]),
           ("gpt2_124m", "lanes, one by one", [BF16, "--trainer.train_batch_size=32", "--trainer.lanes=4",
                                               "--trainer.cuda_graphs=false"]),
           ("gpt2_124m", "recomputed", [BF16, "--trainer.train_batch_size=32", "--model.gradient_checkpointing=true"]),
           ("llama_nano", "bf16", LARGER),
           ("llama_nano", "offloaded", [*LARGER, "--model.gradient_checkpointing=offload"]),
           ("mixtral_nano", "bf16", [*LARGER, "--model.intermediate_dim=1024", "--model.num_layers=6"])]


def size_in(text, pattern):
    """Megabytes, or None."""
    found = re.search(pattern, text, re.M)
    if not found:
        return None
    number, unit = found.group(1).split()
    return float(number) * {"kB": 1e-3, "MB": 1, "GB": 1e3}[unit]


class Run:
    """What a run said, and what it asked of CUDA."""

    def __init__(self, code, said, report):
        self.code, self.said = code, said
        self.counts = {"call": {}, "launch": {}, "noted": {}}
        for line in report.splitlines():
            kind, count, name = line.split(" ", 2)
            self.counts[kind][name] = int(count)

    def call(self, name):
        return self.counts["call"].get(name, 0)

    def waits(self):
        return sum(self.call(f"cuda{what}Synchronize") for what in ("Stream", "Device", "Event"))

    def noted(self):
        """name -> launches of a pass, which is a graph."""
        return {name: count / self.call("cudaGraphLaunch") for name, count in self.counts["noted"].items()}


class Rehearsal:
    def __init__(self, folder, program, environment, tests_of):
        self.folder, self.program, self.environment, self.tests_of = folder, program, environment, tests_of
        self.wrong = []
        (folder / "text.txt").write_text(TEXT)

    def run(self, *arguments, program=None, byte=63, codes=(0,), launcher=(), more=None):
        """`byte`: what arrays of the device consist of; `more`: of the environment."""
        report = self.folder / "report"
        for old in self.folder.glob("report.*"):
            old.unlink()
        environment = self.environment | {"STAND_IN_REPORT": str(report), "STAND_IN_BYTE": str(byte)} | (more or {})
        program = program or self.program
        what = " ".join(map(str, (program.name, *arguments)))
        process = subprocess.Popen([*launcher, program, *map(str, arguments)], cwd=self.folder, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", start_new_session=True)
        try:
            said, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            self.wrong.append(f"not done after {LONGEST} s: {what}")
        reports = "".join(file.read_text() for file in self.folder.glob("report.*"))
        run = Run(process.returncode, said, reports)
        if run.code not in codes:
            self.wrong.append(f"exit code {run.code} of {what}:\n{run.said[-2000:]}")
        for line in sorted({line for line in run.said.splitlines() if line.startswith("stand-in:")}):
            self.wrong.append(f"{line}, of {what}")
        return run

    def train(self, recipe, *more, steps=STEPS, **others):
        shutil.rmtree(self.folder / "runs/run", ignore_errors=True)
        return self.go_on(recipe, *more, steps=steps, **others)

    def go_on(self, recipe, *more, steps, **others):
        return self.run("train", ROOT / f"recipes/{recipe}.yaml", "--trainer.device=cuda", "--trainer.id=run",
                        '--data.configs.gcide.train_urls=["text.txt"]', "--data.num_validation_sequences.gcide=4",
                        "--data.train_tokenizer={vocab_size: 600}", "--data.cache_dir=cache", "--sample=null",
                        "--trainer.steps_per_eval=0", f"--trainer.num_train_steps={steps}",
                        "--trainer.peak_flops=1e12", "--hf_export=false", *more, **others)

    def expect(self, holds, text):
        if not holds:
            self.wrong.append(text)

    def families(self):
        """Each trains; all of its passes but the first are graphs."""
        for family in FAMILIES:
            run = self.train(f"{family}_nano", BF16)
            self.expect(run.call("cudaGraphLaunch") == STEPS - 1,
                        f"{family}: {run.call('cudaGraphLaunch')} graphs of {STEPS} steps, not {STEPS - 1}")
        return f"{len(FAMILIES)} families train in bf16, their passes graphs"

    def ways(self):
        for family in ("gpt2", "llama"):
            for name, flags in WAYS.items():
                run = self.train(f"{family}_nano", *flags)
                # Computed as ever: a first lane, which stores gradients, and where there is one a second one, which adds to them.
                graphs = {"one by one": 0, "lanes": 4 * STEPS - 2}.get(name, STEPS - 1)
                self.expect(run.call("cudaGraphLaunch") == graphs,
                            f"{family}, {name}: {run.call('cudaGraphLaunch')} graphs, not {graphs}")
        return f"{len(WAYS)} ways to train GPT-2 and Llama"

    def waits(self):
        """The host waits once a step, however long the run is."""
        for family in ("gpt2", "llama"):
            for flags in ([BF16], [BF16, "--trainer.cuda_graphs=false"], [BF16, "--trainer.lanes=4"]):
                short, long = (self.train(f"{family}_nano", *flags, steps=n).waits() for n in (STEPS, 3 * STEPS))
                self.expect(long - short <= 2 * STEPS, f"{family}: {long - short} waits in {2 * STEPS} steps, {flags}")
        return "at most one wait a step"

    def kernels(self):
        told = []
        for family in ("gpt2", "llama"):
            # From so many on, gradients are added in as many launches, whatever the number of layers.
            passes = [self.train(f"{family}_nano", BF16, f"--model.num_layers={layers}").noted() for layers in (16, 24)]
            each = {name: (count - passes[0].get(name, 0)) / 8 for name, count in passes[1].items()}
            count = sum(number for name, number in each.items() if name != "cudaMemsetAsync")
            told.append(f"{family} {count:.0f}")
            lines = "\n".join(f"  {number:4.1f} {name[:150]}" for name, number in sorted(each.items()) if number)
            self.expect(count <= MOST_KERNELS, f"{family}: {count:.0f} kernels a layer, over {MOST_KERNELS}:\n{lines}")
        return f"kernels of a layer: {', '.join(told)}"

    def memory(self):
        """The most that libtorch's allocator had, against what was planned."""
        told = []
        for recipe, name, flags in PLANNED:
            flags = [*flags, "--data.train_tokenizer={vocab_size: 600}", "--trainer.checkpointer.save_interval=null"]
            said = self.train(recipe, *flags, "--dry_run", steps=4).said
            planned, measured = (size_in(said, r"^memory +about ([\d.]+ \w+) on cuda:0"),
                                 size_in(self.train(recipe, *flags, steps=4).said,
                                         r"^memory +([\d.]+ \w+) at most on cuda:0"))
            told.append(measured / planned if planned and measured else 0)
            self.expect(abs(told[-1] - 1) <= WITHIN, f"{recipe}, {name}: planned {planned}, measured {measured} MB")
        return f"the most memory is {min(told):.2f} to {max(told):.2f} of what was planned, in {len(told)} runs"

    def updates(self):
        """What an optimizer's update is clipped by is known behind it: a wait more."""
        for name, most in {"nesterov=true": 1, "update_rms_clipping=1": 2,
                           "clip_update_norm={rolling_interval_length: 4, sigma_factor: 2}": 2}.items():
            short, long = (self.train("gpt2_nano", BF16, f"--optimizer.{name}", steps=n).waits()
                           for n in (STEPS, 2 * STEPS))
            self.expect(long - short <= most * STEPS, f"optimizer.{name}: {long - short} waits in {STEPS} steps")
        return "at most two waits a step where updates are clipped"

    def capabilities(self):
        """An older GPU trains in bf16 and refuses fp8, one that is too old is left out; too little memory is told."""
        old = {"STAND_IN_MAJOR": "8"}
        run = self.train("gpt2_nano", BF16, more=old)
        self.expect(run.call("cudaGraphLaunch") == STEPS - 1, f"capability 8: {run.call('cudaGraphLaunch')} graphs")
        run = self.train("gpt2_nano", BF16, "--trainer.fp8=true", more=old, codes=(2,))
        self.expect("needs compute capability 8.9" in run.said, f"fp8 of capability 8:\n{run.said[-2000:]}")
        mixed = {"STAND_IN_GPUS": "2", "STAND_IN_MAJOR_OF_FIRST": "7"}
        run = self.train("gpt2_nano", BF16, more=mixed)
        self.expect("at most on cuda:1" in run.said, f"beside a GPU that is too old:\n{run.said[-2000:]}")
        self.expect(run.call("cudaGraphLaunch") == STEPS - 1, f"beside it: {run.call('cudaGraphLaunch')} graphs")
        run = self.train("llama_nano", BF16, "--trainer.device=cuda:1", "--trainer.lanes=4", more={"STAND_IN_GPUS": "2"})
        self.expect(run.call("on device 0") == 0 and run.call("on device 1") > 0,
                    f"on the second of two GPUs: {run.call('on device 0')} things go to the first")
        self.expect(run.call("cudaGraphLaunch") > 0, "on the second of two GPUs: no graphs")
        # Planned to fit, within the roughness of plans.
        large = ["--trainer.mp=f32", "--trainer.lanes=1", "--model.seq_len=1024", "--model.num_layers=3",
                 "--model.num_heads=8"]
        run = self.train("gpt2_nano", *large, more={"STAND_IN_GIB": "2"}, codes=(1,))
        self.expect("out of memory on cuda:0" in run.said and "hint: more trainer.lanes" in run.said,
                    f"memory that runs out:\n{run.said[-2000:]}")
        return "an older GPU, one beside one that is too old, the second of two, and one with little memory"

    def workers(self):
        """Two share a GPU, and send through the host."""
        if shutil.which("mpirun") is None:
            return "no mpirun: two workers are left out"
        two = ["mpirun", "--oversubscribe", "-n", "2"]
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # as containers are
        for family, *flags in (("gpt2",), ("llama", "--trainer.model_axis_size=2"),
                               ("llama", "--trainer.context_axis_size=2"),
                               ("mixtral", "--trainer.model_axis_size=2"), ("mixtral", "--trainer.fsdp_axis=null"),
                               ("llama", "--trainer.model_axis_size=2", "--trainer.fp8=true")):
            self.train(f"{family}_nano", BF16, "--trainer.lanes=2", *flags, steps=3, launcher=two, more=as_root)
        return "two workers: shards, tensors, contexts, experts"

    def commands(self):
        """A run goes on, is evaluated, generates, and is exported."""
        self.train("llama_nano", BF16)
        run = self.go_on("llama_nano", BF16, "--hf_export=true", steps=2 * STEPS)
        self.expect(f"resumed     at step {STEPS} of {2 * STEPS}" in run.said,
                    f"it does not go on:\n{run.said[-2000:]}")
        self.run("generate", "runs/run", "The moon", "--device=cuda", "--max_new_tokens=8")
        self.run("eval", "runs/run/config.yaml", "--device=cuda")
        adapted = self.run("train", ROOT / "recipes/lora_nano.yaml", "--trainer.device=cuda", "--trainer.id=lora", BF16,
                           "--initialize_from_hf=runs/run/hf", "--data.tokenizer=runs/run/hf",
                           "--data.cache_dir=lora-cache", '--data.configs.jargon.train_urls=["text.txt"]',
                           "--data.num_validation_sequences.jargon=4",
                           f"--trainer.num_train_steps={STEPS}", "--trainer.peak_flops=1e12")
        self.expect(adapted.call("cudaGraphLaunch") == STEPS - 1, f"LoRA: {adapted.call('cudaGraphLaunch')} graphs")
        return "a run goes on, is evaluated, generates, is exported and adapted"

    def speech(self):
        """Whisper trains, and transcribes."""
        subprocess.run([ROOT / "scripts/made_up_speech.sh", self.folder / "made_up_speech", "32", "4"], check=True)
        shutil.rmtree(self.folder / "runs/speech", ignore_errors=True)
        run = self.run("train", ROOT / "recipes/whisper_nano.yaml", "--trainer.device=cuda", "--trainer.id=speech",
                       BF16, "--data.cache_dir=speech-cache", f"--trainer.num_train_steps={STEPS}",
                       "--trainer.peak_flops=1e12")
        self.expect(run.call("cudaGraphLaunch") == STEPS - 1, f"Whisper: {run.call('cudaGraphLaunch')} graphs")
        self.run("transcribe", "runs/speech", "made_up_speech/sounds/validation0000.wav", "--device=cuda", "--beams=2")
        return "Whisper trains and transcribes"

    def tests(self):
        """Those of rooms, with their arrays on the device: all values are wrong, but no operation is refused."""
        programs = [self.tests_of / f"{room}_device_test" for room in ("core", "named", "mesh", "nn", "models")]
        programs = [program for program in programs if program.exists()]
        if not programs:
            return "the tests of rooms are not built, and left out"
        subprocess.run([ROOT / "scripts/bundle.py", "tests", self.folder, *programs], check=True)
        libraries = f"{self.program.parents[2]}/torch/lib:{self.program.parents[1]}/lib/bora"
        for program in programs:
            run = self.run("--gtest_brief=1", program=self.folder / program.name, byte=0, codes=(0, 1),
                           more={"TEST_DEVICE": "cuda", "LD_LIBRARY_PATH": libraries})
            self.expect(re.search(r"test suites? ran", run.said), f"{program.name} does not end:\n{run.said[-2000:]}")
            for line in set(re.findall(r"C\+\+ exception with description \"(.*)", run.said)):
                self.expect(line.startswith(OF_WRONG_VALUES), f"{program.name}: {line}")
        return f"{len(programs)} programs of tests"

    def all(self):
        self.run("doctor", codes=(0, 1))
        for part in (self.families, self.ways, self.waits, self.kernels, self.memory, self.updates, self.capabilities,
                     self.workers, self.commands, self.speech, self.tests):
            before = len(self.wrong)
            line = part()
            print(f"ok      {line}" if len(self.wrong) == before else f"wrong   {part.__name__}", flush=True)
        shutil.rmtree(self.folder / "runs", ignore_errors=True)  # a gigabyte
        return self.wrong


def main():
    build, wheel, torch, cuda, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    program, environment = stand_in.prepare(folder, build, wheel, torch, cuda)
    wrong = Rehearsal(folder, program, environment, build.parent / "release/plugins/fake_device").all()
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
