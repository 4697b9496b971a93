// A compiled regular expression: instructions for the matcher.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "plait/text/inside/regex/regex_node.h"

namespace plait::text {

enum class RegexOp : uint8_t {
  character,        // a is the character
  set,              // a is the set
  loop_greedy,      // characters of set a, as many as possible
  loop_lazy,        // as few as possible
  loop_possessive,  // all
  split,            // tries a, then b
  dispatch,         // tries the alternatives of table a that may begin with the next byte
  jump,             // to a
  look,             // the instructions up to their accept match here, or do not; then goes to a
  atomic,           // their first match is final; then goes to a
  assertion,        // a is an Assertion
  accept,
};

struct RegexInstruction {
  RegexOp op;
  bool is_negative = false;  // for a lookaround
  uint32_t a = 0, b = 0;     // b is the number of characters to step back first, of a lookaround
};

// The bytes with which a match may begin.
struct FirstBytes {
  std::bitset<256> bytes;
  bool is_nullable = false;  // it may also match nothing, whatever follows
};

struct RegexDispatch {
  std::vector<uint32_t> targets;           // one for each alternative
  std::array<uint64_t, 256> by_byte = {};  // bit i: alternative i may begin with the byte
  uint64_t at_end = 0;
};

struct RegexProgram {
  std::string pattern;
  std::vector<RegexInstruction> instructions;
  std::vector<CharacterSet> sets;
  std::vector<RegexDispatch> dispatches;
  FirstBytes first;
};

RegexProgram compile_regex(std::string_view pattern);

}  // namespace plait::text
