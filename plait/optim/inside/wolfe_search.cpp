#include "plait/optim/inside/wolfe_search.h"

#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/transform/control/control.h"

namespace plait::optim {
namespace {

LinePoint picked(const Tensor& is_first, const LinePoint& a, const LinePoint& b) {
  return {where(is_first, a.t, b.t), where(is_first, a.loss, b.loss),
          where(is_first, a.gradient, b.gradient), where(is_first, a.slope, b.slope)};
}

// The minimum of the cubic through two points with their slopes, between the bounds; their middle
// if there is none.
Tensor minimum_of(const LinePoint& a, const LinePoint& b, const Tensor& least,
                  const Tensor& greatest) {
  const Tensor first = a.slope + b.slope - 3. * (a.loss - b.loss) / (a.t - b.t);
  const Tensor squared = square(first) - a.slope * b.slope;
  const Tensor root = sqrt(maximum(squared, 0.));
  const Tensor rising =
      b.t - (b.t - a.t) * ((b.slope + root - first) / (b.slope - a.slope + 2. * root));
  const Tensor falling =
      a.t - (a.t - b.t) * ((a.slope + root - first) / (a.slope - b.slope + 2. * root));
  const Tensor found = minimum(maximum(where(a.t <= b.t, rising, falling), least), greatest);
  return where(squared >= 0., found, (least + greatest) / 2.);
}

Tensor is_too_high(const WolfeSearch& search, const LinePoint& point) {
  return point.loss > search.start.loss + search.c1 * point.t * search.start.slope;
}
Tensor is_flat(const WolfeSearch& search, const LinePoint& point) {
  return absolute(point.slope) <= -search.c2 * search.start.slope;
}
Tensor goes_back(const WolfeSearch& search, const LinePoint& before, const LinePoint& point,
                 const Tensor& steps) {
  return logical_or(is_too_high(search, point), logical_and(steps > 1, point.loss >= before.loss));
}

struct Bracket {
  LinePoint before, point;
  Tensor steps;
};

// Longer steps, until a minimum lies between the last two.
Bracket bracketed(const WolfeSearch& search, const LinePoint& first) {
  const auto goes_on = [&](const Bracket& b) {
    const Tensor stops = logical_or(goes_back(search, b.before, b.point, b.steps),
                                    logical_or(is_flat(search, b.point), b.point.slope >= 0.));
    return logical_and(b.steps < search.most, logical_not(stops));
  };
  const auto longer = [&](const Bracket& b) {
    const Tensor t =
        minimum_of(b.before, b.point, b.point.t + 0.01 * (b.point.t - b.before.t), b.point.t * 10.);
    return Bracket{b.point, search.evaluate(t), b.steps + 1};
  };
  return while_loop(goes_on, longer, Bracket{search.start, first, zeros({}, DType::i64)});
}

// The next step length, away from the ends of the bracket if the last one was close to one, too;
// and whether it is close.
std::pair<Tensor, Tensor> trial(const LinePoint& low, const LinePoint& high,
                                const Tensor& was_slow) {
  const Tensor least = minimum(low.t, high.t), greatest = maximum(low.t, high.t);
  const Tensor t = minimum_of(low, high, least, greatest), margin = 0.1 * (greatest - least);
  const Tensor is_close = minimum(greatest - t, t - least) < margin;
  const Tensor moves =
      logical_and(is_close, logical_or(was_slow, logical_or(t >= greatest, t <= least)));
  const Tensor moved =
      where(absolute(t - greatest) < absolute(t - least), greatest - margin, least + margin);
  return {where(moves, moved, t), logical_and(is_close, logical_not(moves))};
}

struct Zoom {
  LinePoint low, high;
  Tensor low_is_first, is_slow, steps, is_found;
};

Zoom smaller(const WolfeSearch& search, const Zoom& z) {
  const auto [t, is_slow] = trial(z.low, z.high, z.is_slow);
  const LinePoint now = search.evaluate(t);
  const Tensor is_high = logical_or(is_too_high(search, now), now.loss >= z.low.loss);
  const Tensor is_found = logical_and(logical_not(is_high), is_flat(search, now));
  const Tensor turns = logical_and(logical_not(is_found), now.slope * (z.high.t - z.low.t) >= 0.);
  LinePoint high = picked(is_high, now, picked(turns, z.low, z.high));
  LinePoint low = picked(is_high, z.low, now);
  // An end that replaces the higher one stays in its place, since the first is the lower one of two
  // that are equal.
  const Tensor still_first = where(z.low_is_first, low.loss <= high.loss, high.loss > low.loss);
  const Tensor swaps = logical_and(is_high, logical_not(still_first));
  return {picked(swaps, high, low),
          picked(swaps, low, high),
          not_equal(z.low_is_first, swaps),
          is_slow,
          z.steps + 1,
          is_found};
}

// The lower end of the bracket, after it was made smaller until the conditions hold.
Zoom zoomed(const WolfeSearch& search, const LinePoint& first, const LinePoint& second,
            const Tensor& steps, const Tensor& is_found) {
  const auto goes_on = [&](const Zoom& z) {
    const Tensor is_wide = absolute(z.high.t - z.low.t) * search.reach >= search.tolerance_change;
    return logical_and(logical_and(is_wide, z.steps < search.most), logical_not(z.is_found));
  };
  const auto body = [&](const Zoom& z) { return smaller(search, z); };
  const Tensor is_first = first.loss <= second.loss;
  const Zoom begun{picked(is_first, first, second),
                   picked(is_first, second, first),
                   is_first,
                   full({}, false),
                   steps,
                   is_found};
  return while_loop(goes_on, body, begun);
}

}  // namespace

std::pair<LinePoint, Tensor> WolfeSearch::from(const Tensor& t) const {
  const Bracket b = bracketed(*this, evaluate(t));
  const Tensor is_last = b.steps == most;
  const Tensor is_found = logical_and(
      logical_not(is_last), logical_and(logical_not(goes_back(*this, b.before, b.point, b.steps)),
                                        is_flat(*this, b.point)));
  const LinePoint first = picked(is_last, start, picked(is_found, b.point, b.before));
  const Zoom z = zoomed(*this, first, b.point, b.steps, is_found);
  return {z.low, z.steps + 1};
}

}  // namespace plait::optim
