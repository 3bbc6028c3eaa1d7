// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// What the wrong programs about models need beside the axes.
#pragma once
#include "axes.h"
#include "bora/models/add_model.h"
#include "bora/named/grad.h"
#include "bora/nn/default_init.h"
#include "bora/nn/embedding.h"
#include "bora/nn/norm.h"
#include "bora/nn/stacked.h"

using Hidden = Named<Batch, Pos, Embed>;
using Ids = Indices<Batch, Pos>;
