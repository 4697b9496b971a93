#include "plait/comm/inside/calls/message.h"

#include <fmt/format.h>

namespace plait::dist {

std::string type_text(DType dtype, int64_t count) {
  return fmt::format("{}[{}]", name_of(dtype), count);
}

std::string text_of(const Message& message) {
  const std::string place = message.where.text();
  return fmt::format("{} of {} {} {}{}{}", message.is_sent ? "send" : "recv",
                     type_text(message.dtype, message.count), message.is_sent ? "to" : "from",
                     message.peer == kAnyRank ? "any rank" : fmt::format("rank {}", message.peer),
                     message.tag == 0 ? "" : fmt::format(" with tag {}", message.tag),
                     place.empty() ? "" : " at " + place);
}

}  // namespace plait::dist
