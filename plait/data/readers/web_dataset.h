// Shards in WebDataset's layout: tar archives, whose members with one name up to the first dot are
// a sample: "cat/0001.jpg" and "cat/0001.cls". They follow one another.
//
//   const auto dataset = data::mapped(data::WebDataset({"train-0.tar", "train-1.tar"}),
//                                     [](const data::ShardSample& sample) {
//                                       return std::tuple(sample.image("jpg"),
//                                                         sample.number("cls"));
//                                     });
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/uncopied.h"
#include "plait/io/images/decode_image.h"
#include "plait/tensor/tensor.h"

namespace plait::data {

class Shard;  // an archive that is mapped, or the part of one that was decompressed

class CompressedShard;

struct ShardMember {
  std::string extension = {};  // after the first dot of the name, in small letters: "jpg"
  size_t begin = 0, size = 0;  // in the archive; in the sample, if that was decompressed
};

// The members of one sample. Errors name archive and member; KeyError for a member that is missing.
class ShardSample {
 public:
  ShardSample(std::shared_ptr<const Shard> shard, std::string key,
              std::vector<ShardMember> members);

  const std::string& key() const { return key_; }
  const std::string& shard() const;  // the path of the archive
  const std::vector<ShardMember>& members() const { return members_; }
  bool has(std::string_view extension) const;

  // Valid as long as the sample, or a copy of it.
  std::span<const std::byte> bytes(std::string_view extension) const;
  std::string_view text(std::string_view extension) const;  // in UTF-8
  Tensor image(std::string_view extension,
               const DecodeOptions& options = {.mode = ImageMode::rgb}) const;
  Tensor number(std::string_view extension) const;  // i64[], of decimal digits
  Tensor array(std::string_view extension) const;   // array of a .npy file

 private:
  const ShardMember* find(std::string_view extension) const;
  template <class Read>
  auto read(std::string_view extension, const Read& read) const;

  std::shared_ptr<const Shard> shard_;
  std::string key_;
  std::vector<ShardMember> members_;
};

// The samples of several shards, by number. Opening reads the headers of all members. ParseError
// for a shard that is compressed.
class WebDataset {
 public:
  explicit WebDataset(const std::vector<std::string>& paths);

  int64_t size() const;
  ShardSample at(int64_t index) const;

 private:
  struct Index;
  std::shared_ptr<const Index> index_;
};

// The same, as a stream, which reads a header when its turn comes. Shards may be compressed by
// gzip: a sample is decompressed when its turn comes, and seek() decompresses a shard from its
// beginning to go on in it.
class WebStream {
 public:
  explicit WebStream(std::vector<std::string> paths);

  std::optional<ShardSample> next();
  std::vector<int64_t> position() const;  // the number of the shard, and a byte of its archive
  void seek(std::span<const int64_t> position);

 private:
  std::vector<std::string> paths_;
  size_t shard_number_ = 0, position_ = 0;
  std::shared_ptr<const Shard> shard_;    // null before it is opened
  Uncopied<CompressedShard> compressed_;  // instead of that
};

}  // namespace plait::data
