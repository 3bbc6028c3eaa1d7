// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What revision.cmake writes into revision.cpp of the build folder, anew for each commit.
#pragma once

extern const char* const kRevision;
