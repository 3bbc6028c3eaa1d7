// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::cuda {

/// Devices on which a kernel of this build runs and gives the right answer; 0 without a driver.
int count_working_devices();

}  // namespace bora::cuda
