// Random numbers. A key (a tensor of dtype `key`) stands for a stream of numbers, and gives the
// same ones whenever and wherever it is asked; whoever needs others makes others of it:
//
//   const Tensor keys = random::split_key(random::key(7), 2);
//
// A tensor of several keys gives numbers for each, its dimensions in front of `shape`. Every
// function that takes a key has a twin without, which draws the next key of the process's default
// stream; within a trace that draw is an effect of the program, and happens when it runs.
//
// Bits, integers, permutations and uniform numbers are the same on every machine; those of other
// distributions to 2 units in the last place.
#pragma once

#include <cstdint>
#include <optional>

#include "plait/ops/operand.h"

namespace plait::random {

// The key of a seed; of each integer of a tensor.
Tensor key(uint64_t seed);
Tensor key(const Tensor& seeds);
Tensor split_key(const Tensor& key, Dim count = 2);  // new keys along a last dimension
// The key of an integer below this key: for step 12, or sample 12. Both stretch to one shape.
Tensor fold_in(const Tensor& key, const Operand& number);

// The default stream: the numbers after seed(s) are always the same. Without, it is that of seed 0.
void seed(uint64_t seed);
Tensor draw_key();

Tensor bits(const Tensor& key, const Shape& shape, DType dtype = DType::u32);  // u8 to u64
Tensor bits(const Shape& shape, DType dtype = DType::u32);

// From `low` on to below `high`, in equal steps of one part in 2^24 (f32) or 2^53 (f64).
Tensor uniform(const Tensor& key, const Shape& shape, double low = 0, double high = 1,
               DType dtype = DType::f32);
Tensor uniform(const Shape& shape, double low = 0, double high = 1, DType dtype = DType::f32);
Tensor normal(const Tensor& key, const Shape& shape, const Operand& mean = 0.,
              const Operand& deviation = 1., DType dtype = DType::f32);
Tensor normal(const Shape& shape, const Operand& mean = 0., const Operand& deviation = 1.,
              DType dtype = DType::f32);
// Standard normal numbers between the bounds, also far from 0.
Tensor truncated_normal(const Tensor& key, double low, double high, const Shape& shape,
                        DType dtype = DType::f32);
Tensor truncated_normal(double low, double high, const Shape& shape, DType dtype = DType::f32);
// e^-x; mean 1.
Tensor exponential(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
Tensor exponential(const Shape& shape, DType dtype = DType::f32);
// e^-|x| / 2.
Tensor laplace(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
Tensor laplace(const Shape& shape, DType dtype = DType::f32);
// The distribution function is e^-e^-x.
Tensor gumbel(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
Tensor gumbel(const Shape& shape, DType dtype = DType::f32);

// Integers from `low` to before `high`, all alike likely; up to 2^62 of them.
Tensor randint(const Tensor& key, const Shape& shape, Dim low, Dim high, DType dtype = DType::i64);
Tensor randint(const Shape& shape, Dim low, Dim high, DType dtype = DType::i64);
// True with probability p; of the shape of p unless told otherwise.
Tensor bernoulli(const Tensor& key, const Operand& p, const std::optional<Shape>& shape = {});
Tensor bernoulli(const Operand& p, const std::optional<Shape>& shape = {});
// An index along `axis` of the logits for each of the rest: i with probability e^logit[i] / Σ.
Tensor categorical(const Tensor& key, const Tensor& logits, int64_t axis = -1);
Tensor categorical(const Tensor& logits, int64_t axis = -1);
// 0, 1, … in an order at random, all orders alike likely.
Tensor permutation(const Tensor& key, Dim count);
Tensor permutation(Dim count);
// The parts of x along an axis in an order at random.
Tensor shuffle(const Tensor& key, const Tensor& x, int64_t axis = 0);
Tensor shuffle(const Tensor& x, int64_t axis = 0);

}  // namespace plait::random

namespace plait {

void register_random_ops();

}  // namespace plait
