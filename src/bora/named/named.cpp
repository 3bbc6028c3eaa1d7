// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/named/named.h"

#include "bora/base/error.h"

namespace bora {

namespace detail {

core::Array checked_rank(core::Array array, core::Names names, std::string_view what) {
  if (!array.empty() && array.rank() != static_cast<int>(names.size())) {
    fail(ErrorKind::InvalidArgument,
         "{}: {} axes {} for an array with {} dimensions\nhint: name every dimension", what, names.size(),
         core::describe(names), array.rank());
  }
  return array;
}

void require_integers(const core::Array& array, core::Names names) {
  if (array.empty() || array.dtype() == core::DType::i32 || array.dtype() == core::DType::i64) return;
  fail(ErrorKind::InvalidArgument, "indices_from_array: indices {} must be i32 or i64 but are {}",
       core::describe(names), core::name(array.dtype()));
}

}  // namespace detail

DynNamed::DynNamed(core::Array array, std::vector<std::string> names)
    : array_(std::move(array)), names_(std::move(names)) {
  std::vector<std::string_view> views(names_.begin(), names_.end());
  detail::checked_rank(array_, views, "DynNamed");
}

std::string DynNamed::describe() const {
  std::vector<std::string_view> views(names_.begin(), names_.end());
  return core::describe(core::Operand{array_, views});
}

core::Array DynNamed::in_order(core::Names names) const {
  std::vector<std::string_view> views(names_.begin(), names_.end());
  bool same = views.size() == names.size();
  for (auto name : names) same = same && std::find(views.begin(), views.end(), name) != views.end();
  if (!same) {
    fail(ErrorKind::InvalidArgument, "as: the array has axes {} but {} was asked for", describe(),
         core::describe(names));
  }
  return core::rearrange({array_, views}, names);
}

}  // namespace bora
