// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/rows_apart.h"

#include "bora/core/kernels/cpu/rows_apart.h"

namespace bora::core {

RowsApart::RowsApart(std::int64_t rows) : before_(kernels::set_rows_apart(rows)) {}
RowsApart::~RowsApart() { kernels::set_rows_apart(before_); }

}  // namespace bora::core
