// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/earlier_run.h"

#include <fmt/core.h>

#include <exception>

#include "bora/base/file.h"
#include "bora/base/log.h"
#include "bora/checkpoint/run_lock.h"

namespace bora::run {
namespace {

void rename_folder(const std::string& from, const std::string& to) {
  files().rename(from, to);
  files().sync_directory(parent_path(to));
}

}  // namespace

EarlierRun::EarlierRun(const std::string& directory)
    : directory_(path_join(parent_path(directory), base_name(directory))) {
  if (!exists(directory_)) return;
  const checkpoint::RunLock lock(directory_);  // not from under a process that writes there
  int i = 1;
  while (exists(fmt::format("{}.before-{}", directory_, i))) ++i;
  const auto name = fmt::format("{}.before-{}", directory_, i);
  rename_folder(directory_, name);
  kept_ = name;
  log_info("the earlier run is kept as {}", kept_);
}

EarlierRun::~EarlierRun() {
  if (kept_.empty()) return;
  try {
    if (exists(directory_)) return;
    rename_folder(kept_, directory_);
    log_info("the earlier run is {} again", directory_);
  } catch (const std::exception&) {  // then it stays where it was said to be
  }
}

}  // namespace bora::run
