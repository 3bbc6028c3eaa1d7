// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: The broadcasting bug that hides in a mean
// WHY: a weight with an extra axis gives predictions [batch, target]; y is [batch]. Their difference would be computed
//      happily and its mean would hide the mistake if the result were declared as the loss of one target.
// FIX: a weight [feature] for a single target.
// EXPECT-GCC: from .Named<Target>. to .Named<>
// EXPECT-CLANG: from returned value of type 'Named<Target>' to function return type 'Named<
#include "axes.h"
Named<> wrong(const Named<Batch, Feature>& x, const Named<Batch>& y, const Named<Feature, Target>& weight) {
  return mean<Batch>(square(dot<Feature>(x, weight) - y));  // USER
}
