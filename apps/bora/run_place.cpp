// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "run_place.h"

#include <optional>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/hash.h"
#include "bora/train/run_name.h"

namespace bora::app {

namespace {

std::optional<std::string> given_id(const train::TrainerConfig& trainer) {
  if (trainer.id) return trainer.id;
  if (auto id = env::run_id()) return id;
  return trainer.configured_id();
}

}  // namespace

RunPlace run_place(const LmConfig& config) {
  RunPlace place;
  auto id = given_id(config.trainer);
  if (id && (id->empty() || id->find('/') != id->npos || id->starts_with('.'))) {
    fail(ErrorKind::Config,
         "the run's name \"{}\" cannot be the name of a directory\nhint: it comes from trainer.id, the "
         "variable RUN_ID or the id of the W&B tracker",
         *id);
  }
  auto part = training_part(config);
  place.id = id ? *id : train::run_name(hash128(config_identity(part)));
  place.directory = config.trainer.checkpointer.run_directory(place.id);
  return place;
}

}  // namespace bora::app
