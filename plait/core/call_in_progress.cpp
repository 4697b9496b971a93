#include "plait/core/call_in_progress.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace plait {

std::string CallInProgress::message_with_call(std::string message) const {
  const std::string named = fmt::format("{}: ", function_);
  if (message.starts_with(named)) message.erase(0, named.size());
  const std::vector<std::string> texts = operands(false);
  const bool tells_all = std::ranges::all_of(
      texts, [&](const std::string& text) { return message.find(text) != std::string::npos; });
  if (tells_all) return named + message;
  return fmt::format("{} of {}: {}", function_, fmt::join(texts, " and "), message);
}

}  // namespace plait
