// Zip archives: members that are stored or deflated, of any size (zip64), with checksums.
//
// A member is a local header and then its bytes. The central directory behind them all repeats the
// headers, with sizes and checksums that are always known, and is what is read; its own place is in
// the record at the end of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/io/inside/byte_fields.h"

namespace plait {

enum class ZipMethod : uint16_t { stored = 0, deflated = 8 };

struct ZipMember {
  std::string name;
  ZipMethod method = ZipMethod::stored;
  uint32_t crc32 = 0;
  uint64_t size = 0;                      // when inflated
  std::span<const std::byte> bytes = {};  // as they lie in the archive
};

// In the order of the central directory. Members must be what their methods can give and lie apart,
// so all of them together are no more than kMostInflation times the archive. ParseError for what is
// no such archive.
std::vector<ZipMember> read_zip(std::span<const std::byte> archive);

// Writes an archive from front to back: nothing is gone back to.
class ZipWriter {
 public:
  explicit ZipWriter(ByteSink sink) : sink_(std::move(sink)) {}

  // The parts, one behind the other, are what the member holds. Stored, they begin on 64 bytes.
  // ValueError for a name that is too long or has a zero in it.
  void add(std::string_view name, std::span<const std::span<const std::byte>> parts,
           ZipMethod method);
  void finish();  // with the central directory

 private:
  struct Entry {
    std::string name;
    ZipMethod method = ZipMethod::stored;
    uint64_t position = 0;  // of its local header
    uint64_t size = 0;
    uint64_t deflated_size = 0;
    uint32_t crc32 = 0;
  };
  void write(std::span<const std::byte> bytes);
  void write_local_header(const Entry& entry);
  void write_descriptor(const Entry& entry);
  void write_central_header(const Entry& entry);

  ByteSink sink_;
  uint64_t position_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace plait
