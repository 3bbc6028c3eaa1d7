// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core.
#pragma once

namespace bora::core {

/// Puts the reusing allocator in libtorch's place. Arrays made before keep their own.
void install_allocator();

}  // namespace bora::core
