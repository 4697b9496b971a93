// The messages of a TcpStore and its server: a kind and fields of bytes, with the size before them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plait::dist {

// A client sends this first; the server closes connections that begin otherwise.
inline constexpr std::string_view kStoreGreeting = "plait store 1\n";

enum class StoreMessageKind : uint8_t {
  // Requests, with their fields. Numbers are decimal text.
  set,          // key, value, key, value, …
  get,          // milliseconds, key, …; answered by the values
  add,          // key, amount; answered by the sum
  compare_set,  // key, expected, desired; answered by the value
  append,       // key, value
  delete_key,   // key; answered by "1" if it was set
  check,        // key, …; answered by "1" if all are set
  wait,         // milliseconds, key, …
  num_keys,     // answered by the count
  // Answers.
  done,
  late,     // keys that are not set
  refused,  // the text of a ValueError
};

struct StoreMessage {
  StoreMessageKind kind = StoreMessageKind::done;
  std::vector<std::string> fields = {};
};

// The size of what follows, which a message begins with.
inline constexpr size_t kStoreMessageHead = 8;
// ValueError if the message is too long.
std::string bytes_of(const StoreMessage& message);
// ParseError for a size that no message has.
uint64_t size_of_message(std::string_view head);
// Reads what follows the size; ParseError for malformed bytes.
StoreMessage read_message(std::string_view bytes);

// ParseError unless the text is an integer.
int64_t integer_of(std::string_view text);

}  // namespace plait::dist
