#include <algorithm>

#include "plait/core/text.h"
#include "plait/text/inside/stages/pre_tokenizer.h"

namespace plait::text {
namespace {

constexpr std::pair<std::string_view, SplitBehavior> kBehaviors[] = {
    {"Removed", SplitBehavior::removed},
    {"Isolated", SplitBehavior::isolated},
    {"MergedWithPrevious", SplitBehavior::merged_with_previous},
    {"MergedWithNext", SplitBehavior::merged_with_next},
    {"Contiguous", SplitBehavior::contiguous}};

// Each match that follows no other match extends the piece that was added last.
template <class Parts>
void merge_matches(const Parts& parts, std::vector<Span>& pieces) {
  bool last_is_match = false;
  const size_t first = pieces.size();
  for (const MatchedPart& part : parts) {
    if (part.is_match && !last_is_match && pieces.size() > first) {
      Span& last = pieces.back();
      last = {std::min(last.begin, part.part.begin), std::max(last.end, part.part.end)};
    } else {
      pieces.push_back(part.part);
    }
    last_is_match = part.is_match;
  }
}

void join_neighbours(const std::vector<MatchedPart>& parts, std::vector<Span>& pieces) {
  bool last_is_match = false;
  const size_t first = pieces.size();
  for (const MatchedPart& part : parts) {
    if (part.is_match == last_is_match && pieces.size() > first) {
      pieces.back().end = part.part.end;
    } else {
      pieces.push_back(part.part);
    }
    last_is_match = part.is_match;
  }
}

}  // namespace

SplitBehavior read_split_behavior(JsonFields& fields, std::string_view name) {
  const std::string text = fields.string(name);
  for (const auto& [each, behavior] : kBehaviors) {
    if (each == text) return behavior;
  }
  fields.fail(name, "the behavior {} is not supported", in_quotes(text));
}

std::string_view name_of(SplitBehavior behavior) {
  return kBehaviors[static_cast<size_t>(behavior)].first;
}

void add_split_parts(const std::vector<MatchedPart>& parts, SplitBehavior behavior,
                     std::vector<Span>& pieces) {
  switch (behavior) {
    case SplitBehavior::removed:
    case SplitBehavior::isolated:
      for (const MatchedPart& part : parts) {
        if (!part.is_match || behavior == SplitBehavior::isolated) pieces.push_back(part.part);
      }
      break;
    case SplitBehavior::contiguous: join_neighbours(parts, pieces); break;
    case SplitBehavior::merged_with_previous: merge_matches(parts, pieces); break;
    case SplitBehavior::merged_with_next: {
      const std::vector<MatchedPart> reversed(parts.rbegin(), parts.rend());
      std::vector<Span> from_end;
      merge_matches(reversed, from_end);
      pieces.insert(pieces.end(), from_end.rbegin(), from_end.rend());
      break;
    }
  }
}

}  // namespace plait::text
