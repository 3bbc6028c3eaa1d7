// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/locale_text.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/checkpoint/safetensors_writer.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/open_device.h"
#include "bora/cli/user_files.h"
#include "bora/core/runtime.h"
#include "bora/run/forward.h"
#include "bora/run/models.h"
#include "bora/run/peft.h"

namespace bora::cli {
namespace {

struct IdMatrix {
  std::vector<std::int32_t> ids;
  std::int64_t batch = 0, positions = 0;
};

std::int32_t checked_id(std::int64_t id, const std::string& path) {
  if (id < 0 || id > std::numeric_limits<std::int32_t>::max())
    fail(ErrorKind::Corruption, "{}: {} is not a token id", path, id);
  return static_cast<std::int32_t>(id);
}

template <class T>
std::vector<std::int32_t> ids_of(std::span<const std::byte> bytes, const std::string& path) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + i, sizeof(T));
    out.push_back(checked_id(value, path));
  }
  return out;
}

IdMatrix ids_from_safetensors(const std::string& path) {
  checkpoint::SafetensorsFile file(path);
  const auto& tensor = file.at("input_ids");
  IdMatrix out;
  if (tensor.shape.size() > 2 || tensor.shape.empty()) {
    fail(ErrorKind::Corruption, "{}: input_ids has {} dimensions, not [position] or [batch, position]", path,
         tensor.shape.size());
  }
  out.positions = tensor.shape.back();
  out.batch = tensor.shape.size() == 2 ? tensor.shape[0] : 1;
  if (tensor.type == checkpoint::StoredType::I64)
    out.ids = ids_of<std::int64_t>(file.bytes(tensor), path);
  else if (tensor.type == checkpoint::StoredType::I32)
    out.ids = ids_of<std::int32_t>(file.bytes(tensor), path);
  else
    fail(ErrorKind::Corruption, "{}: input_ids is {}, not I64 or I32", path, checkpoint::name(tensor.type));
  return out;
}

IdMatrix ids_from_json(const std::string& path) {
  auto json = parse_json(read_text(path), path);
  if (json.is_object() && json.contains("input_ids")) json = json["input_ids"];
  if (json.is_array() && !json.empty() && json[0].is_number()) json = Json::array({json});
  IdMatrix out;
  bool rows = json.is_array() && std::all_of(json.begin(), json.end(), [](auto& x) { return x.is_array(); });
  if (!rows)
    fail(ErrorKind::Corruption, "{}: expected a list of lists of ids, or {{\"input_ids\": ...}}", path);
  for (const auto& row : json) {
    auto n = static_cast<std::int64_t>(row.size());
    if (out.batch > 0 && n != out.positions)
      fail(ErrorKind::Corruption, "{}: row {} has {} ids but row 0 has {}", path, out.batch, n,
           out.positions);
    out.positions = n;
    ++out.batch;
    for (const auto& id : row) {
      if (!id.is_number_integer()) fail(ErrorKind::Corruption, "{}: {} is not a token id", path, id.dump());
      out.ids.push_back(checked_id(id.get<std::int64_t>(), path));
    }
  }
  return out;
}

}  // namespace

int run_forward(const Arguments& arguments) {
  std::string model_dir, adapter, ids_path, out_path;
  bool force = false;
  run::ForwardOptions options;
  DeviceFlag device;
  Args args("forward", "Logits, loss, hidden states and gradients of given ids, for comparing models.",
            "  bora forward --model DIR --ids ids.json --out out.safetensors --hidden --grads\n"
            "  ids.json: [[1, 403, 407]] or {\"input_ids\": [[...]]}; a safetensors file holds input_ids "
            "[batch, position]");
  args.option("--model", model_dir, "a Hugging Face model directory", true).is_path();
  args.option("--adapter", adapter, "put this adapter on the model: a directory as PEFT writes it").is_path();
  args.option("--ids", ids_path, "json or safetensors file with input_ids", true).is_path();
  args.option("--out", out_path, "safetensors file to write", true).is_path();
  device.declare(args);
  args.flag("--force", force, kForceDoc);
  args.flag("--hidden", options.hidden, "also hidden_states.i");
  args.flag("--grads", options.grads, "also grad.<name> of the loss");
  args.parse(arguments);
  require_free_file("forward", "--out", out_path, force);
  core::initialize();
  const auto in_use = open_device(device, "forward");
  auto model = run::load_model(model_dir);
  if (!adapter.empty()) run::load_peft(*model, adapter);
  auto ids = ids_path.ends_with(".safetensors") ? ids_from_safetensors(ids_path) : ids_from_json(ids_path);
  auto results = run::forward(*model, ids.ids, ids.batch, ids.positions, options);
  std::vector<checkpoint::TensorSource> sources;
  for (const auto& [name, r] : results)
    sources.push_back(checkpoint::tensor_of_floats(name, core::DType::f32, r.shape, r.values));
  checkpoint::write_safetensors(out_path, std::move(sources));
  const float loss = results.at("loss").values[0];
  print_shown("loss {:.6f} · {} tensors -> {}\n", std::isnan(loss) ? std::abs(loss) : loss, results.size(),
              out_path);
  if (!std::isfinite(loss)) {  // of use for finding out why, all the same
    print_note("bora: forward: the loss is not finite; the tensors are written as they are\n");
    return exit_code(ErrorKind::NonFinite);
  }
  return 0;
}

}  // namespace bora::cli
