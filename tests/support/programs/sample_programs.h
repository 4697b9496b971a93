// Small programs for examples and tests: recursion, a loop, symbolic sizes.
#pragma once

#include <string_view>

namespace plait::ir {

inline constexpr std::string_view kFactorial = R"(
func @factorial(%n: f64[]) -> (f64[]) {
  %one = literal {value = f64[](1)}
  %more = less %one, %n
  %0 = cond @times_rest, @is_one(%more, %n, %one)
  return %0
}
func @is_one(%n: f64[], %one: f64[]) -> (f64[]) {
  return %one
}
func @times_rest(%n: f64[], %one: f64[]) -> (f64[]) {
  %less = subtract %n, %one
  %rest = call @factorial(%less)  ; factorial.cpp:3
  %0 = multiply %n, %rest
  return %0
})";

inline constexpr std::string_view kCollatz = R"(
func @collatz(%n: i64[]) -> (i64[]) {
  %one = literal {value = i64[](1)}
  %zero = literal {value = i64[](0)}
  %end, %steps = while @above_one, @step(%one, %n, %zero) {constants = 1}
  return %steps
}
func @above_one(%one: i64[], %n: i64[], %steps: i64[]) -> (bool[]) {
  %0 = less %one, %n
  return %0
}
func @step(%one: i64[], %n: i64[], %steps: i64[]) -> (i64[], i64[]) {
  %two = add %one, %one
  %half = divide %n, %two
  %whole = multiply %half, %two
  %even = equal %whole, %n
  %double = add %n, %n
  %triple = add %double, %n
  %odd_next = add %triple, %one
  %next = select %even, %half, %odd_next
  %more = add %steps, %one
  return %next, %more
})";

// Merge sort, recursive. The sorted halves are merged by a loop that carries the result, which
// grows by one in each step, and the number of elements used from each half.
inline constexpr std::string_view kSort = R"(
func @sort<n>(%x: f64[n]) -> <k> (f64[k]) {
  %n = size {value = n}
  %one = literal {value = i64[](1)}
  %long = less %one, %n
  <k> %0 = cond @sort_halves<n>, @as_it_is<n>(%long, %x) : f64[k]
  return <k> %0
}
func @as_it_is<n>(%x: f64[n]) -> <k> (f64[k]) {
  return <n> %x
}
func @sort_halves<n>(%x: f64[n]) -> <k> (f64[k]) {
  %left = halve %x
  %right = halve %x {second = true}
  <a> %sorted_left = call @sort<n//2>(%left) : f64[a]
  <b> %sorted_right = call @sort<n - n//2>(%right) : f64[b]
  %nothing = literal {value = f64[0]()}
  %zero = literal {value = i64[](0)}
  <m> %merged, %used_left, %used_right =
      while @more<0, a, b>, @take_next<0, a, b>
            (%sorted_left, %sorted_right, %nothing, %zero, %zero)
            {constants = 2} : f64[m], i64[], i64[]
  return <m> %merged
}
func @more<m, a, b>(%x: f64[a], %y: f64[b], %merged: f64[m], %i: i64[], %j: i64[]) -> (bool[]) {
  %have = size {value = m}
  %all = size {value = a + b}
  %0 = less %have, %all
  return %0
}
func @take_next<m, a, b>(%x: f64[a], %y: f64[b], %merged: f64[m], %i: i64[], %j: i64[])
    -> <k> (f64[k], i64[], i64[]) {
  %a = size {value = a}
  %left_over = less %i, %a
  %from_left = cond @right_is_not_less<a, b>, @never<a, b>(%left_over, %x, %y, %i, %j)
  %next, %i_next, %j_next = cond @take_left<a, b>, @take_right<a, b>(%from_left, %x, %y, %i, %j)
  %longer = append %merged, %next
  return <m + 1> %longer, %i_next, %j_next
}
func @never<a, b>(%x: f64[a], %y: f64[b], %i: i64[], %j: i64[]) -> (bool[]) {
  %0 = literal {value = bool[](false)}
  return %0
}
func @always<a, b>(%x: f64[a], %y: f64[b], %i: i64[], %j: i64[]) -> (bool[]) {
  %0 = literal {value = bool[](true)}
  return %0
}
func @right_is_not_less<a, b>(%x: f64[a], %y: f64[b], %i: i64[], %j: i64[]) -> (bool[]) {
  %b = size {value = b}
  %left_over = less %j, %b
  %0 = cond @left_is_less<a, b>, @always<a, b>(%left_over, %x, %y, %i, %j)
  return %0
}
func @left_is_less<a, b>(%x: f64[a], %y: f64[b], %i: i64[], %j: i64[]) -> (bool[]) {
  %left = take %x, %i
  %right = take %y, %j
  %0 = less %left, %right
  return %0
}
func @take_left<a, b>(%x: f64[a], %y: f64[b], %i: i64[], %j: i64[]) -> (f64[], i64[], i64[]) {
  %one = literal {value = i64[](1)}
  %0 = take %x, %i
  %1 = add %i, %one
  return %0, %1, %j
}
func @take_right<a, b>(%x: f64[a], %y: f64[b], %i: i64[], %j: i64[]) -> (f64[], i64[], i64[]) {
  %one = literal {value = i64[](1)}
  %0 = take %y, %j
  %1 = add %j, %one
  return %0, %i, %1
})";

}  // namespace plait::ir
