// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A reference to a converted copy
// WHY: the weight is [vocab, embed]; as [embed, vocab] it is another tensor, which is gone when head()
// returns.
// FIX: const Named<Vocab, Embed>& head() const
// EXPECT-GCC: returning reference to temporary
// EXPECT-CLANG: returning reference to local temporary object
#include "axes.h"
struct Model {
  nn::Linear<Embed, Vocab> lm_head;
  const Named<Embed, Vocab>& head() const { return lm_head.weight; }  // USER
};
