// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/layout/checks.h"

#include "bora/base/error.h"
#include "bora/core/layout/layout.h"

namespace bora::core {

Dims dims_of(std::string_view op, const Operand& x, Names axes) {
  Dims dims;
  dims.reserve(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    dims.push_back(require(op, x, axes[i]));
    if (find(axes.first(i), axes[i]) >= 0) {
      fail(ErrorKind::InvalidArgument, "{}: axis {} is named twice in {}", op, axes[i], describe(axes));
    }
  }
  return dims;
}

NameList without(Names names, Names axes) {
  NameList rest;
  rest.reserve(names.size());
  for (const std::string_view axis : names) {
    if (find(axes, axis) < 0) rest.push_back(axis);
  }
  return rest;
}

NameList joined(Names a, Names b) {
  NameList all(a.begin(), a.end());
  for (const std::string_view axis : b) {
    if (find(a, axis) < 0) all.push_back(axis);
  }
  return all;
}

bool within(Names inner, Names outer) {
  return std::all_of(inner.begin(), inner.end(),
                     [&](std::string_view axis) { return find(outer, axis) >= 0; });
}

void require_same_axes(std::string_view op, Names have, Names out) {
  if (have.size() == out.size() && within(have, out)) return;
  fail(ErrorKind::InvalidArgument, "{}: the result has the axes {}, not {}", op, describe(have),
       describe(out));
}

void require_new(std::string_view op, const Operand& x, std::string_view axis) {
  if (find(x.names, axis) < 0) return;
  fail(ErrorKind::InvalidArgument,
       "{}: axis {} is in {} already\nhint: choose another name, or rename the axis it has", op, axis,
       describe(x));
}

void check_shape(std::string_view op, const Shape& shape) {
  if (shape.names.size() != shape.sizes.size()) {
    fail(ErrorKind::InvalidArgument, "{}: {} axes are named but {} sizes are given: {}", op,
         shape.names.size(), shape.sizes.size(), describe(shape));
  }
  for (std::size_t i = 0; i < shape.sizes.size(); ++i) {
    if (shape.sizes[i] < 0) {
      fail(ErrorKind::InvalidArgument, "{}: axis {} cannot have size {}", op, shape.names[i], shape.sizes[i]);
    }
    if (find(shape.names.first(i), shape.names[i]) >= 0) {
      fail(ErrorKind::InvalidArgument, "{}: axis {} appears twice in {}", op, shape.names[i],
           describe(shape));
    }
  }
}

void require_floating(std::string_view op, const Operand& x) {
  if (is_floating(x.array.dtype())) return;
  fail(ErrorKind::InvalidArgument,
       "{}: needs floating-point elements, {} holds {}\nhint: cast it to f32 first", op, describe(x),
       name(x.array.dtype()));
}

void require_indices(std::string_view op, const Operand& x) {
  const DType dtype = x.array.dtype();
  if (dtype == DType::i64 || dtype == DType::i32) return;
  fail(ErrorKind::InvalidArgument, "{}: indices must be i32 or i64, {} holds {}", op, describe(x),
       name(dtype));
}

void require_number(std::string_view op, const Operand& x) {
  if (x.array.dtype() != DType::boolean) return;
  fail(ErrorKind::InvalidArgument,
       "{}: needs numbers, {} holds bool\nhint: cast it first, or use logical_and/or", op, describe(x));
}

void require_boolean(std::string_view op, const Operand& x) {
  if (x.array.dtype() == DType::boolean) return;
  fail(ErrorKind::InvalidArgument, "{}: needs bool elements, {} holds {}\nhint: compare it with 0 first", op,
       describe(x), name(x.array.dtype()));
}

void require_same_dtype(std::string_view op, const Operand& a, const Operand& b) {
  const DType left = a.array.dtype(), right = b.array.dtype();
  if (left == right) return;
  fail(ErrorKind::InvalidArgument,
       "{}: {} holds {} but {} holds {}\nhint: cast one of them; element types are never mixed silently", op,
       describe(a), name(left), describe(b), name(right));
}

}  // namespace bora::core
