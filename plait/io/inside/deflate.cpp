#include "plait/io/inside/deflate.h"

#include <algorithm>
#include <array>
#include <vector>

#include "plait/core/error.h"

#ifdef PLAIT_HAVE_ZLIB
#include <zlib.h>

#include "plait/core/system/thread_team.h"

namespace plait {
namespace {

constexpr size_t kMostForZlib = size_t{1} << 30;  // zlib counts its input in 32 bits
constexpr size_t kChunk = size_t{1} << 18;
constexpr int kRaw = -15;  // raw deflate without the zlib header; a window of 2^15 bytes
constexpr int kUsualMemory = 8;

Bytef* zlib_bytes(std::span<const std::byte> bytes) {
  return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
}

uint32_t crc32_of_part(std::span<const std::byte> bytes, uint32_t before) {
  return static_cast<uint32_t>(crc32_z(before, zlib_bytes(bytes), bytes.size()));
}

}  // namespace

uint32_t crc32_of(std::span<const std::byte> bytes, uint32_t before) {
  if (bytes.size() <= kChunk) return crc32_of_part(bytes, before);
  std::vector<uint32_t> sums((bytes.size() + kChunk - 1) / kChunk);
  const auto chunk = [&](size_t i) {
    return bytes.subspan(i * kChunk, std::min(kChunk, bytes.size() - i * kChunk));
  };
  parallel_chunks(static_cast<int64_t>(sums.size()), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    sums[at] = crc32_of_part(chunk(at), 0);
  });
  uint32_t sum = before;
  const auto whole_chunk = crc32_combine_gen(static_cast<z_off_t>(kChunk));
  for (size_t i = 0; i + 1 < sums.size(); ++i) {
    sum = static_cast<uint32_t>(crc32_combine_op(sum, sums[i], whole_chunk));
  }
  const auto last = static_cast<z_off_t>(chunk(sums.size() - 1).size());
  return static_cast<uint32_t>(crc32_combine(sum, sums.back(), last));
}

// ---- Decompression.

struct Inflater::Stream {
  z_stream state{};
  std::span<const std::byte> left;  // the rest of the compressed bytes
  size_t taken = 0;
};

Inflater::Inflater(std::span<const std::byte> deflated) : stream_(std::make_unique<Stream>()) {
  stream_->left = deflated;
  if (inflateInit2(&stream_->state, kRaw) != Z_OK) throw MemoryError("no memory for zlib");
}

Inflater::~Inflater() { inflateEnd(&stream_->state); }

size_t Inflater::taken() const { return stream_->taken; }

size_t Inflater::read_some(std::span<std::byte> into) {
  z_stream& state = stream_->state;
  size_t done = 0;
  int status = Z_OK;
  while (done < into.size() && status != Z_STREAM_END) {
    const auto given = stream_->left.first(std::min(kMostForZlib, stream_->left.size()));
    const size_t wanted = std::min(kMostForZlib, into.size() - done);
    state.next_in = zlib_bytes(given);
    state.avail_in = static_cast<uInt>(given.size());
    state.next_out = zlib_bytes(into.subspan(done));
    state.avail_out = static_cast<uInt>(wanted);
    status = inflate(&state, Z_NO_FLUSH);
    const size_t taken = given.size() - state.avail_in;
    stream_->left = stream_->left.subspan(taken);
    stream_->taken += taken;
    done += wanted - state.avail_out;
    if (status == Z_MEM_ERROR) throw MemoryError("no memory for zlib");
    if (status == Z_BUF_ERROR) throw ParseError("the deflated bytes are cut off");
    if (status != Z_OK && status != Z_STREAM_END) {
      throw ParseError("deflated byte {}: {}", stream_->taken,
                       state.msg != nullptr ? state.msg : "not deflated data");
    }
  }
  crc32_ = crc32_of(into.first(done), crc32_);
  return done;
}

void Inflater::read(std::span<std::byte> into) {
  if (const size_t count = read_some(into); count != into.size()) {
    throw ParseError("expected {} bytes, the deflated ones inflate to {}", into.size(), count);
  }
}

void Inflater::expect_end() {
  std::byte beyond{};
  if (read_some({&beyond, 1}) != 0)
    throw ParseError("the deflated bytes inflate to more than the stated size");
  if (!stream_->left.empty()) {
    throw ParseError("deflated byte {}: {} unexpected bytes after the end", stream_->taken,
                     stream_->left.size());
  }
}

// ---- Compression.

uint64_t deflate_into(const ByteSink& sink, std::span<const std::span<const std::byte>> parts) {
  z_stream state{};
  if (deflateInit2(&state, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kRaw, kUsualMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw MemoryError("no memory for zlib");
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&state, deflateEnd);
  std::vector<std::byte> chunk(kChunk);
  uint64_t total = 0;
  const auto give = [&](std::span<const std::byte> bytes, int flush) {
    state.next_in = zlib_bytes(bytes);
    state.avail_in = static_cast<uInt>(bytes.size());
    do {
      state.next_out = zlib_bytes(chunk);
      state.avail_out = static_cast<uInt>(chunk.size());
      deflate(&state, flush);
      const size_t made = chunk.size() - state.avail_out;
      sink(std::span(chunk).first(made));
      total += made;
    } while (state.avail_out == 0);
  };
  for (auto part : parts) {
    for (; !part.empty(); part = part.subspan(std::min(kMostForZlib, part.size()))) {
      give(part.first(std::min(kMostForZlib, part.size())), Z_NO_FLUSH);
    }
  }
  give({}, Z_FINISH);
  return total;
}

}  // namespace plait

#else

namespace plait {
namespace {

[[noreturn]] void throw_no_zlib() {
  throw IoError("this build of Plait has no zlib, which compressed members need")
      .hint("store them uncompressed, or build with zlib (Debian package zlib1g-dev)");
}

// CRC table of all bytes, for the reflected polynomial.
constexpr std::array<uint32_t, 256> kRemainders = [] {
  std::array<uint32_t, 256> remainders{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? 0xEDB88320u : 0);
    remainders[byte] = rest;
  }
  return remainders;
}();

}  // namespace

uint32_t crc32_of(std::span<const std::byte> bytes, uint32_t before) {
  uint32_t rest = ~before;
  for (const std::byte byte : bytes) {
    rest = rest >> 8 ^ kRemainders[(rest ^ static_cast<uint32_t>(byte)) & 0xFF];
  }
  return ~rest;
}

struct Inflater::Stream {};

Inflater::Inflater(std::span<const std::byte>) { throw_no_zlib(); }
Inflater::~Inflater() = default;
size_t Inflater::read_some(std::span<std::byte>) { throw_no_zlib(); }
void Inflater::read(std::span<std::byte> into) { read_some(into); }
size_t Inflater::taken() const { throw_no_zlib(); }
void Inflater::expect_end() {}

uint64_t deflate_into(const ByteSink&, std::span<const std::span<const std::byte>>) {
  throw_no_zlib();
}

}  // namespace plait

#endif
