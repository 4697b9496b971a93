// Steps with branches, loops and recursion, over blocks.
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/control/control.h"
#include "plait/transform/control/recursive.h"
#include "plait/transform/derivatives/remat.h"
#include "plait/transform/vmap.h"

#include "tests/support/programs/step_kinds.h"

namespace plait {
namespace {

// A real operand first, then up to two others.
std::vector<size_t> drawn_operands(Chooser& choose, size_t least_rank = 0) {
  std::vector<size_t> operands{choose.real(least_rank)};
  for (uint32_t more = choose.below(3); more > 0; --more) {
    operands.push_back(choose.value([](const ir::Type&) { return true; }));
  }
  return operands;
}

// Reduces all results of a block to one number.
Tensor number_of(const Tensors& results) {
  Tensor total = full({}, 0., DType::f64);
  for (const Tensor& result : results) {
    if (result.dtype() == DType::f64) total = total + mean(result);
  }
  return total;
}

Tensors with_first(const Tensor& first, std::span<const Tensor> others) {
  Tensors all{first};
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

// 2 or 3, depending on the data.
Tensor two_or_three(const Tensor& x) { return where(sum(x) > 0.1, 3, 2); }

ChosenStep branching(Chooser& choose) {
  const std::vector<size_t> operands = drawn_operands(choose);
  const auto block = choose.block(operands);
  const auto compute = [block](std::span<const Tensor> x) {
    const auto then = [&](const Tensors& given) { return (*block)(given); };
    const auto otherwise = [&](const Tensors& given) {
      return (*block)(with_first(cos(given[0]), std::span(given).subspan(1)));
    };
    return cond(sum(x[0]) > 0.1, then, otherwise, Tensors(x.begin(), x.end()));
  };
  return {operands, compute, block};
}

ChosenStep switching(Chooser& choose) {
  const std::vector<size_t> operands = drawn_operands(choose);
  const auto block = choose.block(operands);
  const auto compute = [block](std::span<const Tensor> x) {
    std::vector<std::function<Tensors(const Tensors&)>> branches;
    for (const double scale : {0.5, 1., -0.7}) {
      branches.push_back([block, scale](const Tensors& given) {
        return (*block)(with_first(given[0] * scale, std::span(given).subspan(1)));
      });
    }
    return switch_(two_or_three(x[0]) - 1, branches, Tensors(x.begin(), x.end()));
  };
  return {operands, compute, block};
}

ChosenStep repeating(Chooser& choose) {
  const std::vector<size_t> operands = drawn_operands(choose);
  const auto block = choose.block(operands);
  const std::optional<Checkpoints> checkpoints =
      choose.below(2) == 0 ? std::nullopt : std::optional(Checkpoints{});
  const auto compute = [=](std::span<const Tensor> x) {
    using State = std::pair<Tensor, Tensor>;
    const auto others = x.subspan(1);
    const auto [last, left] =
        while_loop([](const State& s) { return s.second > 0; },
                   [&](const State& s) {
                     const Tensor more = number_of((*block)(with_first(s.first, others)));
                     return State(sin(s.first * 0.7 + more), s.second - 1);
                   },
                   State(x[0], two_or_three(x[0])), {.checkpoints = checkpoints});
    return Tensors{last};
  };
  return {operands, compute, block};
}

// A scan over the first axis.
ChosenStep scanning(Chooser& choose) {
  const std::vector<size_t> operands = drawn_operands(choose, 1);
  const auto block = choose.block(operands);
  const bool reverse = choose.below(2) == 1;
  const auto compute = [=](std::span<const Tensor> x) {
    const auto step = [&](const Tensor& h, const Tensor& each) {
      const Tensors given = (*block)(with_first(x[0] * h, x.subspan(1)));
      return std::pair(tanh(h + mean(each) + number_of(given) * 0.3), each * h);
    };
    const auto [last, all] = scan(step, mean(x[0]), x[0], {.reverse = reverse});
    return Tensors{last, all};
  };
  return {operands, compute, block};
}

ChosenStep recursing(Chooser& choose) {
  const std::vector<size_t> operands = drawn_operands(choose);
  const auto block = choose.block(operands);
  const auto compute = [=](std::span<const Tensor> x) {
    const auto others = x.subspan(1);
    const auto deeper = recursive("deeper", [&](auto self, const Tensor& h, const Tensor& depth) {
      return cond(
          depth > 0,
          [&](const Tensor& h, const Tensor& depth) {
            const Tensor more = number_of((*block)(with_first(h, others)));
            return sin(self(h * 0.7 + more, depth - 1)) + h * 0.3;
          },
          [](const Tensor& h, const Tensor&) { return h; }, h, depth);
    });
    return Tensors{deeper(x[0], two_or_three(x[0]))};
  };
  return {operands, compute, block};
}

// Runs the block on each slice along the first axis.
ChosenStep batching(Chooser& choose) {
  const std::vector<size_t> operands = drawn_operands(choose, 1);
  const auto block = choose.block(operands);
  Chooser::need(!block->uses("masked_select"));  // whose size differs between slices
  const auto compute = [=](std::span<const Tensor> x) {
    const auto of_one = [&](const Tensor& each) {
      return number_of((*block)(with_first(x[0] * mean(each), x.subspan(1)))) + each;
    };
    return Tensors{vmap(of_one)(x[0])};
  };
  return {operands, compute, block};
}

ChosenStep computing_again(Chooser& choose) {
  const std::vector<size_t> operands = drawn_operands(choose);
  const auto block = choose.block(operands);
  const auto compute = [=](std::span<const Tensor> x) {
    return remat([&](const Tensors& given) { return (*block)(given); })(
        Tensors(x.begin(), x.end()));
  };
  return {operands, compute, block};
}

}  // namespace

void add_control_kinds(std::vector<StepKind>& kinds) {
  kinds.push_back({"cond", branching, true});
  kinds.push_back({"switch", switching, true});
  kinds.push_back({"while", repeating, true});
  kinds.push_back({"scan", scanning, true});
  kinds.push_back({"recursion", recursing, true});
  kinds.push_back({"vmap", batching, true});
  kinds.push_back({"remat", computing_again, true});
}

}  // namespace plait
