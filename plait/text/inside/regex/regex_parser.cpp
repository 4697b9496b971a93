#include <algorithm>
#include <optional>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/regex/regex_escapes.h"
#include "plait/text/inside/regex/regex_node.h"

namespace plait::text {
namespace {

constexpr int kDeepestGroup = 60;
constexpr uint32_t kMostRepeats = 1000;

class RegexParser {
 public:
  explicit RegexParser(std::string_view pattern) : in_(pattern) {}

  RegexNode parse() {
    in_.expect_utf8();
    RegexNode node = alternatives();
    if (!in_.at_end()) in_.fail("there is a ) without (");
    return node;
  }

 private:
  struct Flags {
    bool ignores_case = false, dot_is_all = false;
  };

  RegexNode alternatives() {
    if (++depth_ > kDeepestGroup) in_.fail("groups are nested too deeply");
    const Flags outer = flags_;
    RegexNode result{.kind = RegexKind::alternatives};
    do {
      result.children.push_back(sequence());
    } while (in_.accept("|"));
    flags_ = outer;
    --depth_;
    return result.children.size() == 1 ? std::move(result.children[0]) : result;
  }

  RegexNode sequence() {
    RegexNode result{.kind = RegexKind::sequence};
    while (!in_.at_end() && !in_.next_is("|") && !in_.next_is(")")) {
      std::optional<RegexNode> node = atom();
      if (node) result.children.push_back(quantified(std::move(*node)));
    }
    return result;
  }

  // Nothing for what only sets flags.
  std::optional<RegexNode> atom() {
    if (in_.accept("(")) return group();
    if (in_.accept("[")) return of_set(bracket());
    if (in_.accept(".")) return of_set(dot());
    if (in_.accept("^")) return of_assertion(Assertion::line_begin);
    if (in_.accept("$")) return of_assertion(Assertion::line_end);
    if (in_.next_is("\\")) return escape();
    if (in_.next_is("*") || in_.next_is("+") || in_.next_is("?")) {
      in_.fail("a quantifier follows nothing that it could repeat");
    }
    return of_character(in_.character());
  }

  RegexNode escape() {
    if (const auto assertion = in_.accept_assertion()) return of_assertion(*assertion);
    if (auto set = in_.accept_set_escape()) return of_set(std::move(*set));
    return of_character(in_.escaped_character());
  }

  RegexNode of_set(CharacterSet set) {
    set.finish();
    return {.kind = RegexKind::set, .set = std::move(set)};
  }
  RegexNode of_character(char32_t c) {
    CharacterSet set;
    set.add(c);
    if (flags_.ignores_case) ignore_case(set, c, c);
    return of_set(std::move(set));
  }
  static RegexNode of_assertion(Assertion assertion) {
    return {.kind = RegexKind::assertion, .assertion = assertion};
  }
  CharacterSet dot() const {
    CharacterSet set;
    if (!flags_.dot_is_all) set.add('\n');
    set.negate();
    return set;
  }

  void ignore_case(CharacterSet& set, char32_t first, char32_t last) {
    using enum Category;
    for (char32_t c = std::max<char32_t>(first, 128); c <= last; ++c) {
      if (c - first > 1000 || is_in(categories(Lu, Ll, Lt), c)) {
        in_.fail("(?i) is supported for ASCII letters only");
      }
    }
    set.ignore_case();
  }

  // ---- Groups.

  std::optional<RegexNode> group() {
    if (!in_.accept("?")) return closed(alternatives());
    if (in_.accept(":")) return closed(alternatives());
    if (in_.accept(">")) return wrapped({.kind = RegexKind::atomic});
    if (in_.accept("=")) return wrapped({.kind = RegexKind::look});
    if (in_.accept("!")) return wrapped({.kind = RegexKind::look, .is_negative = true});
    if (in_.accept("<=")) return wrapped({.kind = RegexKind::look, .is_behind = true});
    if (in_.accept("<!")) {
      return wrapped({.kind = RegexKind::look, .is_behind = true, .is_negative = true});
    }
    if (in_.accept("<")) {
      in_.skip_name();
      return closed(alternatives());
    }
    if (in_.accept("#")) return comment();
    return flag_group();
  }

  RegexNode closed(RegexNode node) {
    if (!in_.accept(")")) in_.fail("a group is not closed");
    return node;
  }
  RegexNode wrapped(RegexNode node) {
    node.children.push_back(closed(alternatives()));
    return node;
  }
  std::optional<RegexNode> comment() {
    while (!in_.at_end() && !in_.next_is(")")) in_.character();
    closed({});
    return std::nullopt;
  }

  // (?i:…), or (?i), after which the rest of the group is like a group of its own: a(?i)b|c is
  // a(?i:b|c).
  std::optional<RegexNode> flag_group() {
    const Flags outer = flags_;
    bool value = true;
    while (!in_.next_is(":") && !in_.next_is(")")) {
      if (in_.accept("i")) {
        flags_.ignores_case = value;
      } else if (in_.accept("m")) {
        flags_.dot_is_all = value;
      } else if (in_.accept("-")) {
        value = false;
      } else {
        in_.fail("this kind of group is not supported");
      }
    }
    const bool is_rest = in_.accept(")");
    if (!is_rest) in_.accept(":");
    RegexNode node = alternatives();
    if (!is_rest) node = closed(std::move(node));
    flags_ = outer;
    return node;
  }

  // ---- Quantifiers.

  RegexNode quantified(RegexNode node) {
    RegexNode repeat{.kind = RegexKind::repeat};
    bool is_interval = false;
    if (in_.accept("*")) {
      repeat.most = kUnbounded;
    } else if (in_.accept("+")) {
      repeat.least = 1;
      repeat.most = kUnbounded;
    } else if (in_.accept("?")) {
      repeat.most = 1;
    } else if (const auto interval = in_.accept_interval()) {
      is_interval = true;
      repeat.least = interval->first;
      repeat.most = interval->second;
    } else {
      return node;
    }
    check(repeat, node, is_interval);
    if (in_.accept("?")) {
      repeat.greed = Greed::lazy;
    } else if (!is_interval && in_.accept("+")) {
      repeat.greed = Greed::possessive;
    }
    if (in_.next_is("*") || in_.next_is("+") || in_.next_is("?")) {
      in_.fail("a quantifier of a quantifier is not supported");
    }
    repeat.children.push_back(std::move(node));
    return repeat;
  }

  void check(const RegexNode& repeat, const RegexNode& node, bool is_interval) {
    const bool has_bounds = repeat.most != kUnbounded;
    if (has_bounds && repeat.least > repeat.most) in_.fail("an interval ends before it begins");
    if (repeat.least > kMostRepeats || (has_bounds && repeat.most > kMostRepeats)) {
      in_.fail("an interval is longer than 1000");
    }
    if (is_interval && repeat.least == repeat.most && in_.next_is("?")) {
      in_.fail("{n}? is not supported");
    }
    if (!has_bounds && is_nullable(node)) {
      in_.fail("a group that may match nothing is repeated without limit");
    }
  }

  // ---- Brackets. What follows is after the [.

  CharacterSet bracket() {
    if (++depth_ > kDeepestGroup) in_.fail("brackets are nested too deeply");
    const bool is_negated = in_.accept("^");
    if (in_.next_is("]")) in_.fail("a bracket is empty");
    CharacterSet result = bracket_members();
    while (in_.accept("&&")) result.intersect(bracket_members());
    if (!in_.accept("]")) in_.fail("a bracket is not closed");
    if (is_negated) result.negate();
    --depth_;
    return result;
  }

  // The members up to ] or &&.
  CharacterSet bracket_members() {
    CharacterSet set;
    while (!in_.at_end() && !in_.next_is("]") && !in_.next_is("&&")) {
      if (in_.next_is("[:")) {
        in_.fail("[:…:] is not supported");
      } else if (in_.accept("[")) {
        set.add_set(bracket());
      } else if (auto escaped = in_.accept_set_escape()) {
        set.add_set(std::move(*escaped));
        if (in_.next_is("-") && !in_.next_is("-]")) in_.fail("a class cannot begin a range");
      } else {
        add_range(set);
      }
    }
    return set;
  }

  void add_range(CharacterSet& set) {
    const char32_t first = in_.bracket_character();
    char32_t last = first;
    if (in_.next_is("-") && !in_.next_is("-]") && !in_.next_is("-&&")) {
      in_.accept("-");
      if (in_.next_is("[") || in_.accept_set_escape()) in_.fail("a class cannot end a range");
      last = in_.bracket_character();
      if (last < first) in_.fail("a range ends before it begins");
    }
    set.add(CharacterRange{first, last});
    if (flags_.ignores_case) ignore_case(set, first, last);
  }

  RegexReader in_;
  Flags flags_;
  int depth_ = 0;
};

}  // namespace

RegexNode parse_regex(std::string_view pattern) { return RegexParser(pattern).parse(); }

bool is_nullable(const RegexNode& node) {
  const auto nullable = [](const RegexNode& child) { return is_nullable(child); };
  switch (node.kind) {
    case RegexKind::set: return false;
    case RegexKind::sequence: return std::ranges::all_of(node.children, nullable);
    case RegexKind::alternatives: return std::ranges::any_of(node.children, nullable);
    case RegexKind::repeat: return node.least == 0 || nullable(node.children[0]);
    case RegexKind::atomic: return nullable(node.children[0]);
    case RegexKind::look:
    case RegexKind::assertion: return true;
  }
  return true;
}

}  // namespace plait::text
