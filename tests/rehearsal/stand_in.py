# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Links what stands for CUDA's libraries, and lays Bora's wheel beside libtorch and its part for CUDA."""

import os
import pathlib
import re
import shutil
import subprocess
import zipfile

# What stub of each library a function that is not written out leads to; of others, to the end of the process.
STUBS = {"libcublas.so.13": "stand_in_product", "libcuda.so.1": "stand_in_driver_has_no"}
WRITTEN = {"libcudart.so.13": "cudart", "libcublas.so.13": "cublas", "libcublasLt.so.13": "cublasLt",
           "libcuda.so.1": "cuda"}
OF_THE_SYSTEM = r"(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so.*)"


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def symbols(file, which):
    """name -> version ("" without one) of the dynamic symbols that are defined, or undefined, in a library."""
    found = {}
    for line in output("nm", "-D", f"--{which}-only", file).splitlines():
        name, _, version = line.split()[-1].partition("@")
        if line.split()[-2] not in "wv":  # those may be absent
            found[name] = version.lstrip("@")
    return found


def needed(file):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", file))


def assembly(names, way):
    """A function of each name, which others in its library may replace, that hands its name to `way`."""
    lines = []
    for number, name in enumerate(sorted(names)):
        first = ["mov %rdi, %rsi"] if way == "stand_in_product" else []
        lines += [f".weak {name}", f".type {name},@function", f"{name}:", *first, f"lea name{number}(%rip), %rdi",
                  f"jmp {way}@PLT", f'name{number}: .asciz "{name}"']
    return "\n".join(lines + ['.section .note.GNU-stack,"",@progbits', ""])


class StandIn:
    """Libraries in `folder` of the names that libtorch's part for CUDA, and the plug-ins, ask for."""

    def __init__(self, archives, ours, users, folder):
        """archives: where the static libraries are; ours: libraries with the rest; users: what asks for CUDA's."""
        self.folder = folder
        folder.mkdir(parents=True)
        there = {name for file in ours for name in symbols(file, "defined")}
        of_system = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2")
        for file in of_system:
            there |= set(symbols(output("gcc", f"-print-file-name={file}").strip(), "defined"))
        own = {file.name for file in ours}
        wanted = {name: set() for user in users for name in needed(user)
                  if not re.fullmatch(OF_THE_SYSTEM, name) and name not in own}
        rest = "libcudnn.so.9"  # has those of libraries that give their symbols no version
        for user in users:
            for name, version in symbols(user, "undefined").items():
                if name not in there and not version.startswith(("GLIBC", "GCC", "CXXABI")):
                    wanted.setdefault(version or rest, set()).add(name)
        text = b"\0".join(user.read_bytes() for user in users if "cuda" in user.name)
        wanted["libcuda.so.1"] = {name.decode() for name in re.findall(rb"\0(cu[A-Z][A-Za-z0-9_]*)(?=\0)", text)}
        for name, functions in wanted.items():
            self.link(name, functions, archives)
        first = [name for name in WRITTEN if name in wanted]
        self.preload = ":".join(str(folder / name) for name in first + sorted(set(wanted) - set(first)))

    def link(self, name, functions, archives):
        stub, versions = self.folder / f"{name}.s", self.folder / f"{name}.map"
        stub.write_text(assembly(functions, STUBS.get(name, "stand_in_has_no")))
        versions.write_text(f"{name} {{ global: *; }};\n")
        written = []
        if name in WRITTEN:
            written = ["-Wl,--whole-archive", archives / f"libstand_in_{WRITTEN[name]}.a", "-Wl,--no-whole-archive"]
        # The driver's functions are looked for by name, and end processes in the place of the system's.
        script = [] if name == "libcuda.so.1" else [f"-Wl,--version-script,{versions}"]
        output("g++", "-shared", "-o", self.folder / name, stub, *written, f"-Wl,-soname,{name}", *script, "-ldl")


def lay_out(site, wheel, torch, cuda):
    """site/bora of the wheel, beside site/torch of libtorch's both parts."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    for name in ("bora", "bora-run"):
        (site / "bora/bin" / name).chmod(0o755)
    for name in ("cudnn", "nccl"):  # of which nothing stands in
        (site / f"bora/lib/bora/libbora_{name}.so").unlink(missing_ok=True)
    (site / "torch/lib").mkdir(parents=True)
    for folder in (torch / "lib", cuda / "torch/lib"):
        for file in folder.iterdir():
            if not (site / "torch/lib" / file.name).exists():
                (site / "torch/lib" / file.name).symlink_to(file.resolve())
    if (torch.parent / "nvidia").exists():
        (site / "nvidia").symlink_to((torch.parent / "nvidia").resolve())


def prepare(folder, build, wheel, torch, cuda):
    """The program, and the environment in which it sees a GPU."""
    shutil.rmtree(folder, ignore_errors=True)
    site = folder / "site"
    lay_out(site, wheel, torch, cuda)
    lib = site / "torch/lib"
    ours = [lib / name for name in ("libtorch_cpu.so", "libc10.so", "libc10_cuda.so", "libtorch_cuda.so")]
    there = [*lib.glob("libgomp*.so*"), *(site / "nvidia/cu13/lib").glob("libcupti.so*")]
    plugin = site / "bora/lib/bora/libbora_cuda.so"
    made = StandIn(build / "plugins/cuda/stand_ins/runtime", ours + there, [*ours, plugin], folder / "lib")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "OPENBLAS_"))}
    return site / "bora/bin/bora", environment | {"LD_PRELOAD": made.preload, "STAND_IN_GPUS": "1",
                                                  "HF_HUB_OFFLINE": "1"}
