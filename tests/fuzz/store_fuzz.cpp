// Any bytes either are a message of a store, a record of its file, or a notice of a rank, and are
// written as they were read, or give an error.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "plait/comm/inside/stores/store_file.h"
#include "plait/comm/inside/stores/store_messages.h"
#include "plait/comm/inside/wires/notice.h"
#include "plait/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::dist;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    if (text.size() >= kStoreMessageHead) size_of_message(text);
    if (bytes_of(read_message(text)).substr(kStoreMessageHead) != text) std::abort();
  } catch (const plait::Error&) {
  }
  try {
    const auto record = read_record(std::as_bytes(std::span(data, size)));
    if (record && record_of(record->changes) != text.substr(0, record->size)) std::abort();
  } catch (const plait::Error&) {
  }
  try {
    const Notice notice = read_notice(text);
    if (!text.empty() && bytes_of(read_notice(bytes_of(notice))) != bytes_of(notice)) std::abort();
  } catch (const plait::Error&) {
  }
  return 0;
}
