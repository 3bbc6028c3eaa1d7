// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>

namespace bora {

/// Stands where something was left out.
constexpr std::string_view kLeftOut = "<redacted>";

/// `text` without what may be secret in the URLs in it: what follows a `?` (but for what Bora asks the hub for), and a name and password in front
/// of a host. "https://me:word@host/a.jsonl?token=t#sha256=..." becomes
/// "https://<redacted>@host/a.jsonl?<redacted>#sha256=...". The name `anonymous` stays. A URL ends at a
/// space, a control character, `"`, `<`, `>` or a backquote; punctuation at its end is not part of it, so
/// JSON stays JSON. Values of variables that hold a token (env::secrets) are left out wherever they stand. What
/// was redacted once stays as it is. Everything that Bora prints, logs or records goes
/// through here.
std::string redact(std::string_view text);

/// Whether redact has left something out of `text`.
bool is_redacted(std::string_view text);

/// `text` with every URL in it as a name of what it leads to: without a name and password, and without those
/// parameters of its query that only say who may read it and until when (`X-Amz-...`, `X-Goog-...`, those of
/// a shared access signature, `Signature`, `Expires`, `token`, ...). Others stay: they may choose the file.
/// A link that was signed anew has the same name.
std::string without_credentials(std::string_view text);

}  // namespace bora
