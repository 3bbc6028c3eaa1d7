// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain_ops.h"

#include <utility>

namespace bora::core {
namespace {
thread_local bool plain_now = false;
}  // namespace

PlainOpsScope::PlainOpsScope(bool plain) : before_(std::exchange(plain_now, plain)) {}
PlainOpsScope::~PlainOpsScope() { plain_now = before_; }

bool plain_ops() { return plain_now; }

}  // namespace bora::core
