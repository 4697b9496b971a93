// Base64 (RFC 4648), with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plait::text {

std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);  // nothing if it is malformed

}  // namespace plait::text
