// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/data/dataset.h"
#include "bora/data/shuffle.h"

namespace bora::data {

/// A dataset over and over, in an order of its own each time: epoch e is shuffled with key.fold(e), or with
/// key.fold(0) every time if shuffle.reshuffle_each_epoch is off. Errors: InvalidArgument if the dataset is
/// empty or endless already.
DatasetPtr endless(DatasetPtr base, const Shuffle& shuffle, const Key& key);

/// A dataset in the order that endless() has in its first epoch. Errors: as above.
DatasetPtr shuffled(DatasetPtr base, const Shuffle& shuffle, const Key& key);

}  // namespace bora::data
