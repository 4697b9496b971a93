#include "plait/comm/inside/stores/store_messages.h"

#include <charconv>

#include "plait/core/error.h"

namespace plait::dist {
namespace {

constexpr uint64_t kLongestMessage = uint64_t{1} << 30;

void append_number(std::string& bytes, uint64_t number) {
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(number >> (8 * i)));
}

uint64_t number_at(std::string_view bytes) {
  uint64_t number = 0;
  for (int i = 0; i < 8; ++i) {
    number |= uint64_t{static_cast<unsigned char>(bytes[static_cast<size_t>(i)])} << (8 * i);
  }
  return number;
}

}  // namespace

std::string bytes_of(const StoreMessage& message) {
  uint64_t size = 1;
  for (const std::string& field : message.fields) size += 8 + field.size();
  if (size > kLongestMessage) {
    throw ValueError("TcpStore: a message of {} bytes, expected at most {}", size, kLongestMessage)
        .hint("a store is for small values; send tensors by collectives");
  }
  std::string bytes;
  bytes.reserve(kStoreMessageHead + size);
  append_number(bytes, size);
  bytes.push_back(static_cast<char>(message.kind));
  for (const std::string& field : message.fields) {
    append_number(bytes, field.size());
    bytes += field;
  }
  return bytes;
}

uint64_t size_of_message(std::string_view head) {
  const uint64_t size = number_at(head);
  if (size == 0 || size > kLongestMessage) throw ParseError("a message of {} bytes", size);
  return size;
}

StoreMessage read_message(std::string_view bytes) {
  if (bytes.empty()) throw ParseError("a message without a kind");
  const auto kind = static_cast<uint8_t>(bytes[0]);
  if (kind > static_cast<uint8_t>(StoreMessageKind::refused)) {
    throw ParseError("{} is not a kind of message", kind);
  }
  StoreMessage message{.kind = static_cast<StoreMessageKind>(kind)};
  bytes.remove_prefix(1);
  while (!bytes.empty()) {
    if (bytes.size() < 8 || number_at(bytes) > bytes.size() - 8) {
      throw ParseError("a field is longer than its message");
    }
    const uint64_t size = number_at(bytes);
    message.fields.emplace_back(bytes.substr(8, size));
    bytes.remove_prefix(8 + size);
  }
  return message;
}

int64_t integer_of(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw ParseError("\"{}\" is not an integer", text);
  }
  return number;
}

}  // namespace plait::dist
