// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Precompiled for the sources of core/autograd: half the compiler's time went into this one header.
#pragma once
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/torch/pch.h"
