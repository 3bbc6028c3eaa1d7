// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/user_files.h"

namespace bora::cli {
namespace {

struct Side {
  std::vector<std::unique_ptr<checkpoint::SafetensorsFile>> files;
  std::map<std::string, std::pair<const checkpoint::SafetensorsFile*, const checkpoint::StoredTensor*>>
      tensors;
  std::string state;  // state.json of a checkpoint
};

void add_file(Side& side, const std::string& path, const std::string& prefix) {
  side.files.push_back(std::make_unique<checkpoint::SafetensorsFile>(path));
  for (const auto& t : side.files.back()->tensors())
    side.tensors[prefix + t.name] = {side.files.back().get(), &t};
}

Side open_side(const std::string& path) {
  Side side;
  auto info = files().info(path);
  if (!info)
    fail(ErrorKind::NotFound,
         "{} does not exist\nhint: give checkpoints, export directories or safetensors files", path);
  if (!info->is_directory) {
    require_tensor_file(path, false);
    add_file(side, path, "");
    return side;
  }
  for (const auto& name : files().list(path)) {
    if (!name.ends_with(".safetensors")) continue;
    add_file(side, path_join(path, name), name.starts_with("optimizer") ? "optimizer " : "");
  }
  if (side.files.empty())
    fail(ErrorKind::NotFound,
         "{} holds no safetensors files\nhint: name a checkpoint (step-N) or an export, not a run", path);
  auto state = path_join(path, "state.json");
  if (exists(state)) side.state = read_text(state);
  return side;
}

struct Difference {
  std::string name, text;
  double largest = 0;
};

std::string place(std::int64_t flat, const std::vector<std::int64_t>& shape) {
  std::vector<std::string> parts(shape.size());
  for (auto d = std::ssize(shape) - 1; d >= 0; --d) {
    auto i = static_cast<std::size_t>(d);
    parts[i] = std::to_string(flat % shape[i]);
    flat /= shape[i];
  }
  return "[" + join(parts) + "]";
}

// Nothing if the two hold the same bits.
std::optional<Difference> compare(const std::string& name, const Side& a, const Side& b) {
  const auto& [file_a, x] = a.tensors.at(name);
  const auto& [file_b, y] = b.tensors.at(name);
  if (x->shape != y->shape) return Difference{name, "shapes differ", INFINITY};
  auto bytes_a = file_a->bytes(*x), bytes_b = file_b->bytes(*y);
  if (x->type == y->type && bytes_a.size() == bytes_b.size() &&
      (bytes_a.empty() || std::memcmp(bytes_a.data(), bytes_b.data(), bytes_a.size()) == 0)) {
    return std::nullopt;
  }
  std::vector<float> u, v;
  try {
    u = file_a->floats(name.substr(name.find(' ') + 1));
    v = file_b->floats(name.substr(name.find(' ') + 1));
  } catch (const Error&) {
    return Difference{name, "bytes differ", INFINITY};
  }
  Difference d{name, "", -1};
  std::int64_t at = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    double gap = std::abs(static_cast<double>(u[i]) - v[i]);
    if (std::isnan(gap)) gap = INFINITY;
    if (gap > d.largest) d.largest = gap, at = static_cast<std::int64_t>(i);
  }
  d.text = fmt::format("max |a-b| {:.2g} at {}", d.largest, place(at, x->shape));
  if (d.largest == 0)
    d.text = x->type == y->type ? "differ in the sign of zero only" : "equal values in different types";
  return d;
}

}  // namespace

int run_diff(const Arguments& arguments) {
  std::string left, right;
  std::int64_t most = 10;
  Args args(
      "diff",
      "Compare two checkpoints, exports or safetensors files bit by bit. Exit code 0: bit-equal; 1: not.",
      "  bora diff runs/a/step-600 runs/b/step-600\n  bora diff a.safetensors b.safetensors");
  args.positional("a", left, "a checkpoint (step-N), an export directory or a safetensors file").is_path();
  args.positional("b", right, "the other").is_path();
  args.option("--most", most, kNonNegative, "differences to show, largest first");
  args.parse(arguments);
  auto a = open_side(left), b = open_side(right);
  std::vector<Difference> found;
  std::int64_t elements = 0, optimizer = 0;
  for (const auto& [name, tensor] : a.tensors) {
    if (!b.tensors.contains(name))
      found.push_back({name, "only in " + left, INFINITY});
    else if (auto d = compare(name, a, b))
      found.push_back(*d);
    if (name.starts_with("optimizer "))
      ++optimizer;
    else
      elements += tensor.second->elements();
  }
  std::size_t all = a.tensors.size(), common = 0;
  for (const auto& [name, tensor] : b.tensors) {
    if (a.tensors.contains(name)) {
      ++common;
      continue;
    }
    found.push_back({name, "only in " + right, INFINITY});
    ++all;
  }
  const auto tensors = found.size();
  if (a.state != b.state) found.push_back({"state.json", "differs", INFINITY});
  auto parameters = static_cast<std::int64_t>(a.tensors.size()) - optimizer;
  if (found.empty()) {
    fmt::print("bit-equal: {} tensors, {} elements{}{}\n", parameters, with_commas(elements),
               optimizer > 0 ? ", optimizer" : "", a.state.empty() ? "" : ", keys, loader");
    return 0;
  }
  std::stable_sort(found.begin(), found.end(), [](auto& x, auto& y) { return x.largest > y.largest; });
  fmt::print("differ: {} of {} tensors{}\n", tensors, all, tensors < found.size() ? ", and the state" : "");
  if (common == 0 && all > 0)
    fmt::print(
        "hint: they have no name in common; an export has other names than a checkpoint: bora import "
        "makes one of it\n");
  for (std::size_t i = 0; i < found.size() && i < static_cast<std::size_t>(most); ++i)
    fmt::print("  {:<40}  {}\n", found[i].name, found[i].text);
  return 1;
}

}  // namespace bora::cli
