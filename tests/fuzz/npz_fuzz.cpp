// Any bytes either are an archive of arrays or give an error; what is read is the same when written
// again. Members are also read as if their checksums were right, which a fuzzer seldom finds.
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "plait/core/error.h"
#include "plait/io/inside/deflate.h"
#include "plait/io/inside/npz_member.h"
#include "plait/io/npz.h"

namespace {

using Bytes = std::span<const std::byte>;

constexpr uint64_t kWorthInflating = 1 << 20;

void mend_checksum(plait::ZipMember& member) {
  if (member.method == plait::ZipMethod::stored) {
    member.crc32 = plait::crc32_of(member.bytes);
    return;
  }
  std::vector<std::byte> inflated(member.size);
  plait::Inflater inflater(member.bytes);
  inflater.read(inflated);
  member.crc32 = inflater.crc32();
}

void read_mended(Bytes archive) {
  for (plait::ZipMember& member : plait::read_zip(archive)) {
    if (member.size > kWorthInflating) continue;
    try {
      mend_checksum(member);
      plait::npz_member(member, nullptr);
    } catch (const plait::Error&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes archive = std::as_bytes(std::span(data, size));
  std::map<std::string, plait::Array> arrays;
  try {
    read_mended(archive);
    arrays = plait::read_npz(archive);
  } catch (const plait::Error&) {
    return 0;
  }
  const auto again = plait::read_npz(plait::write_npz(arrays));
  for (const auto& [name, array] : arrays) {
    if (!again.contains(name) || again.at(name).literal() != array.literal()) {
      throw std::logic_error("array " + name + " differs, read again");
    }
  }
  return 0;
}
