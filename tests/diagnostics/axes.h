// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The axes of the wrong programs.
#pragma once
#include "bora/named/fields.h"
#include "bora/named/grad.h"
#include "bora/named/ops.h"
#include "bora/nn/attention.h"
#include "bora/nn/linear.h"
#include "bora/nn/stacked.h"

using namespace bora;

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct KeyPos : axis<"key_position"> {};
struct Embed : axis<"embed"> {};
struct Head : axis<"head"> {};
struct HeadDim : axis<"head_dim"> {};
struct Mlp : axis<"mlp"> {};
struct Vocab : axis<"vocab"> {};
struct Feature : axis<"feature"> {};
struct Target : axis<"target"> {};
