#include "plait/comm/inside/wires/notice.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/comm/inside/calls/message.h"
#include "plait/io/inside/byte_fields.h"

namespace plait::dist {
namespace {

void append_text(std::vector<std::byte>& bytes, std::string_view text) {
  plait::append_number<uint32_t>(bytes, static_cast<uint32_t>(text.size()));
  const auto copied = plait::bytes_of(text);
  bytes.insert(bytes.end(), copied.begin(), copied.end());
}

std::string text_of(FieldReader& reader) {
  return std::string(characters_of(reader.take(reader.number<uint32_t>())));
}

void append_counts(std::vector<std::byte>& bytes, const std::vector<int64_t>& counts) {
  plait::append_number<uint32_t>(bytes, static_cast<uint32_t>(counts.size()));
  for (const int64_t count : counts)
    plait::append_number<uint64_t>(bytes, static_cast<uint64_t>(count));
}

std::vector<int64_t> counts_of(FieldReader& reader) {
  std::vector<int64_t> counts;
  for (auto left = reader.number<uint32_t>(); left > 0; --left) {
    counts.push_back(static_cast<int64_t>(reader.number<uint64_t>()));
  }
  return counts;
}

std::string called(int rank, const Notice::Call& call) {
  return fmt::format("rank {} called {}", rank, call.text);
}

// Counts of an all_to_all, of which one rank sends to another.
std::string difference_of_counts(int from, const Notice::Call& sending, int to,
                                 const Notice::Call& receiving) {
  const auto sender = static_cast<size_t>(from), receiver = static_cast<size_t>(to);
  if (sending.send_counts.size() <= receiver || receiving.receive_counts.size() <= sender) {
    return {};
  }
  const int64_t sent = sending.send_counts[receiver], expected = receiving.receive_counts[sender];
  if (sent == expected) return {};
  return fmt::format("{}: rank {} sends {} elements to rank {}, which expects {}", sending.text,
                     from, sent, to, expected);
}

std::string difference_of_calls(int rank, const Notice& own, int other_rank, const Notice& other) {
  for (const Notice::Call& call : own.calls) {
    const auto same = std::ranges::find(other.calls, call.number, &Notice::Call::number);
    if (same == other.calls.end()) continue;
    if (same->history != call.history) {
      return fmt::format("ranks disagree: {}, {}", called(rank, call), called(other_rank, *same));
    }
    const std::string text = difference_of_counts(rank, call, other_rank, *same);
    if (!text.empty()) return text;
    const std::string reverse = difference_of_counts(other_rank, *same, rank, call);
    if (!reverse.empty()) return reverse;
  }
  return {};
}

std::string at(const std::string& place) { return place.empty() ? "" : " at " + place; }

// "recv of f32[4] from rank 0 with tag 3 at train.py:12"
std::string text_of(const Notice::Message& message) {
  return fmt::format("{} of {} {} {}{}{}", message.is_sent ? "send" : "recv", message.type,
                     message.is_sent ? "to" : "from",
                     message.peer == kAnyRank ? "any rank" : fmt::format("rank {}", message.peer),
                     message.tag == 0 ? "" : fmt::format(" with tag {}", message.tag),
                     at(message.place));
}

// Messages between two ranks with one tag that are in progress now as before, in order.
std::vector<Notice::Message> lasting(int rank, bool is_sent, int peer, int tag,
                                     const std::vector<Notice>& before,
                                     const std::vector<Notice>& now) {
  const auto place = static_cast<size_t>(rank);
  std::vector<Notice::Message> found;
  if (before.size() != now.size() || before[place].version == now[place].version) return found;
  for (const Notice::Message& message : now[place].messages) {
    if (message.is_sent != is_sent || message.tag != tag) continue;
    if (message.peer != peer) continue;
    const auto& others = before[place].messages;
    const auto same = std::ranges::find(others, message.id, &Notice::Message::id);
    // If others have ended meanwhile, the two ranks may not have counted them yet.
    if (same != others.end() && same->ended == message.ended) found.push_back(message);
  }
  return found;
}

// Messages that are sent, and calls that wait for others of their tag, but not of their type.
std::string difference_of_messages(int from, int to, const std::vector<Notice>& before,
                                   const std::vector<Notice>& now) {
  for (const Notice::Message& message : now[static_cast<size_t>(from)].messages) {
    if (!message.is_sent || message.peer != to) continue;
    auto sent = lasting(from, true, to, message.tag, before, now);
    auto received = lasting(to, false, from, message.tag, before, now);
    std::erase_if(sent, [&](const Notice::Message& each) {
      const auto same = std::ranges::find(received, each.type, &Notice::Message::type);
      if (same == received.end()) return false;
      received.erase(same);
      return true;
    });
    if (sent.empty() || received.empty() || sent[0].ended != received[0].ended) continue;
    return fmt::format("ranks disagree: rank {} sends {}{}, rank {} receives {}{}", from,
                       sent[0].type, at(sent[0].place), to, received[0].type,
                       at(received[0].place));
  }
  return {};
}

// This rank has begun a call that one which has left has not. Messages tell nothing: bytes may be
// on their way when their sender leaves.
std::string departure_of(int rank, int other, const std::vector<Notice>& now) {
  const Notice &own = now[static_cast<size_t>(rank)], &theirs = now[static_cast<size_t>(other)];
  if (!theirs.has_left || own.calls.empty()) return {};
  if (!theirs.calls.empty() && theirs.calls.back().number >= own.calls.back().number) return {};
  return fmt::format("{}: rank {} has ended or left the group; {}", own.calls.back().text, other,
                     state_of(other, theirs));
}

}  // namespace

std::string bytes_of(const Notice& notice) {
  std::vector<std::byte> bytes;
  plait::append_number<uint64_t>(bytes, notice.version);
  plait::append_number<uint32_t>(bytes, static_cast<uint32_t>(notice.calls.size()));
  for (const Notice::Call& call : notice.calls) {
    plait::append_number<uint64_t>(bytes, call.number);
    plait::append_number<uint64_t>(bytes, call.history);
    append_text(bytes, call.text);
    append_counts(bytes, call.send_counts);
    append_counts(bytes, call.receive_counts);
  }
  plait::append_number<uint32_t>(bytes, static_cast<uint32_t>(notice.messages.size()));
  for (const Notice::Message& message : notice.messages) {
    plait::append_number<uint64_t>(bytes, message.id);
    plait::append_number<uint8_t>(bytes, message.is_sent ? 1 : 0);
    plait::append_number<uint32_t>(bytes, static_cast<uint32_t>(message.peer));
    plait::append_number<uint32_t>(bytes, static_cast<uint32_t>(message.tag));
    append_text(bytes, message.type);
    append_text(bytes, message.place);
    plait::append_number<uint64_t>(bytes, message.ended);
  }
  plait::append_number<uint8_t>(bytes, notice.has_left ? 1 : 0);
  return std::string(characters_of(bytes));
}

Notice read_notice(std::string_view bytes) {
  Notice notice;
  if (bytes.empty()) return notice;
  FieldReader reader(plait::bytes_of(bytes));
  notice.version = reader.number<uint64_t>();
  for (auto left = reader.number<uint32_t>(); left > 0; --left) {
    Notice::Call call;
    call.number = reader.number<uint64_t>();
    call.history = reader.number<uint64_t>();
    call.text = text_of(reader);
    call.send_counts = counts_of(reader);
    call.receive_counts = counts_of(reader);
    notice.calls.push_back(std::move(call));
  }
  for (auto left = reader.number<uint32_t>(); left > 0; --left) {
    Notice::Message message;
    message.id = reader.number<uint64_t>();
    message.is_sent = reader.number<uint8_t>() != 0;
    message.peer = static_cast<int32_t>(reader.number<uint32_t>());
    message.tag = static_cast<int32_t>(reader.number<uint32_t>());
    message.type = text_of(reader);
    message.place = text_of(reader);
    message.ended = reader.number<uint64_t>();
    notice.messages.push_back(std::move(message));
  }
  notice.has_left = reader.number<uint8_t>() != 0;
  if (reader.left() > 0) {
    throw ParseError("byte {}: a notice of a rank has ended", reader.position());
  }
  return notice;
}

std::string state_of(int rank, const Notice& notice) {
  std::string text = notice.calls.empty() ? fmt::format("nothing is heard of rank {}", rank)
                                          : called(rank, notice.calls.back()) + " last";
  const auto said = [&](bool is_sent, const char* begin, const char* end) {
    const auto found = std::ranges::find(notice.messages, is_sent, &Notice::Message::is_sent);
    if (found != notice.messages.end()) text += begin + text_of(*found) + end;
  };
  said(false, ", and waits in ", "");
  said(true, "; its ", " is not received");
  return text;
}

std::string difference_between(int rank, int other, const std::vector<Notice>& before,
                               const std::vector<Notice>& now) {
  const Notice &own = now[static_cast<size_t>(rank)], &theirs = now[static_cast<size_t>(other)];
  std::string text = difference_of_calls(rank, own, other, theirs);
  if (text.empty()) text = difference_of_messages(rank, other, before, now);
  if (text.empty()) text = difference_of_messages(other, rank, before, now);
  if (text.empty()) text = departure_of(rank, other, now);
  return text;
}

}  // namespace plait::dist
