// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Base is linked as it ships, and ThreadSanitizer does not see the lock around its static variables: one thread makes the
// file system and the list of traces, before there are others.
#include "bora/base/file.h"
#include "bora/base/trace.h"

namespace {

[[maybe_unused]] const bora::FileSystem& the_files = bora::files();
[[maybe_unused]] const auto no_trace = bora::trace::stop();

}  // namespace
