// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core.
#pragma once

namespace bora::core {

/// From now on our threads share libtorch's sums of two big fp32 arrays (residuals, and gradients of what is
/// used more than once) and the zeroing of big ones. libtorch is told to use one thread, because its other
/// ops are not deterministic with several; these two are, and have the same bits. Everything else of `add`
/// and `zero_` is libtorch's own.
void share_big_sums();

}  // namespace bora::core
