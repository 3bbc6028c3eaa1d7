// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Token ids used as numbers
// WHY: ids name rows of a table; scaling or adding them means nothing.
// FIX: look them up: embedding(ids), take<Vocab>(table, ids), one_hot(ids, dim).
// EXPECT-GCC: no match for .operator\*. .operand types are .const bora::Indices<Batch, Pos>
// EXPECT-CLANG: invalid operands to binary expression \('const Indices<Batch, Pos>' and 'double'\)
#include "axes.h"
auto wrong(const Indices<Batch, Pos>& ids) { return ids * 2.0; }  // USER
