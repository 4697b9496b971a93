#include "plait/data/readers/web_dataset.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "plait/core/error.h"
#include "plait/core/inside/system/with_path.h"
#include "plait/data/dataset.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/gzip.h"
#include "plait/io/inside/tar/tar_reader.h"
#include "plait/io/inside/utf8.h"
#include "plait/io/npy.h"
#include "plait/ops/arrays/create.h"

namespace plait::data {

class Shard {
 public:
  Shard(std::string path, std::shared_ptr<const InputFile> file)
      : path_(std::move(path)), file_(std::move(file)), bytes_(file_->bytes()) {}
  // The content of one sample of a compressed archive.
  Shard(std::string path, std::vector<std::byte> content)
      : path_(std::move(path)), content_(std::move(content)), bytes_(content_) {}

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::string path_;
  std::shared_ptr<const InputFile> file_;
  std::vector<std::byte> content_;
  std::span<const std::byte> bytes_;
};

struct SampleMembers {
  std::string key = {};
  std::vector<ShardMember> members = {};
};

namespace {

struct MemberName {
  std::string_view key;
  std::string extension;
};

// Nothing for files that belong to no sample: without a dot, or hidden.
std::optional<MemberName> name_of_member(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base || dot + 1 == name.size()) return std::nullopt;
  std::string extension(name.substr(dot + 1));
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  return MemberName{name.substr(0, dot), std::move(extension)};
}

// `begin` is the position of the member's header.
void add_member(SampleMembers& sample, MemberName name, const TarMember& member, size_t begin) {
  sample.key = std::string(name.key);
  const bool repeats = std::ranges::any_of(
      sample.members, [&](const ShardMember& each) { return each.extension == name.extension; });
  if (repeats) throw ParseError("byte {}: {} appears twice", begin, member.name);
  sample.members.push_back({std::move(name.extension), member.begin, member.size});
}

bool begins_another(const SampleMembers& sample, const MemberName& name) {
  return !sample.members.empty() && name.key != sample.key;
}

// The sample that begins at the position of the reader; nothing at the end. The reader is then
// after the sample.
std::optional<SampleMembers> next_sample(std::span<const std::byte> archive, size_t& position) {
  TarReader reader(archive, position);
  SampleMembers sample;
  while (const std::optional<TarMember> member = reader.next()) {
    std::optional<MemberName> name = name_of_member(member->name);
    if (name && begins_another(sample, *name)) return sample;
    if (name) add_member(sample, std::move(*name), *member, position);
    position = reader.position();
  }
  position = archive.size();
  return sample.members.empty() ? std::nullopt : std::optional(std::move(sample));
}

}  // namespace

// The samples of an archive that is decompressed in order.
class CompressedShard {
 public:
  CompressedShard(std::string path, std::shared_ptr<const InputFile> file, size_t position)
      : path_(std::move(path)),
        file_(std::move(file)),
        content_(file_->bytes()),
        archive_(content_) {
    if (content_.skip_some(position) < position) {
      throw ParseError("byte {}: the archive ends early", content_.position());
    }
  }

  // Nothing at the end, where the checksum of the file was right.
  std::optional<ShardSample> next() {
    SampleMembers sample;
    std::vector<std::byte> content;
    for (;;) {
      position_ = next_ ? next_begin_ : archive_.position();
      std::optional<TarMember> member =
          next_ ? std::exchange(next_, std::nullopt) : archive_.next();
      if (!member) break;
      std::optional<MemberName> name = name_of_member(member->name);
      if (!name) continue;
      if (begins_another(sample, *name)) {
        next_begin_ = position_;
        next_ = std::move(member);
        break;
      }
      const size_t begin = content.size();
      archive_.read_content(content);
      add_member(sample, std::move(*name), {member->name, begin, member->size}, position_);
    }
    if (!next_) content_.skip_some(SIZE_MAX);
    if (sample.members.empty()) return std::nullopt;
    const auto shard = std::make_shared<const Shard>(path_, std::move(content));
    return ShardSample(shard, std::move(sample.key), std::move(sample.members));
  }
  bool is_at_end() const { return !next_; }
  size_t position() const { return position_; }  // where the next sample begins

 private:
  std::string path_;
  std::shared_ptr<const InputFile> file_;
  GzipReader content_;
  TarReader archive_;
  std::optional<TarMember> next_ = {};  // member of the next sample, whose header was read
  size_t next_begin_ = 0, position_ = 0;
};

// ---- Samples.

ShardSample::ShardSample(std::shared_ptr<const Shard> shard, std::string key,
                         std::vector<ShardMember> members)
    : shard_(std::move(shard)), key_(std::move(key)), members_(std::move(members)) {}

const std::string& ShardSample::shard() const { return shard_->path(); }

const ShardMember* ShardSample::find(std::string_view extension) const {
  const auto at = std::ranges::find(members_, extension, &ShardMember::extension);
  return at == members_.end() ? nullptr : &*at;
}

bool ShardSample::has(std::string_view extension) const { return find(extension) != nullptr; }

std::span<const std::byte> ShardSample::bytes(std::string_view extension) const {
  if (const ShardMember* member = find(extension)) {
    return shard_->bytes().subspan(member->begin, member->size);
  }
  std::string names;
  for (const ShardMember& each : members_) names += (names.empty() ? "" : ", ") + each.extension;
  throw KeyError("{}: the sample {} has no {}, only {}", shard_->path(), key_, extension, names);
}

template <class Read>
auto ShardSample::read(std::string_view extension, const Read& read) const {
  const std::span<const std::byte> content = bytes(extension);
  return with_path(fmt::format("{}: {}.{}", shard_->path(), key_, extension),
                   [&] { return read(content); });
}

std::string_view ShardSample::text(std::string_view extension) const {
  return read(extension, [](std::span<const std::byte> content) {
    const std::string_view text = characters_of(content);
    const size_t valid = valid_utf8_bytes(text);
    if (valid != text.size()) throw ParseError("byte {}: this is not UTF-8", valid);
    return text;
  });
}

Tensor ShardSample::image(std::string_view extension, const DecodeOptions& options) const {
  return read(extension, [&](std::span<const std::byte> content) {
    return Tensor(decode_image(content, options));
  });
}

Tensor ShardSample::number(std::string_view extension) const {
  return read(extension, [](std::span<const std::byte> content) {
    constexpr std::string_view kSpaces = " \t\r\n";
    std::string_view text = characters_of(content);
    const size_t first = std::min(text.find_first_not_of(kSpaces), text.size());
    text = text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw ParseError("byte {}: this is not an integer", first);
    }
    return full({}, value);
  });
}

Tensor ShardSample::array(std::string_view extension) const {
  return read(extension,
              [](std::span<const std::byte> content) { return Tensor(read_npy(content)); });
}

// ---- By number.

struct WebDataset::Index {
  struct Entry {
    uint32_t shard = 0;
    SampleMembers sample = {};
  };
  std::vector<std::shared_ptr<const Shard>> shards;
  std::vector<Entry> entries;

  void add(const std::string& path) {
    const auto shard = std::make_shared<const Shard>(path, std::make_shared<InputFile>(path));
    with_path(path, [&] {
      if (is_gzip(path, shard->bytes())) {
        throw ParseError("byte 0: the file is compressed with gzip, and has no samples by number")
            .hint("read it in order, with WebStream, or unpack it first: gunzip FILE");
      }
      size_t position = 0;
      do {
        auto sample = next_sample(shard->bytes(), position);
        if (!sample) break;
        entries.push_back({static_cast<uint32_t>(shards.size()), std::move(*sample)});
      } while (position < shard->bytes().size());
    });
    shards.push_back(shard);
  }
};

WebDataset::WebDataset(const std::vector<std::string>& paths) {
  auto index = std::make_shared<Index>();
  for (const std::string& path : paths) index->add(path);
  index_ = std::move(index);
}

int64_t WebDataset::size() const { return static_cast<int64_t>(index_->entries.size()); }

ShardSample WebDataset::at(int64_t index) const {
  expect_index(index, size());
  const auto& [shard, sample] = index_->entries[static_cast<size_t>(index)];
  return {index_->shards[shard], sample.key, sample.members};
}

// ---- As a stream.

WebStream::WebStream(std::vector<std::string> paths) : paths_(std::move(paths)) {}

// A damaged shard gives one error, and the stream goes on with the next one.
std::optional<ShardSample> WebStream::next() {
  while (shard_number_ < paths_.size()) {
    const std::string& path = paths_[shard_number_];
    const size_t begin = std::exchange(position_, 0);
    auto shard = std::exchange(shard_, nullptr);
    auto compressed = std::exchange(compressed_, {});
    ++shard_number_;
    if (!shard && !compressed) {
      auto file = std::make_shared<const InputFile>(path);
      if (with_path(path, [&] { return is_gzip(path, file->bytes()); })) {
        compressed = with_path(
            path, [&] { return std::make_shared<CompressedShard>(path, std::move(file), begin); });
      } else {
        shard = std::make_shared<const Shard>(path, std::move(file));
      }
    }
    if (compressed) {
      auto sample = with_path(path, [&] { return compressed->next(); });
      if (sample && !compressed->is_at_end()) {
        --shard_number_, position_ = compressed->position(), compressed_ = std::move(compressed);
      }
      if (sample) return sample;
      continue;
    }
    const auto bytes = shard->bytes();
    if (begin == bytes.size() && begin != 0) continue;
    size_t position = begin;
    auto sample = with_path(path, [&] { return next_sample(bytes, position); });
    if (!sample) continue;
    --shard_number_, position_ = position, shard_ = shard;
    return ShardSample(shard, std::move(sample->key), std::move(sample->members));
  }
  return std::nullopt;
}

std::vector<int64_t> WebStream::position() const {
  return {static_cast<int64_t>(shard_number_), static_cast<int64_t>(position_)};
}

void WebStream::seek(std::span<const int64_t> position) {
  const int64_t number = position.empty() ? 0 : position[0];
  const int64_t byte = position.size() < 2 ? 0 : position[1];
  if (number < 0 || number > static_cast<int64_t>(paths_.size()) || byte < 0) {
    throw ValueError("byte {} of shard {} does not exist: there are {} shards", byte, number,
                     paths_.size());
  }
  shard_number_ = static_cast<size_t>(number);
  position_ = static_cast<size_t>(byte);
  shard_ = nullptr;
  compressed_ = {};
}

}  // namespace plait::data
