// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: what attention makes of the axes of its operands, with keys of this pass or of earlier ones.
#pragma once
#include <ATen/core/Tensor.h>

#include <string_view>
#include <vector>

#include "bora/core/attention.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"

namespace bora::core {

/// Axes of an attention call by role.
struct HeadRoles {
  NameList batch, kv_heads, group;
};
HeadRoles head_roles(const Operand& q, const Operand& k, const AttentionAxes& axes,
                     const AttentionRule& rule);

void check_attention(const Operand& q, const Operand& k, const Operand& v, const AttentionAxes& axes);
void check_rule(const AttentionRule& rule, const Operand& q);

/// q's axes as the kernels want them: batch, position, kv heads, group, head_dim.
NameList query_order(const HeadRoles& roles, std::string_view position, std::string_view head_dim);
/// Those of k and v: batch, position, kv heads, head_dim.
NameList key_order(const HeadRoles& roles, std::string_view key_position, std::string_view head_dim);

/// A number for each of this worker's heads [kv heads..., group...], undefined without.
at::Tensor of_heads(const Space& space, std::string_view what, const Operand& x, const HeadRoles& roles);

/// Those that a Space is made of.
std::vector<Operand> operands_of(const Operand& q, const Operand& k, const Operand& v,
                                 const AttentionRule& rule);

}  // namespace bora::core
