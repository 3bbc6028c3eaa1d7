// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/hf_config.h"

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/checkpoint/mesh_transformer.h"

namespace bora::checkpoint {

Json read_hf_config(const std::string& directory) {
  auto path = path_join(directory, "config.json");
  if (!exists(path) && mesh_checkpoint(directory)) return mesh_config(directory);
  if (!exists(path)) {
    fail(ErrorKind::NotFound,
         "{} has no config.json\nhint: a model directory holds config.json and model.safetensors", directory);
  }
  return parse_json(read_text(path), path);
}

}  // namespace bora::checkpoint
