// The records of a TensorBoard file: the length of the payload in 8 bytes, a checksum of the
// length, the payload, a checksum of the payload. Each payload is an Event, a Protocol Buffers
// message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plait {

// The payload as a record.
std::string event_record(std::string_view payload);

struct EventRecord {
  uint64_t begin = 0, end = 0;  // offsets in the file
  std::span<const std::byte> payload = {};
  uint64_t payload_begin = 0;  // offset in the file
};

// The records of a file in order. A record that was cut off while it was written, or that reaches
// into zeros at the end of the file (a power failure), ends the file. Other damage is a ParseError
// that names the byte.
class EventRecordReader {
 public:
  explicit EventRecordReader(std::span<const std::byte> file);

  std::optional<EventRecord> next();
  uint64_t position() const { return position_; }  // the end of the last whole record

 private:
  std::span<const std::byte> file_;
  uint64_t position_ = 0;
  uint64_t content_end_;  // after the last byte that is not zero
};

// The part of an event that a log reads; the rest of its bytes is never interpreted.
struct EventContent {
  int64_t step = 0;
  bool is_version = false;
  std::string_view graph = {};        // a GraphDef
  std::string_view first_value = {};  // first value of a summary
  std::string_view first_tag = {};    // first tag of that value
};
EventContent read_event(std::span<const std::byte> payload, uint64_t payload_begin);

}  // namespace plait
