// The loop nest behind an operation, as text: which element of each operand meets which element of
// the result.
//
//   "b i k, b k j -> b i j | sum"       a matrix product: k stands in no result, so it is reduced
//   "... i -> ... | maximum"            a reduction along the last dimension, of any rank
//   "... -> ..., ..."                   elementwise, two results
//   "(a b) -> a b"                      a reshape: one dimension made of two, row-major
//   "n (s*h+i) c, i c o -> n h o | sum" a convolution; s is given when the text is read
//   "(i-1)? -> i"                       a guarded domain: what lies outside is not read (pad,
//   concat) "i -> 1"                            a dimension of size one
//
// The type rule, the batching rule, the sharding rule, the count of operations and the reference
// loops are read off it.
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
  // coefficient × index + … + offset. A single index with coefficient 1 is the ordinary case.
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
  // One dimension of an operand: several parts are one dimension in row-major order; none has size
  // one.
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

  // `ranks` of the operands say how many dimensions "..." stands for; `numbers` gives names their
  // values. ParseError with the column; ShapeError when a rank does not fit.
  static IndexSignature parse(std::string_view text, std::span<const int64_t> ranks,
                              const std::map<std::string, Dim>& numbers = {});

  std::vector<bool> reduced() const;  // of each index: it stands in no result
  std::string text() const;

  // The same operation done for each value of one more index, in front of the operands named and of
  // all results.
  IndexSignature batched(const std::vector<bool>& operands_batched) const;

  friend bool operator==(const IndexSignature&, const IndexSignature&) = default;
};

// A signature whose indices have their sizes.
struct IndexSpace {
  std::vector<Dim> sizes;  // of each index
  std::vector<Shape> result_shapes;
  Dim points() const;  // how many times the body is computed
};

// Finds the sizes from the operands' shapes; `known` gives those that shapes do not tell.
// ShapeError names the operation, the shapes and the sizes that differ.
IndexSpace solve(const IndexSignature& signature, std::span<const Shape> operands,
                 std::string_view operation, const std::map<std::string, Dim>& known = {});

}  // namespace plait::ir
