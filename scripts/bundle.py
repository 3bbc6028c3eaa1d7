#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Puts the built program, its plug-ins and the small libraries that it needs together; run by wheel.sh and portable.sh.

bundle.py wheel BUILD FOLDER           FOLDER/bora-VERSION-py3-none-manylinux_2_36_x86_64.whl
bundle.py portable BUILD TORCH FOLDER  FOLDER/bora-VERSION-linux-x86_64.tar.gz, with what libtorch consists of
bundle.py tests FOLDER PROGRAM...      programs that find no library but by LD_LIBRARY_PATH, not even where they were built

In the first two: bin/bora and bin/bora-run; lib/bora with plug-ins and libraries; recipes, manual pages and completions. Programs
look for libraries in lib/bora, then, in a wheel, in the torch package beside their own. Equal inputs give equal bytes.
Format: https://packaging.python.org/en/latest/specifications/binary-distribution-format/
"""

import base64
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLATFORM = "manylinux_2_36_x86_64"
GLIBC = (2, 36)  # that of the platform
SETUP = (ROOT / "scripts/setup.sh").read_text()
TORCH, PYARROW = (re.search(f"^readonly {name}_version=(.*)$", SETUP, re.M).group(1) for name in ("torch", "arrow"))
# Every Linux with that C library has them, in versions that serve: a C++ library of GCC 12 is as old as glibc 2.36.
OF_THE_SYSTEM = r"ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|gcc_s|stdc\+\+)\.so\..*"
# What comes with the packages torch and pyarrow, and what only workers need, who need mpirun too.
OF_OTHERS = r"lib(torch|torch_cpu|c10|gomp|cudart|cupti|nccl|arrow|arrow_s3|parquet|mpi|open-rte|open-pal)\b.*"
# The package bora: becomes the program, if the torch beside it is the one that it was built with.
START = f"""\
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
import os
import re
import sys

TORCH = "{TORCH}"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    torch = os.path.join(os.path.dirname(here), "torch")
    try:
        with open(os.path.join(torch, "version.py")) as file:
            there = re.search(r"__version__ *=.*?'([^'+]*)", file.read()).group(1)
    except (OSError, AttributeError):
        there = "none"
    if there != TORCH:
        sys.exit(f"bora: needs torch {{TORCH}} in {{torch}}, which has {{there}}\\nhint: pip install torch=={{TORCH}}")
    os.execv(os.path.join(here, "bin", "bora"), ["bora"] + sys.argv[1:])
"""
MAIN = """\
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
from bora import main

main()
"""


def fail(message):
    sys.exit(f"bora: bundle: {message}")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def version():
    return re.search(r"project\(bora VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def needed(file):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", file))


def libraries(files):
    """Small libraries that the files need, one after another: name -> path."""
    found, todo = {}, list(files)
    while todo:
        file = todo.pop()
        at = dict(re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", file), re.M))
        for name in needed(file):
            if name in found or re.fullmatch(OF_THE_SYSTEM, name) or re.fullmatch(OF_OTHERS, name):
                continue
            if name not in at:
                fail(f"{file} needs {name}, which is not found\nhint: does the program run here?")
            found[name] = at[name]
            todo.append(at[name])
    return found


def set_rpath(file, rpath):
    """As long as before at most: the table of strings does not grow."""
    old = re.search(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", output("readelf", "-d", file))
    if not old:
        if libraries([file]):
            fail(f"{file} was linked without an rpath")
        return
    with tempfile.NamedTemporaryFile("w", suffix=".cmake") as script:
        script.write(f'file(RPATH_CHANGE FILE "{file}" OLD_RPATH "{old.group(1)}" NEW_RPATH "{rpath}")\n')
        script.flush()
        output("cmake", "-P", script.name)


def check_glibc(file):
    for name in sorted(set(re.findall(r"\(?GLIBC_([0-9.]+)\)?", output("objdump", "-T", file)))):
        if tuple(map(int, name.split("."))) > GLIBC:
            fail(f"{file} needs glibc {name}, and {PLATFORM} has {GLIBC[0]}.{GLIBC[1]}\nhint: build on Debian 12")


def licences(names, folder):
    """What Debian says of the libraries' packages."""
    for path in sorted(names.values()):
        real = os.path.realpath(path)
        for spelling in (real, path, re.sub("^/usr", "", real)):
            owner = subprocess.run(["dpkg", "-S", spelling], capture_output=True, text=True)
            if owner.returncode == 0:
                break
        else:
            fail(f"{real} belongs to no package, so its licence is not known")
        package = owner.stdout.split(":")[0]
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", folder / f"{package}.txt")


def fill(build, folder, share, texts, plugins, more):
    """bin and lib/bora in `folder`; recipes and pages in `share`, licences in `texts`. `more`: where else programs look."""
    programs = [build / "apps/bora/bora", build / "apps/bora/bora-run"]
    plugins = [build / "plugins" / kind / f"libbora_{kind}.so" for kind in plugins]
    of_gpus = [build.parent / f"cuda/plugins/{kind}/libbora_{kind}.so" for kind in ("cuda", "nccl", "cudnn")]
    plugins += filter(pathlib.Path.exists, of_gpus)
    small = libraries(programs + plugins)
    (folder / "bin").mkdir(parents=True)
    (folder / "lib/bora").mkdir(parents=True)
    for source in programs:
        shutil.copy(source, folder / "bin")
        set_rpath(folder / "bin" / source.name, ":".join(["$ORIGIN/../lib/bora"] + more))
    for source in plugins:
        shutil.copy(source, folder / "lib/bora")
        beside = {"libbora_arrow.so": ":$ORIGIN/../../../pyarrow",
                  "libbora_nccl.so": ":$ORIGIN/../../../nvidia/nccl/lib",
                  "libbora_cudnn.so": ":$ORIGIN/../../../nvidia/cudnn/lib"}
        set_rpath(folder / "lib/bora" / source.name, "$ORIGIN" + beside.get(source.name, ""))
    for name, source in small.items():
        shutil.copyfile(source, folder / "lib/bora" / name)
    for file in [*(folder / "bin").iterdir(), *(folder / "lib/bora").iterdir()]:
        output("strip", "--strip-unneeded", file)
        check_glibc(file)
    output("cmake", f"-DCMAKE_INSTALL_PREFIX={share.parent}", f"-DPROGRAM={programs[1]}",
           f"-DMAN={share.name}/man/man1", f"-DDATA={share.name}", "-P", ROOT / "apps/bora/install_pages.cmake")
    (share / "bora/recipes").mkdir(parents=True)
    for recipe in files_of(ROOT / "recipes"):
        shutil.copyfile(recipe, share / "bora/recipes" / recipe.name)
    texts.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "LICENSE", texts)
    licences(small, texts / "libraries")


def files_of(folder):
    return sorted(p for p in folder.rglob("*") if p.is_file())


def wheel(build, out):
    name = f"bora-{version()}"
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        info = work / f"{name}.dist-info"
        fill(build, work / "bora", work / f"{name}.data/data/share", info / "licenses", ["arrow", "mpi"],
             ["$ORIGIN/../../torch/lib"])
        (work / "bora/__init__.py").write_text(START)
        (work / "bora/__main__.py").write_text(MAIN)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.4\nName: bora\nVersion: {version()}\n"
            "Summary: Trains foundation models: named axes, any number of workers, the same bits\n"
            "License-Expression: Apache-2.0\nLicense-File: LICENSE\nRequires-Python: >=3.10\n"
            f"Requires-Dist: torch=={TORCH}\nProvides-Extra: arrow\n"
            f"Requires-Dist: pyarrow=={PYARROW}; extra == \"arrow\"\nDescription-Content-Type: text/markdown\n\n"
            + (ROOT / "README.md").read_text())
        (info / "WHEEL").write_text(
            f"Wheel-Version: 1.0\nGenerator: bora\nRoot-Is-Purelib: false\nTag: py3-none-{PLATFORM}\n")
        (info / "entry_points.txt").write_text("[console_scripts]\nbora = bora:main\n")
        path = out / f"{name}-py3-none-{PLATFORM}.whl"
        record = ""
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            def add(inside, data, mode):
                entry = zipfile.ZipInfo(inside, (1980, 1, 1, 0, 0, 0))
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
                archive.writestr(entry, data)
            for file in files_of(work):
                inside, data = str(file.relative_to(work)), file.read_bytes()
                add(inside, data, 0o755 if "/bin/" in inside else 0o644)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                record += f"{inside},sha256={digest},{len(data)}\n"
            add(f"{name}.dist-info/RECORD", record + f"{name}.dist-info/RECORD,,\n", 0o644)
    return path


def portable(build, torch, out):
    name = f"bora-{version()}-linux-x86_64"
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / name
        fill(build, folder, folder / "share", folder / "licenses", ["mpi"], [])
        for pattern in ("lib/libtorch_cpu.so", "lib/libc10.so", "lib/libgomp.so.1",
                        "../nvidia/cu13/lib/libcudart.so.13", "../nvidia/cu13/lib/libcupti.so.13"):
            shutil.copyfile(torch / pattern, folder / "lib/bora" / pathlib.Path(pattern).name)
        for text in sorted(torch.parent.glob("*.dist-info/**/*icense*")) + sorted(
                torch.parent.glob("*.dist-info/**/*ICENSE*")):
            if text.is_file():
                inside = folder / "licenses" / text.relative_to(torch.parent)
                inside.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(text, inside)
        path = out / f"{name}.tar.gz"
        with open(path, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, 0) as packed, tarfile.open(
                fileobj=packed, mode="w") as archive:
            for file in files_of(folder):
                entry = tarfile.TarInfo(str(file.relative_to(folder.parent)))
                entry.size, entry.mode = file.stat().st_size, 0o755 if file.parent.name == "bin" else 0o644
                archive.addfile(entry, io.BytesIO(file.read_bytes()))
    return path


def tests(folder, *programs):
    for program in programs:
        shutil.copy(program, folder)
        set_rpath(folder / program.name, "$ORIGIN")
        output("strip", folder / program.name)


def main():
    kind, arguments = (sys.argv[1:2] or [""])[0], list(map(pathlib.Path, sys.argv[2:]))
    if kind == "tests" and len(arguments) > 1:
        tests(*arguments)
        return
    if (kind, len(arguments)) not in (("wheel", 2), ("portable", 3)):
        sys.exit(__doc__)
    arguments[-1].mkdir(parents=True, exist_ok=True)
    path = wheel(*arguments) if kind == "wheel" else portable(*arguments)
    print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


main()
