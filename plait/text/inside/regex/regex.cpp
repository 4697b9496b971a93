#include "plait/text/inside/regex/regex.h"

#include <optional>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/regex/regex_program.h"

namespace plait::text {
namespace {

// Reports matches from left to right: find(from) returns the first match that begins there or
// later.
template <class Find>
void report_matches(std::string_view text, Find find, FunctionRef<void(Span)> found) {
  size_t from = 0;
  std::optional<size_t> last_end;
  while (from <= text.size()) {
    const std::optional<Span> match = find(from);
    if (!match) return;
    const bool is_empty = match->size() == 0;
    if (is_empty && last_end == match->end) {
      if (from == text.size()) return;
      from += utf8_size(static_cast<unsigned char>(text[from]));
      continue;
    }
    from = match->end;
    last_end = match->end;
    found(*match);
  }
}

// A word character, for \b: before a place, or at it.
bool is_word_at(const CharacterSet& words, std::string_view text, size_t at) {
  return at < text.size() && words.contains(character_at(text, at));
}

class Matcher {
 public:
  Matcher(const RegexProgram& program, std::string_view text)
      : program_(program), text_(text), limit_(10'000 + 200 * text.size()) {}

  std::optional<Span> find(size_t from) {
    for (size_t at = from; at <= text_.size(); ++at) {
      const bool is_inside = at < text_.size();
      const auto byte = is_inside ? static_cast<unsigned char>(text_[at]) : 0;
      if (is_inside && is_continuation(byte)) continue;
      if (!program_.first.is_nullable && !(is_inside && program_.first.bytes[byte])) continue;
      const auto end = match_from(at);
      if (end) return Span{static_cast<uint32_t>(at), static_cast<uint32_t>(*end)};
    }
    return std::nullopt;
  }

 private:
  static constexpr size_t kNoMatch = SIZE_MAX;

  // A place to continue at if what is tried now fails. A greedy loop stands for all places from
  // `at` down to `least`, a lazy one for all from `at` on.
  enum class Retry : uint8_t { once, shorter, longer };
  struct Choice {
    uint32_t instruction;
    uint32_t at, least;
    Retry retry;
  };

  std::optional<size_t> match_from(size_t at) {
    choices_.clear();
    explored_.clear();
    const size_t end = is_remembering_ ? run<true>(0, at) : run<false>(0, at);
    if (end == kTooLong) {
      remember_failures();
      return match_from(at);
    }
    return end == kNoMatch ? std::nullopt : std::optional(end);
  }

  // Returns where the match ends that begins with this instruction at this place.
  template <bool remembers>
  size_t run(uint32_t instruction, size_t at) {
    const size_t base = choices_.size(), first_explored = explored_.size();
    while (true) {
      if (++steps_ > limit_) return give_up(base);
      if (remembers && !explore(instruction, at)) {
        if (!retry(base, instruction, at)) return kNoMatch;
        continue;
      }
      const RegexInstruction& each = program_.instructions[instruction];
      if (each.op == RegexOp::accept) {
        choices_.resize(base);
        if (remembers) forget(first_explored);
        return at;
      }
      const Outcome outcome = step<remembers>(each, instruction, at);
      if (outcome == Outcome::too_long) return give_up(base);
      if (outcome == Outcome::fails && !retry(base, instruction, at)) return kNoMatch;
    }
  }

  enum class Outcome : uint8_t { goes_on, fails, too_long };
  static constexpr size_t kTooLong = SIZE_MAX - 1;

  // Executes an instruction, and changes the place to the next one.
  template <bool remembers>
  Outcome step(const RegexInstruction& each, uint32_t& instruction, size_t& at) {
    const auto goes_on_if = [](bool condition) {
      return condition ? Outcome::goes_on : Outcome::fails;
    };
    switch (each.op) {
      case RegexOp::character:
        if (at == text_.size() || character_at(text_, at) != each.a) return Outcome::fails;
        at += utf8_size(static_cast<char32_t>(each.a));
        break;
      case RegexOp::set:
        if (!advance(program_.sets[each.a], at)) return Outcome::fails;
        break;
      case RegexOp::loop_greedy:
      case RegexOp::loop_possessive:
      case RegexOp::loop_lazy: return loop<remembers>(each, instruction, at);
      case RegexOp::split:
        push(each.b, at);
        instruction = each.a;
        return Outcome::goes_on;
      case RegexOp::dispatch:
        return goes_on_if(dispatch(program_.dispatches[each.a], instruction, at));
      case RegexOp::jump: instruction = each.a; return Outcome::goes_on;
      case RegexOp::look: return look<remembers>(each, instruction, at);
      case RegexOp::atomic: {
        const size_t end = run<remembers>(instruction + 1, at);
        if (end >= kTooLong) return end == kTooLong ? Outcome::too_long : Outcome::fails;
        at = end;
        instruction = each.a;
        return Outcome::goes_on;
      }
      case RegexOp::assertion:
        if (!holds(static_cast<Assertion>(each.a), at)) return Outcome::fails;
        break;
      case RegexOp::accept: break;  // run() handles it
    }
    ++instruction;
    return Outcome::goes_on;
  }

  // Moves past the character at the place if the set contains it.
  bool advance(const CharacterSet& set, size_t& at) const {
    if (at == text_.size()) return false;
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (!set.contains(is_ascii(byte) ? byte : character_at(text_, at))) return false;
    at += utf8_size(byte);
    return true;
  }

  template <bool remembers>
  Outcome loop(const RegexInstruction& each, uint32_t& instruction, size_t& at) {
    const CharacterSet& set = program_.sets[each.a];
    if (remembers) return loop_by_character(each.op, set, instruction, at);
    if (each.op == RegexOp::loop_lazy) {
      choices_.push_back({instruction, static_cast<uint32_t>(at), 0, Retry::longer});
    } else {
      const size_t least = at;
      while (advance(set, at)) ++steps_;
      if (each.op == RegexOp::loop_greedy && at > least) {
        const auto shorter = static_cast<uint32_t>(character_before(text_, at));
        choices_.push_back(
            {instruction + 1, shorter, static_cast<uint32_t>(least), Retry::shorter});
      }
    }
    ++instruction;
    return Outcome::goes_on;
  }

  // The same, one character at a time, so that each place is explored once.
  Outcome loop_by_character(RegexOp op, const CharacterSet& set, uint32_t& instruction,
                            size_t& at) {
    size_t after = at;
    const bool may_continue = advance(set, after);
    if (may_continue && op != RegexOp::loop_lazy) {
      if (op == RegexOp::loop_greedy) push(instruction + 1, at);
      at = after;
      return Outcome::goes_on;
    }
    if (may_continue) push(instruction, after);
    ++instruction;
    return Outcome::goes_on;
  }

  bool dispatch(const RegexDispatch& table, uint32_t& instruction, size_t at) {
    uint64_t candidates =
        at == text_.size() ? table.at_end : table.by_byte[static_cast<unsigned char>(text_[at])];
    if (candidates == 0) return false;
    const int first = __builtin_ctzll(candidates);
    candidates &= candidates - 1;
    while (candidates != 0) {
      const int last = 63 - __builtin_clzll(candidates);
      push(table.targets[static_cast<size_t>(last)], at);
      candidates &= ~(uint64_t{1} << last);
    }
    instruction = table.targets[static_cast<size_t>(first)];
    return true;
  }

  template <bool remembers>
  Outcome look(const RegexInstruction& each, uint32_t& instruction, size_t at) {
    size_t begin = at;
    bool matches = true;
    for (uint32_t i = 0; matches && i < each.b; ++i) {
      matches = begin > 0;
      if (matches) begin = character_before(text_, begin);
    }
    if (matches) {
      const size_t end = run<remembers>(instruction + 1, begin);
      if (end == kTooLong) return Outcome::too_long;
      matches = end != kNoMatch;
    }
    if (matches == each.is_negative) return Outcome::fails;
    instruction = each.a;
    return Outcome::goes_on;
  }

  bool holds(Assertion assertion, size_t at) const {
    const bool is_begin = at == 0, is_end = at == text_.size();
    switch (assertion) {
      case Assertion::text_begin: return is_begin;
      case Assertion::text_end: return is_end;
      case Assertion::text_end_or_newline:
        return is_end || (at + 1 == text_.size() && text_[at] == '\n');
      case Assertion::line_begin: return is_begin || (!is_end && text_[at - 1] == '\n');
      case Assertion::line_end: return is_end || text_[at] == '\n';
      case Assertion::word_boundary: return is_word_boundary(at);
      case Assertion::no_word_boundary: return !is_word_boundary(at);
    }
    return false;
  }
  bool is_word_boundary(size_t at) const {
    static const CharacterSet words = [] {
      CharacterSet set = word_set();
      set.finish();
      return set;
    }();
    const bool is_before = at > 0 && is_word_at(words, text_, character_before(text_, at));
    return is_before != is_word_at(words, text_, at);
  }

  // ---- Backtracking.

  void push(uint32_t instruction, size_t at) {
    choices_.push_back({instruction, static_cast<uint32_t>(at), 0, Retry::once});
  }

  // Takes the last choice that was pushed above the base.
  bool retry(size_t base, uint32_t& instruction, size_t& at) {
    while (choices_.size() > base) {
      Choice& last = choices_.back();
      instruction = last.instruction;
      at = last.at;
      if (last.retry == Retry::longer) {
        const CharacterSet& set = program_.sets[program_.instructions[instruction].a];
        ++instruction;
        if (advance(set, at)) {
          last.at = static_cast<uint32_t>(at);
          return true;
        }
        choices_.pop_back();
        continue;
      }
      if (last.retry == Retry::shorter && last.at > last.least) {
        last.at = static_cast<uint32_t>(character_before(text_, last.at));
      } else {
        choices_.pop_back();
      }
      return true;
    }
    return false;
  }

  size_t give_up(size_t base) {
    if (is_remembering_) {
      throw ValueError("the regular expression {} takes too long on a text of {} bytes",
                       in_quotes(program_.pattern), text_.size());
    }
    choices_.resize(base);
    return kTooLong;
  }

  // From now on each pair of an instruction and a place is explored once. A pair that failed fails
  // again, wherever the match begins.
  void remember_failures() {
    const size_t instructions = program_.instructions.size();
    constexpr size_t kMostPairs = size_t{1} << 32;
    if (instructions * (text_.size() + 1) > kMostPairs) {
      is_remembering_ = true;
      give_up(0);
    }
    is_remembering_ = true;
    has_failed_.assign(instructions * (text_.size() + 1), false);
    steps_ = 0;
    limit_ = (instructions + 100) * (text_.size() + 100) * 4;
  }
  bool explore(uint32_t instruction, size_t at) {
    const size_t pair = instruction * (text_.size() + 1) + at;
    if (has_failed_[pair]) return false;
    has_failed_[pair] = true;
    explored_.push_back(pair);
    return true;
  }
  // A match was found: the pairs explored for it did not all fail.
  void forget(size_t first) {
    for (size_t i = first; i < explored_.size(); ++i) has_failed_[explored_[i]] = false;
    explored_.resize(first);
  }

  const RegexProgram& program_;
  std::string_view text_;
  std::vector<Choice> choices_;
  size_t steps_ = 0, limit_;
  bool is_remembering_ = false;
  std::vector<bool> has_failed_;
  std::vector<size_t> explored_;
};

}  // namespace

Regex::Regex(std::string_view pattern)
    : program_(std::make_shared<const RegexProgram>(compile_regex(pattern))) {}

Regex Regex::literal(std::string_view text) {
  Regex regex;
  regex.literal_ = text;
  return regex;
}

void Regex::for_each_match(std::string_view text, FunctionRef<void(Span)> found) const {
  if (program_) {
    Matcher matcher(*program_, text);
    report_matches(text, [&](size_t from) { return matcher.find(from); }, found);
    return;
  }
  const auto find = [&](size_t from) -> std::optional<Span> {
    const size_t begin = text.find(literal_, from);
    if (begin == std::string_view::npos) return std::nullopt;
    return Span{static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + literal_.size())};
  };
  report_matches(text, find, found);
}

}  // namespace plait::text
