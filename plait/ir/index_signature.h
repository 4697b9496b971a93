// The loop nest of an operation as text: for each element of a result, the elements of the operands
// that it is computed from (an extended einsum notation).
//
//   "b i k, b k j -> b i j | sum"       a matrix product: k does not appear in a result, so it is
//   reduced
//   "... i -> ... | maximum"            a reduction along the last dimension, of any rank
//   "... -> ..., ..."                   elementwise, two results
//   "(a b) -> a b"                      a reshape: one dimension made of two, row-major
//   "n (s*h+i) c, i c o -> n h o | sum" a convolution; s is given when the text is parsed
//   "(i-1)? -> i"                       guarded: elements outside are not read (pad, concat)
//   "i -> 1"                            a dimension of size one
//
// The type rule, the batching rule, the sharding rule, the number of operations and the reference
// loops are derived from it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/sizes/dim.h"
#include "plait/core/sizes/shape.h"

namespace plait::ir {

enum class Reduction : uint8_t { none, sum, product, maximum, minimum, all, any };
std::span<const std::string_view> enumerator_names(Reduction);

struct IndexSignature {
  // coefficient × index + … + offset. Usually a single index with coefficient 1.
  struct Affine {
    struct Term {
      uint32_t index;
      Dim coefficient = 1;
      friend bool operator==(const Term& a, const Term& b) {
        return a.index == b.index && same(a.coefficient, b.coefficient);
      }
    };
    std::vector<Term> terms;
    Dim offset = 0;

    bool is_index() const {
      return terms.size() == 1 && same(terms[0].coefficient, Dim(1)) && same(offset, Dim(0));
    }
    friend bool operator==(const Affine& a, const Affine& b) {
      return a.terms == b.terms && same(a.offset, b.offset);
    }
  };
  // One dimension of an operand: several parts form one dimension in row-major order; no parts mean
  // size one.
  struct Dimension {
    std::vector<Affine> parts;
    friend bool operator==(const Dimension&, const Dimension&) = default;
  };
  struct Access {
    std::vector<Dimension> dimensions;
    bool guarded = false;  // elements outside the operand are not read
    friend bool operator==(const Access&, const Access&) = default;
  };

  std::vector<std::string> indices;  // in order of appearance
  std::vector<Access> operands;
  std::vector<Access> results;
  Reduction reduction = Reduction::none;

  // `ranks` of the operands give the number of dimensions of "..."; `numbers` gives values to
  // names. ParseError with the column; ShapeError if a rank does not fit.
  static IndexSignature parse(std::string_view text, std::span<const int64_t> ranks,
                              const std::map<std::string, Dim>& numbers = {});

  std::vector<bool> reduced() const;  // for each index: true if it does not appear in a result
  std::string text() const;

  // The batched operation: one more index, first in the given operands and in all results.
  IndexSignature batched(const std::vector<bool>& operands_batched) const;

  friend bool operator==(const IndexSignature&, const IndexSignature&) = default;
};

// A signature with the sizes of its indices.
struct IndexSpace {
  std::vector<Dim> sizes;  // for each index
  std::vector<Shape> result_shapes;
  Dim points() const;  // number of times the body is computed
};

// Solves for the sizes, given the operands' shapes; `known` gives those that shapes do not
// determine. ShapeError names the operation, the shapes and the sizes that differ.
IndexSpace solve(const IndexSignature& signature, std::span<const Shape> operands,
                 std::string_view operation, const std::map<std::string, Dim>& known = {});

}  // namespace plait::ir
