// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/runtime.h"

#include <torch/headeronly/version.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include "bora/core/layout/refusal.h"
#include "bora/core/out_of_memory.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using testing::error_of;

constexpr std::uint64_t version(std::uint64_t major, std::uint64_t minor, std::uint64_t patch,
                                std::uint64_t tag = 0) {
  return major << 56 | minor << 48 | patch << 40 | tag;
}

constexpr const char* kRuntimeHint =
    "\nhint: LIBTORCH_DIR and LD_LIBRARY_PATH must not name another libtorch; else run scripts/setup.sh, "
    "delete the build folder and run ./bora again";

TEST(Runtime, AnotherLibtorchIsRefused) {
  EXPECT_EQ(error_of([] { require_libtorch(version(2, 11, 0), version(2, 10, 1), "/x/libtorch_cpu.so"); }),
            std::string("libtorch: this program was built for 2.11.0 but found 2.10.1 (/x/libtorch_cpu.so)") +
                kRuntimeHint);
  EXPECT_EQ(
      error_of([] { require_libtorch(version(2, 11, 0), version(2, 11, 0, 3), "f"); }),
      std::string("libtorch: this program was built for 2.11.0 but found 2.11.0 (ABI 3) (f)") + kRuntimeHint);
  EXPECT_EQ(error_of([] { require_libtorch(version(2, 11, 0), 0, "unknown file"); }),
            std::string("libtorch: this program was built for 2.11.0 but found one that does not tell its "
                        "version (unknown file)") +
                kRuntimeHint);
  EXPECT_NO_THROW(require_libtorch(version(2, 11, 0), version(2, 11, 0), "f"));
}

TEST(Runtime, TheLoadedLibtorchTellsItsVersion) { EXPECT_EQ(runtime_info().libtorch, TORCH_VERSION); }

template <class Body>
Error seen(Body body) {
  try {
    body();
  } catch (...) {
    return current_error();
  }
  return {ErrorKind::Usage, "no error"};
}

constexpr const char* kReport = "\nhint: this is a mistake in Bora; report it with the command that led here";

TEST(CurrentError, LibtorchsOwnLoseTheirTrace) {
  const auto shape = seen([] { (void)testing::values({2, 3}).view({5}); });
  EXPECT_EQ(shape.kind(), ErrorKind::InvalidArgument);
  EXPECT_EQ(shape.what(), std::string("libtorch: shape '[5]' is invalid for input of size 6") + kReport);
  const auto unsupported = seen([] { TORCH_CHECK_NOT_IMPLEMENTED(false, "not on this device\nmore"); });
  EXPECT_EQ(unsupported.kind(), ErrorKind::Unsupported);
  EXPECT_EQ(unsupported.what(), std::string("libtorch: not on this device") + kReport);
}

TEST(CurrentError, MemoryThatRanOut) {
  const auto advice = "\nhint: " + std::string(kMemoryAdvice);
  const auto ours = seen([] { throw std::bad_alloc(); });
  EXPECT_EQ(ours.kind(), ErrorKind::Io);
  EXPECT_EQ(ours.what(), "out of memory" + advice);
  const auto theirs = seen([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "9 GB"); });
  EXPECT_EQ(theirs.kind(), ErrorKind::Io);
  EXPECT_EQ(theirs.what(), "libtorch: " + device_memory_fact("9 GB") + advice);
}

TEST(CurrentError, NoMoreThreads) {
  const auto full = seen([] { throw std::system_error(EAGAIN, std::generic_category()); });
  EXPECT_EQ(full.kind(), ErrorKind::Io);
  EXPECT_EQ(full.what(),
            std::string(
                "a thread cannot be started: Resource temporarily unavailable\nhint: ulimit -u says how many "
                "there may be, ulimit -v how much memory; fewer are made with a smaller trainer.threads, or "
                "BORA_THREADS"));
}

TEST(CurrentError, AnErrorStaysAndTheRestIsNamed) {
  const auto same = seen([] { fail(ErrorKind::NotFound, "x: gone\nhint: look again"); });
  EXPECT_EQ(same.kind(), ErrorKind::NotFound);
  EXPECT_STREQ(same.what(), "x: gone\nhint: look again");
  EXPECT_EQ(seen([] { throw std::out_of_range("vector\nat"); }).what(),
            std::string("internal error: vector") + kReport);
  const auto full = seen([] {
    throw std::system_error(std::make_error_code(std::errc::no_space_on_device), "cannot write to file");
  });
  EXPECT_EQ(full.kind(), ErrorKind::Io);
  EXPECT_STREQ(full.what(), "standard output cannot be written: No space left on device");
  EXPECT_EQ(seen([] { throw 1; }).what(),
            std::string("internal error: an exception of an unknown kind") + kReport);
}

}  // namespace
}  // namespace bora::core
