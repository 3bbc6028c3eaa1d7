// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/background_build.h"

#include "bora/base/error.h"

namespace bora::data {

BackgroundBuild::~BackgroundBuild() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const store::GrowingCache> BackgroundBuild::add(
    std::string name, std::string directory, std::vector<std::string> sources,
    std::shared_ptr<const store::Processor> processor, store::CacheOptions options) {
  options.progress = [this, told = std::move(options.progress)](const store::CacheProgress& progress) {
    if (stopping_) fail(ErrorKind::Stopped, "the build of the token cache was stopped");
    if (told) told(progress);
  };
  tasks_.push_back(
      {std::move(name), directory, std::move(sources), std::move(processor), std::move(options)});
  return std::make_shared<store::GrowingCache>(std::move(directory),
                                               [self = shared_from_this()] { self->check(); });
}

void BackgroundBuild::start() {
  if (!tasks_.empty()) thread_ = std::thread([this] { work(); });
}

void BackgroundBuild::work() {
  try {
    for (const auto& task : tasks_) {
      in_context(fmt::format("data set {}", task.name),
                 [&] { store::build_cache(task.directory, task.sources, *task.processor, task.options); });
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
  }
}

void BackgroundBuild::check() const {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

}  // namespace bora::data
