#include "plait/text/inside/regex/regex_program.h"

#include <algorithm>
#include <optional>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/text/inside/code_points.h"

namespace plait::text {
namespace {

constexpr size_t kMostInstructions = 20'000;
constexpr size_t kMostAlternativesToDispatch = 64;

void add_all(FirstBytes& into, const FirstBytes& other) {
  into.bytes |= other.bytes;
  into.is_nullable = into.is_nullable || other.is_nullable;
}

FirstBytes first_bytes_of(const CharacterSet& set) {
  FirstBytes first;
  for (char32_t c = 0; c < 128; ++c) first.bytes[c] = set.contains(c);
  if (set.may_be_beyond_ascii()) {
    for (size_t byte = 0xc2; byte <= 0xf4; ++byte) first.bytes[byte] = true;
  }
  return first;
}

FirstBytes first_bytes_of(const RegexNode& node) {
  FirstBytes first;
  switch (node.kind) {
    case RegexKind::set: return first_bytes_of(node.set);
    case RegexKind::atomic: return first_bytes_of(node.children[0]);
    case RegexKind::repeat:
      first = first_bytes_of(node.children[0]);
      first.is_nullable = first.is_nullable || node.least == 0;
      return first;
    case RegexKind::alternatives:
      for (const RegexNode& child : node.children) add_all(first, first_bytes_of(child));
      return first;
    case RegexKind::look:
    case RegexKind::assertion: first.is_nullable = true; return first;
    case RegexKind::sequence: break;
  }
  first.is_nullable = true;
  for (size_t i = 0; first.is_nullable && i < node.children.size(); ++i) {
    first.is_nullable = false;
    add_all(first, first_bytes_of(node.children[i]));
  }
  return first;
}

class RegexCompiler {
 public:
  explicit RegexCompiler(std::string_view pattern) { program_.pattern = pattern; }

  RegexProgram compile() {
    const RegexNode node = parse_regex(program_.pattern);
    program_.first = first_bytes_of(node);
    emit(node);
    add({.op = RegexOp::accept});
    return std::move(program_);
  }

 private:
  uint32_t next() const { return static_cast<uint32_t>(program_.instructions.size()); }
  uint32_t add(RegexInstruction instruction) {
    if (program_.instructions.size() == kMostInstructions) fail("it is too large");
    program_.instructions.push_back(instruction);
    return next() - 1;
  }
  RegexInstruction& at(uint32_t place) { return program_.instructions[place]; }
  [[noreturn]] void fail(std::string_view why) const {
    throw ParseError("the regular expression {}: {}", in_quotes(program_.pattern), why);
  }

  uint32_t index_of(const CharacterSet& set) {
    const auto found = std::ranges::find(program_.sets, set);
    const auto index = static_cast<uint32_t>(found - program_.sets.begin());
    if (found == program_.sets.end()) program_.sets.push_back(set);
    return index;
  }

  void emit(const RegexNode& node) {
    switch (node.kind) {
      case RegexKind::set: emit_set(node.set); break;
      case RegexKind::sequence:
        for (const RegexNode& child : node.children) emit(child);
        break;
      case RegexKind::alternatives: emit_alternatives(node); break;
      case RegexKind::repeat: emit_repeat(node); break;
      case RegexKind::look: emit_look(node); break;
      case RegexKind::atomic: emit_atomic(node.children[0]); break;
      case RegexKind::assertion:
        add({.op = RegexOp::assertion, .a = static_cast<uint32_t>(node.assertion)});
        break;
    }
  }

  void emit_set(const CharacterSet& set) {
    if (const auto c = set.single_character()) {
      add({.op = RegexOp::character, .a = *c});
    } else {
      add({.op = RegexOp::set, .a = index_of(set)});
    }
  }

  void emit_alternatives(const RegexNode& node) {
    if (node.children.size() > kMostAlternativesToDispatch) {
      emit_splits(node);
      return;
    }
    const auto table = static_cast<uint32_t>(program_.dispatches.size());
    program_.dispatches.emplace_back();
    add({.op = RegexOp::dispatch, .a = table});
    std::vector<uint32_t> ends;
    for (size_t i = 0; i < node.children.size(); ++i) {
      const FirstBytes first = first_bytes_of(node.children[i]);
      const uint64_t bit = uint64_t{1} << i;
      RegexDispatch& dispatch = program_.dispatches[table];
      dispatch.targets.push_back(next());
      for (size_t byte = 0; byte < 256; ++byte) {
        if (first.is_nullable || first.bytes[byte]) dispatch.by_byte[byte] |= bit;
      }
      if (first.is_nullable) dispatch.at_end |= bit;
      emit(node.children[i]);
      ends.push_back(add({.op = RegexOp::jump}));
    }
    for (const uint32_t end : ends) at(end).a = next();
  }

  void emit_splits(const RegexNode& node) {
    std::vector<uint32_t> ends;
    for (size_t i = 0; i + 1 < node.children.size(); ++i) {
      const uint32_t split = add({.op = RegexOp::split});
      at(split).a = next();
      emit(node.children[i]);
      ends.push_back(add({.op = RegexOp::jump}));
      at(split).b = next();
    }
    emit(node.children.back());
    for (const uint32_t end : ends) at(end).a = next();
  }

  void emit_repeat(const RegexNode& node) {
    const RegexNode& body = node.children[0];
    const bool is_simple_loop = body.kind == RegexKind::set && node.most == kUnbounded;
    if (node.greed == Greed::possessive && !is_simple_loop) {
      RegexNode greedy = node;
      greedy.greed = Greed::greedy;
      emit_atomic(greedy);
      return;
    }
    for (uint32_t i = 0; i < node.least; ++i) emit(body);
    if (is_simple_loop) {
      const RegexOp op = node.greed == Greed::greedy ? RegexOp::loop_greedy
                         : node.greed == Greed::lazy ? RegexOp::loop_lazy
                                                     : RegexOp::loop_possessive;
      add({.op = op, .a = index_of(body.set)});
    } else if (node.most == kUnbounded) {
      emit_loop(body, node.greed);
    } else {
      emit_optional(body, node.most - node.least, node.greed);
    }
  }

  void emit_loop(const RegexNode& body, Greed greed) {
    const uint32_t split = add({.op = RegexOp::split});
    emit(body);
    add({.op = RegexOp::jump, .a = split});
    set_split(split, split + 1, next(), greed);
  }
  // The body, up to `count` times: each once more only if it was there before.
  void emit_optional(const RegexNode& body, uint32_t count, Greed greed) {
    std::vector<uint32_t> splits;
    for (uint32_t i = 0; i < count; ++i) {
      splits.push_back(add({.op = RegexOp::split}));
      emit(body);
    }
    for (const uint32_t split : splits) set_split(split, split + 1, next(), greed);
  }
  void set_split(uint32_t split, uint32_t body, uint32_t after, Greed greed) {
    at(split).a = greed == Greed::lazy ? after : body;
    at(split).b = greed == Greed::lazy ? body : after;
  }

  void emit_look(const RegexNode& node) {
    const RegexNode& body = node.children[0];
    uint32_t width = 0;
    if (node.is_behind) {
      const auto fixed = width_of(body);
      if (!fixed) fail("a lookbehind of variable length is not supported");
      width = *fixed;
    }
    const uint32_t look = add({.op = RegexOp::look, .is_negative = node.is_negative, .b = width});
    emit(body);
    add({.op = RegexOp::accept});
    at(look).a = next();
  }
  void emit_atomic(const RegexNode& body) {
    const uint32_t atomic = add({.op = RegexOp::atomic});
    emit(body);
    add({.op = RegexOp::accept});
    at(atomic).a = next();
  }

  // The number of characters that it matches, if that is always the same.
  static std::optional<uint32_t> width_of(const RegexNode& node) {
    std::optional<uint32_t> width = 0;
    switch (node.kind) {
      case RegexKind::set: return 1;
      case RegexKind::look:
      case RegexKind::assertion: return 0;
      case RegexKind::atomic: return width_of(node.children[0]);
      case RegexKind::repeat:
        width = width_of(node.children[0]);
        if (node.least != node.most || !width) return std::nullopt;
        return *width * node.least;
      case RegexKind::sequence:
        for (const RegexNode& child : node.children) {
          const auto each = width_of(child);
          if (!each) return std::nullopt;
          *width += *each;
        }
        return width;
      case RegexKind::alternatives: break;
    }
    width = width_of(node.children[0]);
    for (const RegexNode& child : node.children) {
      if (width_of(child) != width) return std::nullopt;
    }
    return width;
  }

  RegexProgram program_;
};

}  // namespace

RegexProgram compile_regex(std::string_view pattern) { return RegexCompiler(pattern).compile(); }

}  // namespace plait::text
