// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/runtime.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <torch/headeronly/version.h>

#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/parallel.h"
#include "bora/base/text.h"
#include "bora/core/attention_library.h"
#include "bora/core/device_kernels.h"
#include "bora/core/kernels/cpu/amx_matmul.h"
#include "bora/core/kernels/cpu/matmul.h"
#include "bora/core/kernels/cpu/simd_target.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/memory/allocator.h"
#include "bora/core/out_of_memory.h"
#include "bora/core/torch/shared_ops.h"

namespace bora::core {
namespace {

struct LoadedLibtorch {
  std::uint64_t version = 0;
  std::string file = "unknown file";
};

// Looked up by name: a libtorch that lacks the function must end in a message, not in the loader's.
LoadedLibtorch loaded_libtorch() {
  LoadedLibtorch out;
  void* symbol = ::dlsym(RTLD_DEFAULT, "aoti_torch_abi_version");
  if (symbol == nullptr) return out;
  out.version = reinterpret_cast<std::uint64_t (*)()>(symbol)();
  Dl_info info{};
  if (::dladdr(symbol, &info) != 0 && info.dli_fname != nullptr) out.file = info.dli_fname;
  return out;
}

std::string version_text(std::uint64_t version) {
  if (version == 0) return "one that does not tell its version";
  const auto tag = version & 0xFF'FFFF'FFFF;
  return fmt::format("{}.{}.{}{}", version >> 56, version >> 48 & 0xFF, version >> 40 & 0xFF,
                     tag == 0 ? "" : fmt::format(" (ABI {})", tag));
}

// Long where there are many cores: read once.
const std::string& cpu_text() {
  static const std::string text = [] {
    try {
      return read_text("/proc/cpuinfo");
    } catch (const Error&) {
      return std::string();
    }
  }();
  return text;
}

// "model name", "vendor_id"
std::string cpu_fact(std::string_view key) {
  const std::string_view text = cpu_text();
  const auto at = text.find(key);
  if (at == text.npos) return "unknown";
  const auto line = text.substr(at, text.find('\n', at) - at);
  return std::string(trim(line.substr(line.find(':') + 1)));
}

std::string_view line_of(std::string_view text) { return text.substr(0, text.find('\n')); }

Error out_of_memory(std::string_view fact) {
  return {ErrorKind::Io, fmt::format("{}\nhint: {}", fact, kMemoryAdvice)};
}

// What std::thread throws.
Error no_thread(std::string_view reason) {
  return {
      ErrorKind::Io,
      fmt::format(
          "a thread cannot be started: {}\nhint: ulimit -u says how many there may be, ulimit -v how much "
          "memory; fewer are made with a smaller trainer.threads, or BORA_THREADS",
          reason)};
}

Error unexpected(ErrorKind kind, std::string_view who, std::string_view what) {
  return {kind,
          fmt::format("{}: {}\nhint: this is a mistake in Bora; report it with the command that led here",
                      who, line_of(what))};
}

}  // namespace

void require_libtorch(std::uint64_t built_for, std::uint64_t loaded, std::string_view file) {
  if (loaded == built_for) return;
  fail(ErrorKind::Unsupported,
       "libtorch: this program was built for {} but found {} ({})\nhint: LIBTORCH_DIR and LD_LIBRARY_PATH "
       "must "
       "not name another libtorch; else run scripts/setup.sh, delete the build folder and run ./bora again",
       version_text(built_for), version_text(loaded), file);
}

Error current_error() {
  try {
    throw;
  } catch (const Error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return out_of_memory("out of memory");
  } catch (const c10::OutOfMemoryError& e) {
    return out_of_memory("libtorch: " + device_memory_fact(e.msg()));
  } catch (const c10::NotImplementedError& e) {
    return unexpected(ErrorKind::Unsupported, "libtorch", e.msg());
  } catch (const c10::Error& e) {
    return unexpected(ErrorKind::InvalidArgument, "libtorch", e.msg());
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::resource_unavailable_try_again) return no_thread(e.code().message());
    if (std::string_view(e.what()).starts_with("cannot write to file"))  // of fmt::print
      return {ErrorKind::Io, fmt::format("standard output cannot be written: {}", e.code().message())};
    return unexpected(ErrorKind::InvalidArgument, "internal error", e.what());
  } catch (const std::exception& e) {
    return unexpected(ErrorKind::InvalidArgument, "internal error", e.what());
  } catch (...) {
    return unexpected(ErrorKind::InvalidArgument, "internal error", "an exception of an unknown kind");
  }
}

namespace {

// Our kernels, and libtorch's and MKL's, which look at these variables when they are first used.
void cap_instructions(const std::string& target) {
  if (!kernels::cap_simd_target(target)) {
    fail(ErrorKind::Usage,
         "BORA_CPU_TARGET is {}; it must be AVX3 or AVX2\nhint: unset it to use what the CPU has", target);
  }
  const bool avx2 = target == "AVX2";
  env::prefer("ATEN_CPU_CAPABILITY", avx2 ? "avx2" : "avx512");
  env::prefer("MKL_ENABLE_INSTRUCTIONS", avx2 ? "AVX2" : "AVX512");
}

// Its bits are not those of libtorch's.
std::string attention_words(const AttentionLibrary& library) {
  return library.name.empty() || !library.why_not.empty() ? "" : ", attention by " + library.name;
}

}  // namespace

void initialize(int threads) {
  const auto libtorch = loaded_libtorch();
  require_libtorch(TORCH_ABI_VERSION, libtorch.version, libtorch.file);
  if (const auto target = env::cpu_target()) cap_instructions(*target);
  threads = threads > 0 ? bounded_threads(threads) : hardware_threads();
  install_allocator();
  at::set_num_threads(1);  // what is worth several threads runs in the kernels' own
  share_big_sums();
  kernels::set_threads(threads);
  at::GradMode::set_enabled(false);
}

RuntimeInfo runtime_info() {
  const auto libtorch = loaded_libtorch();
  RuntimeInfo info{.libtorch = version_text(libtorch.version),
                   .libtorch_file = libtorch.file,
                   .simd_target = kernels::simd_target(),
                   .matmul = kernels::matmul_path(),
                   .cpu = cpu_fact("model name"),
                   .threads = kernels::threads()};
  info.instructions = info.simd_target + (kernels::amx_matmul_works() ? ", AMX" : "");
  info.arithmetic = fmt::format("{} ({} products, libtorch {}, {})", info.simd_target, info.matmul,
                                at::get_cpu_capability(), cpu_fact("vendor_id"));
  if (const auto device = default_device(); device != Device())
    info.arithmetic = fmt::format("{} (libtorch {}{})", description(device), info.libtorch,
                                  attention_words(attention_library(device.type)));
  return info;
}

}  // namespace bora::core
