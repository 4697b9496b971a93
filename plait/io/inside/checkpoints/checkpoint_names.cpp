#include "plait/io/inside/checkpoints/checkpoint_names.h"

#include <charconv>

#include <fmt/format.h>

#include "plait/core/text.h"

namespace plait {
namespace {

constexpr std::string_view kWholeEnding = ".safetensors";
constexpr std::string_view kIndexNameEnding = ".safetensors.index.json";
constexpr std::string_view kUnfinishedEnding = ".part";  // ending of unfinished files of OutputFile

std::string begin_of_name(int64_t step) { return fmt::format("step-{:010d}", step); }

// "-1a2b3c4d-00001-of-00003.safetensors"
bool is_end_of_shard(std::string_view rest) {
  return rest.starts_with('-') && rest.find("-of-") != std::string_view::npos &&
         rest.ends_with(kWholeEnding);
}

}  // namespace

std::string checkpoint_file_name(int64_t step) {
  return begin_of_name(step) + std::string(kWholeEnding);
}

std::string checkpoint_index_name(int64_t step) {
  return begin_of_name(step) + std::string(kIndexNameEnding);
}

std::string checkpoint_shard_name(int64_t step, uint32_t contents, size_t number, size_t count) {
  return fmt::format("{}-{:08x}-{:05d}-of-{:05d}{}", begin_of_name(step), contents, number + 1,
                     count, kWholeEnding);
}

std::optional<CheckpointFileName> parse_checkpoint_name(std::string_view name) {
  constexpr std::string_view kBegin = "step-";
  if (!name.starts_with(kBegin)) return std::nullopt;
  CheckpointFileName found;
  const char* const first = name.data() + kBegin.size();
  const auto read = std::from_chars(first, name.data() + name.size(), found.step);
  if (read.ec != std::errc() || !is_digit(*first)) return std::nullopt;
  const std::string_view rest = name.substr(static_cast<size_t>(read.ptr - name.data()));
  if (!name.starts_with(begin_of_name(found.step))) return std::nullopt;  // another number of zeros
  if (rest == kWholeEnding) {
    found.kind = CheckpointFileKind::whole;
  } else if (rest == kIndexNameEnding) {
    found.kind = CheckpointFileKind::index;
  } else if (is_end_of_shard(rest)) {
    found.kind = CheckpointFileKind::shard;
  } else if (rest.ends_with(kUnfinishedEnding) &&
             rest.find(kWholeEnding) != std::string_view::npos) {
    found.kind = CheckpointFileKind::unfinished;
  } else {
    return std::nullopt;
  }
  return found;
}

}  // namespace plait
