// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain_ops.h"

#include <utility>

namespace bora::core {
namespace {
thread_local bool current = false;
}  // namespace

PlainOpsScope::PlainOpsScope(bool plain) : before_(std::exchange(current, plain)) {}
PlainOpsScope::~PlainOpsScope() { current = before_; }

bool plain_ops() { return current; }

}  // namespace bora::core
